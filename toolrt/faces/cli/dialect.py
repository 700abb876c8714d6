"""Tools in the dialect of a vendor: what `schema`, `list` and `show` print with `--dialect`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.options import Settings
from toolrt.faces.cli.table import count
from toolrt.faces.output import one_line, to_json

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import Snapshot, ToolEntry
    from toolrt.dialects.base import Export, Strict

F = TypeVar("F", bound=Callable[..., Any])

NAMES = ("openai", "openai_responses", "anthropic", "google", "mcp", "python")
"""The keys of `DIALECTS`, which `--help` does not load."""

STRICT = ("auto", "always", "never")


def dialect_option(help_: str) -> Callable[[F], F]:
    """The option `--dialect`."""
    return click.option("--dialect", type=click.Choice(NAMES), help=help_)


def export_of(
    tools: Sequence["ToolEntry"], dialect: str, seen: "Snapshot", strict: "Strict" = "auto"
) -> "Export":
    """These of all tools that are `seen`, in a dialect.

    Of those that a vendor runs itself only such as no rule ever keeps from anybody: once it has
    them, nobody is asked. Raises RefusedError where one cannot be strict and has to be.
    """
    from toolrt.dialects.base import Told, export  # noqa: PLC0415 - `--help` loads no dialect

    kept = [each for each in tools if each.hosted is None or _is_for_all(each)]
    made = export(kept, dialect, strict, seen.tools)
    why = "the tool is left out: it depends on the caller, or on people, who is told of it"
    names = sorted({each.name for each in tools} - {each.name for each in kept})
    return replace(made, report=(*made.report, *(Told(name, "", why) for name in names)))


def listed_names(snapshot: "Snapshot") -> frozenset[str]:
    """The tools that a model may call: of several versions the one that is meant."""
    return frozenset(snapshot.listed)


def told_names(snapshot: "Snapshot") -> frozenset[str]:
    """Those that models are told of where nobody says which: `retrieval.max_told` counts."""
    return listed_names(snapshot) if snapshot.told is None else snapshot.told


def _is_for_all(entry: "ToolEntry") -> bool:
    """Whether the rules let a tool run whoever calls it, and however."""
    fixed = entry.decider.fixed if entry.decider else None
    return entry.variants is None and fixed is not None and fixed.verdict == "allow"


def show_export(export: "Export", dialect: str, settings: Settings) -> None:
    """The documents of a request as data; what was lost on the way is talked of."""
    settings.screen.show(document(export, dialect), lambda: _text(export), export.documents)
    if export.report:
        many = count(len(export.report), "difference")
        listing = settings.command(f"schema --dialect {dialect} --explain")
        settings.screen.say(f"{many} from the schemas as written; {listing} lists them")


def show_report(export: "Export", dialect: str, settings: Settings) -> None:
    """A line for each thing that is not in the documents."""
    rows = [each.document() for each in export.report]
    settings.screen.show(document(export, dialect), lambda: _report_text(export), rows)


def document(export: "Export", dialect: str) -> Mapping[str, Any]:
    """An export as a program reads it."""
    return {
        "schema": SCHEMA,
        "dialect": dialect,
        "fingerprint": export.fingerprint,
        "tools": export.documents,
        **({"hosted": list(export.hosted)} if export.hosted else {}),
        "report": [each.document() for each in export.report],
    }


def _text(export: "Export") -> str:
    if export.documents and all("code" in each for each in export.documents):
        return "\n\n\n".join(each["code"] for each in export.documents)
    return to_json(export.documents, indent=2)


def _report_text(export: "Export") -> str:
    if not export.report:
        return "nothing is lost: the vendor is told every check of the schemas"
    return "\n".join(
        one_line(f"{each.tool}{f' {each.path}' if each.path else ''}: {each.says}")
        for each in export.report
    )
