"""What a store is: durable transactions over a little portable SQL.

A back end opens a database and runs pieces of work in it; the statements themselves stand in
`approvals`, `grants` and `journal`, and are the same for every back end: `?` for parameters, and
nothing that SQLite or PostgreSQL alone would understand. The tables are those of `tables`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar

from toolrt.core.errors import ToolrtError

T = TypeVar("T")

Row = tuple[Any, ...]
Problem = Literal["unreachable", "locked", "full", "corrupt", "newer", "foreign", "sealed"]


class StoreError(ToolrtError):
    """The store cannot be used; for the operator, since it tells paths. Nothing was changed.

    `problem`: `unreachable` (not there, no permission, a failing disk), `locked` (by somebody else,
    for too long), `full`, `corrupt`, `newer` (written by a later version), `foreign` (another
    program's) or `sealed` (with a key that is gone, or with another one). Whoever asks a person
    through the store refuses the call instead.
    """

    def __init__(self, problem: Problem, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.problem: Problem = problem


class ForbiddenChangeError(ToolrtError):
    """A change that the database itself forbids, such as one of a finished approval: a bug."""


class Session(Protocol):
    """One transaction, good only inside the piece of work that it is given to."""

    def rows(self, sql: str, *parameters: object) -> list[Row]:
        """All rows of a query."""

    def row(self, sql: str, *parameters: object) -> Row | None:
        """The first row of a query, or None."""

    def change(self, sql: str, *parameters: object) -> int:
        """How many rows a statement changed."""

    def names(self) -> set[str]:
        """The names of the tables and guards that are there."""

    def many(self, sql: str, rows: Iterable[Iterable[object]]) -> None:
        """One statement, once for each row of parameters."""


class Database(Protocol):
    """A database that is opened on first use. All of it may raise `StoreError`."""

    async def run(self, work: Callable[[Session], T]) -> T:
        """What `work` gives, once what it changed is durable; what it raises undoes all of it.

        `work` may be run again from its start, so it changes nothing but the database. A caller
        that is cancelled while waiting does not know whether it was committed.
        """

    async def read(self, work: Callable[[Session], T]) -> T:
        """What `work` gives, seen at one point of time; it may not change anything."""

    async def close(self) -> None:
        """End what is running and let go of the database; a second time does nothing."""


class Audit(Protocol):
    """Takes an entry for every change of state, inside the transaction that makes it."""

    def __call__(self, session: Session, entry: Mapping[str, Any]) -> None: ...


def no_audit(session: Session, entry: Mapping[str, Any]) -> None:
    """Keep no record."""
