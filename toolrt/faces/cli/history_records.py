"""The journal of a project, opened to read: what the verbs of `toolrt history` share."""

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolrt.faces.cli import loop
from toolrt.faces.cli.caller import at_terminal, check_known, only_of
from toolrt.faces.cli.durations import duration
from toolrt.faces.cli.names import compiled
from toolrt.faces.cli.options import Settings
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.core.calls import Caller, Reach
    from toolrt.manifest.project import ProjectFile
    from toolrt.observe.journal_records import Filter, Records
    from toolrt.pipeline.spilling import Spills
    from toolrt.state import State

F = TypeVar("F", bound=Callable[..., Any])
Work = Callable[["Records | None"], Coroutine[Any, Any, Exit]]
OutputWork = Callable[["Spills | None", "Caller"], Coroutine[Any, Any, Exit]]
Check = Callable[["Reach | None", Settings], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options ask for, before anything heavy is loaded."""

    tool: str | None
    caller: str | None
    status: str | None
    id: str | None
    since: float | None
    until: float | None

    def filter(self) -> "Filter":
        from toolrt.observe.journal_records import Filter  # noqa: PLC0415 - `--help` loads no store

        return Filter(
            tool=self.tool,
            caller=self.caller,
            status=self.status,
            id=self.id,
            since=self.since,
            until=self.until,
        )


def moment(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """The callback of an option that takes a date and time, or how long ago: seconds."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except ValueError:
        pass
    ago_s = duration(ctx, param, value)
    return None if ago_s is None else datetime.now().astimezone().timestamp() - ago_s


def filtering(verb: F) -> F:
    """The options by which entries are chosen; the verb gets `Wanted`."""
    options = [
        click.argument("tool", required=False),
        click.option("--caller", help="Only of this principal, or decided by it."),
        click.option("--status", help="Only with this status, code, or state of an approval."),
        click.option("--approval", "id", help="Only about this approval; a beginning will do."),
        click.option("--since", callback=moment, help="Only after: 1h (ago), or 2030-12-31T12:00."),
        click.option("--until", callback=moment, help="Only before."),
    ]
    for option in reversed(options):
        verb = option(verb)
    return verb


def reading(settings: Settings, work: Work) -> Exit:
    """Open the journal of the project and do `work`; with None where nothing was recorded yet.

    Who may call and no more finds what is their own there.
    """
    return loop.run(lambda: _opened(settings, work, _anybody))


def reading_all(settings: Settings, work: Work) -> Exit:
    """The same, of what is not for those who may call and no more."""
    return loop.run(lambda: _opened(settings, work, _who_sees_all))


async def _opened(settings: Settings, work: Work, check: Check) -> Exit:
    from toolrt.observe.journal_records import Records  # noqa: PLC0415 - `--help` loads no store

    root = settings.project()
    written = _written(root, settings)
    by = at_terminal(written.identities)
    check_known(by, settings)
    whose = only_of(by, written.identities)
    check(whose, settings)
    async with _state(root, written, settings) as state:
        if state is None:
            return await work(None)
        return await work(Records(state.database, lambda: _key(root, written), whose))


def reading_outputs(settings: Settings, work: OutputWork) -> Exit:
    """Do `work` with what calls have spilled, or None where there is nothing yet, and with who
    asks for it.
    """

    async def opened() -> Exit:
        root = settings.project()
        written = _written(root, settings)
        by = at_terminal(written.identities)
        check_known(by, settings)
        async with _state(root, written, settings) as state:
            return await work(state.memory.spills if state else None, by)

    return loop.run(opened)


@asynccontextmanager
async def _state(
    root: Path, written: "ProjectFile", settings: Settings
) -> AsyncIterator["State | None"]:
    """What the project remembers, while it is open; None where nothing is remembered yet."""
    from toolrt.state import State  # noqa: PLC0415 - `--help` loads no store
    from toolrt.stores.base import StoreError  # noqa: PLC0415 - as above
    from toolrt.stores.private import is_there  # noqa: PLC0415 - as above

    state = State.of(root, written)
    try:
        yield state if is_there(_place(root, written)) else None
    except StoreError as error:
        next_ = settings.command("doctor")
        raise Stop(
            Exit.TOOL_FAILED, error.message, code="unavailable", hint=error.hint, next_=next_
        ) from error
    finally:
        await state.close()


def _written(root: Path, settings: Settings) -> "ProjectFile":
    """The project file. Raises Stop where it cannot be read: then it says not who may look."""
    from toolrt.loading.loader import PROJECT_FILE, load_files  # noqa: PLC0415 - as above
    from toolrt.loading.stock import Stock  # noqa: PLC0415 - as above

    files = load_files(Stock(root))
    is_written = os.path.lexists(root / PROJECT_FILE) or files.stock.misnamed(PROJECT_FILE)
    if files.project_document is None and is_written:
        compiled(settings)
    return files.project


def _anybody(_whose: "Reach | None", _settings: Settings) -> None:
    """Refuses nobody."""


def _who_sees_all(whose: "Reach | None", settings: Settings) -> None:
    if whose is None or whose.principal is None:
        return
    raise Stop(
        Exit.DENIED,
        f"{whose.principal} sees only their own calls here",
        code="access-denied",
        hint="`may: [approve]` or `[admin]` of an identity in toolrt.yaml lets somebody see all",
        next_=settings.command("history list"),
    )


def _place(root: Path, written: "ProjectFile") -> Path:
    from toolrt.state import DEFAULT_STATE  # noqa: PLC0415 - as above

    return root / (written.state or DEFAULT_STATE)


def _key(root: Path, written: "ProjectFile") -> bytes:
    """The lasting key. Raises StoreError where there is none: reading makes no key."""
    from toolrt.stores.key import given_key, key_gone, lasting_key  # noqa: PLC0415 - as above
    from toolrt.stores.private import is_there  # noqa: PLC0415 - as above

    if written.journal and written.journal.key:
        return given_key(written.journal.key)
    path = _place(root, written).parent / "key"
    if not is_there(path):
        raise key_gone(path)
    return lasting_key(path)


def say_nothing_found(settings: Settings, records: "Records | None") -> None:
    """Why a list is empty."""
    if records is None:
        settings.screen.say("nothing was recorded yet; `toolrt run` calls a tool")
        return
    settings.screen.say(f"nothing like that was recorded; try: {settings.command('history list')}")
