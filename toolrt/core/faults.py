"""A fault in what a user wrote, before anyone looked up where it stands.

Parts that read manifests report `Fault`s with the path of the value inside its tool (or target);
`loading/diagnostics` turns them into findings with file, line and column.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

Path = tuple[str | int, ...]
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: kebab-case `code`, what is wrong, where, what to do.

    `path` leads from the tool to the value, such as `("http", "query", "city")`. `offset` counts
    characters into a scalar, for faults inside a template or an expression. `on_key` points at
    the key rather than at its value.
    """

    code: str
    message: str
    path: Path = ()
    hint: str | None = None
    severity: Severity = "error"
    offset: int | None = None
    on_key: bool = False

    def under(self, *prefix: str | int) -> "Fault":
        """The same fault seen from further out."""
        return replace(self, path=(*prefix, *self.path))

    def moved(self, path: Path) -> "Fault":
        """The same fault at another path."""
        return replace(self, path=path)


class FaultError(Exception):
    """Carries faults out of a deep place; its catcher adds them to its own list."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults

    def under(self, *prefix: str | int) -> Iterable[Fault]:
        return tuple(fault.under(*prefix) for fault in self.faults)


MISSING = object()
"""What `child` gives where there is nothing."""


def child(data: Any, step: str | int) -> Any:
    """What `step` leads to in plain data; `MISSING` where it leads nowhere."""
    if isinstance(data, dict):
        return data.get(step, MISSING)
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return data[step]
    return MISSING
