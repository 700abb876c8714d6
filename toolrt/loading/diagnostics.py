"""Findings about files: what is wrong, where, and what to do.

Whatever part finds a fault, it ends up here as a `Diagnostic` with file, line and column; the
faces show them as text (`loading/snippet`) or as the document that `report` makes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from toolrt.core.faults import Fault, Path, Severity
from toolrt.core.results import SCHEMA
from toolrt.loading.cells import visible
from toolrt.loading.lines import Lines
from toolrt.loading.paths import dotted

FAULT_LIMIT: Final = 1000
"""More findings than this in one file help nobody."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a file: lines and columns from 1, the end exclusive."""

    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1

    @classmethod
    def of(cls, lines: Lines, start: int, end: int) -> "Span":
        """The span from character `start` to before `end`."""
        return cls(*lines.place(start), *lines.place(max(start, end)))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding about a file.

    `path` is dotted text such as `tools.pay.timeout`. `end_column` is exclusive, and None when
    only the beginning is known or the piece goes on over several lines.
    """

    code: str
    message: str
    file: str
    line: int = 1
    column: int = 1
    end_column: int | None = None
    path: str = ""
    hint: str | None = None
    severity: Severity = "error"

    def document(self) -> dict[str, Any]:
        """JSON-ready mapping, the same for every face."""
        return {
            "code": self.code,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "message": self.message,
            "hint": self.hint,
        }


class Located(Protocol):
    """What knows the place of each of its values; a `reader.Document` does."""

    @property
    def file(self) -> str: ...

    def span(self, path: Path, *, on_key: bool = False, offset: int | None = None) -> Span: ...


class TooManyFaultsError(Exception):
    """One file has more faults than anybody reads; the last diagnostic says so."""


class Diagnosis:
    """Collects the diagnostics of one text by character index."""

    def __init__(self, file: str, lines: Lines) -> None:
        self.file = file
        self.lines = lines
        self.found: list[Diagnostic] = []

    def add(self, fault: Fault, start: int, end: int | None = None) -> None:
        """`fault` stands from `start` to before `end`. Raises `TooManyFaultsError` at the limit."""
        span = Span.of(self.lines, start, start if end is None else end)
        if len(self.found) >= FAULT_LIMIT:
            more = Fault("too-many-faults", f"more than {FAULT_LIMIT} faults in one file")
            self.found[FAULT_LIMIT:] = [at_span(more, self.file, fault.path, span)]
            raise TooManyFaultsError
        self.found.append(at_span(fault, self.file, fault.path, span))


def of_fault(fault: Fault, document: Located, prefix: Path = ()) -> Diagnostic:
    """The diagnostic of a fault whose path begins at `prefix` of `document`."""
    path = (*prefix, *fault.path)
    span = document.span(path, on_key=fault.on_key, offset=fault.offset)
    return at_span(fault, document.file, path, span)


def at_span(fault: Fault, file: str, path: Path, span: Span) -> Diagnostic:
    """The diagnostic of a fault whose place is known."""
    is_on_one_line = span.end_line == span.line and span.end_column > span.column
    return Diagnostic(
        fault.code,
        visible(fault.message),
        file,
        span.line,
        span.column,
        span.end_column if is_on_one_line else None,
        dotted(path),
        visible(fault.hint) if fault.hint else fault.hint,
        fault.severity,
    )


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Each diagnostic once, by file, line, column and code."""
    once = {(_order(one), one.severity): one for one in reversed([*diagnostics])}
    return [once[key] for key in sorted(once)]


def place_of(one: Diagnostic) -> tuple[str, int, int]:
    """File, line and column."""
    return one.file, one.line, one.column


def report(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """The document of `check -o json`; `ok` when nothing is an error."""
    found = in_order(diagnostics)
    errors = sum(one.severity == "error" for one in found)
    return {
        "schema": SCHEMA,
        "ok": errors == 0,
        "errors": errors,
        "warnings": len(found) - errors,
        "diagnostics": [one.document() for one in found],
    }


def _order(one: Diagnostic) -> tuple[str, int, int, str, str]:
    return *place_of(one), one.code, one.message
