"""What each session has done: how many calls, and what the last of them were.

A session is what its caller says (`Caller.session`), else all calls of one principal while the
runtime is open. It outlives generations; nothing of it is stored. Of those that rest longest, the
oldest are forgotten.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from toolrt.core.calls import Caller

MOST_SESSIONS: Final = 10_000


@dataclass(slots=True)
class Row:
    """What a session did with one tool. `failures` are those in a row, all with `code`, and
    `answered` is how many calls of the session had been answered by the last of them.
    """

    calls: int = 0
    code: str = ""
    failures: int = 0
    answered: int = 0


@dataclass(slots=True)
class Session:
    """`calls` are all that were let through, `answered` those that had a value. `last` names tool
    and arguments of the last call, and `repeats` is how often in a row it was made.
    """

    calls: int = 0
    answered: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    last: tuple[str, bytes] | None = None
    repeats: int = 0

    def row(self, tool: str) -> Row:
        found = self.rows.get(tool)
        if found is None:
            found = self.rows[tool] = Row()
        return found

    def fail(self, tool: str, code: str) -> None:
        """Note a failure."""
        row = self.row(tool)
        row.failures = row.failures + 1 if row.code == code else 1
        row.code, row.answered = code, self.answered

    def succeed(self, tool: str) -> None:
        """Note an answer: it ends the row of its tool, and lets others try once more."""
        self.answered += 1
        row = self.row(tool)
        row.code, row.failures = "", 0


class Sessions:
    """The sessions of a runtime, those used last at the end."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str | None, str, str | None], Session] = OrderedDict()

    def of(self, caller: Caller) -> Session:
        """The session that a call of this caller belongs to."""
        key = (caller.tenant, caller.principal, caller.session)
        found = self._sessions.get(key)
        if found is not None:
            self._sessions.move_to_end(key)
            return found
        found = self._sessions[key] = Session()
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return found
