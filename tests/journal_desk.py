"""Calls to record, and a journal to record them in."""

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.core.decisions import Decision
from toolrt.core.redaction import Redactor
from toolrt.core.results import Failure, ToolResult
from toolrt.observe.journal import Journal
from toolrt.observe.journal_entries import PerTool
from toolrt.stores.key import lasting_key
from toolrt.stores.sqlite import SqliteDatabase

ADD = PerTool("t.add", Decision("allow", rule="everything"), "hash-1")
BOT = Caller("bot", ("agents",), "acme", "s1")
CLOCK = SystemClock()


def call(number=1, arguments=None, *, tool="t.add", caller=BOT, code=None, **more):
    """A finished call: its invocation and its result."""
    arguments = {"a": number} if arguments is None else arguments
    started = CLOCK.monotonic()
    invocation = Invocation(f"call-{number}", tool, arguments, caller, CLOCK, started, started, 3)
    invocation.attempts = 1
    status = more.pop("status", "error" if code else "success")
    pause = more.pop("pause", None)
    for name, value in more.items():
        setattr(invocation, name, value)
    error = Failure(code, "it failed") if code else None
    result = ToolResult(
        invocation.call_id, tool, status, "text", {"much": "data"}, error, 0.0015, 1, 3, pause=pause
    )
    return invocation, result


def journal_in(folder, *, database=None, redactor=None, clock=CLOCK, **more):
    """A journal in a store of its own."""
    path = folder / ".toolrt" / "state.db"
    database = database or SqliteDatabase(path, busy_s=0.2)
    key = more.pop("key", lambda: lasting_key(path.parent / "key"))
    return Journal(database, key, clock, redactor or Redactor(), **more)


async def closed(journal):
    await journal.close()
    await journal._database.close()
