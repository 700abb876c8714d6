"""`toolrt list`: a line for each tool."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.caller import Guise, as_option, caller_of, seen_by
from toolrt.faces.cli.circuits import Circuit, open_tools, without_hidden
from toolrt.faces.cli.dialect import (
    dialect_option,
    export_of,
    listed_names,
    show_export,
    told_names,
)
from toolrt.faces.cli.names import compiled_files
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.signature import signature
from toolrt.faces.cli.table import fitted, join
from toolrt.faces.exits import Exit
from toolrt.faces.output import Screen, one_line

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import Snapshot, ToolEntry

EXAMPLES = (
    ("toolrt list", "every tool"),
    ("toolrt list 'files.*'", "those whose names match"),
    ("toolrt list --tag search -o json", "those with a tag, with their schemas"),
    ("toolrt list --as bot:support", "those that somebody else sees"),
    ("toolrt list --dialect openai", "as a request to a vendor has them"),
)

_EFFECT_COLORS = {"read": "green", "write": "yellow", "irreversible": "red"}
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)


@click.command("list", cls=Verb, examples=EXAMPLES)
@click.argument("pattern", required=False)
@click.option("--tag", help="Only tools with this tag.")
@click.option("--namespace", help="Only tools of this namespace.")
@dialect_option("In the format of this vendor's requests.")
@as_option("List")
@click.pass_obj
def verb(
    settings: Settings,
    *,
    pattern: str | None,
    tag: str | None,
    namespace: str | None,
    dialect: str | None,
    as_: Guise | None,
) -> Exit:
    """List the tools: how each is called, what it does to the world, what it is for.

    PATTERN is a name or a glob such as 'files.*'. Tools that the rules hide from you are not
    listed, or marked as hidden if you may `admin`.
    """
    whole, files = compiled_files(settings)
    caller = caller_of(whole, as_, settings)
    snapshot, hidden = seen_by(whole, caller)
    tools = [
        tool
        for tool in snapshot.tools.values()
        if (pattern is None or fnmatchcase(tool.name, pattern))
        and (tag is None or tag in tool.tags)
        and (namespace is None or namespace == tool.namespace)
    ]
    not_called = open_tools(snapshot, files, settings, caller.tenant)
    tools = list(without_hidden(tools, not_called))
    if dialect is not None:
        is_chosen = any(each is not None for each in (pattern, tag, namespace))
        told = (listed_names(snapshot) if is_chosen else told_names(snapshot)) - hidden
        tools = [each for each in tools if each.name in told and each.blocked is None]
        show_export(export_of(tools, dialect, snapshot), dialect, settings)
        return Exit.OK
    document = _document(snapshot, tools, hidden, not_called)
    rows = [{"schema": SCHEMA, **row} for row in document["tools"]]
    settings.screen.show(document, lambda: _text(tools, hidden, not_called, settings.screen), rows)
    if not tools:
        settings.screen.say(_nothing(snapshot, pattern, settings))
    return Exit.OK


def summary(description: str) -> str:
    """The first sentence of a description, in one line."""
    found = _SENTENCE.match(description.strip())
    return one_line(found[1] if found else description)


def _document(
    snapshot: "Snapshot",
    tools: list["ToolEntry"],
    hidden: frozenset[str],
    not_called: Mapping[str, Circuit],
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "generation": snapshot.generation,
        "tools": [
            described(tool, is_hidden=tool.name in hidden, circuit=not_called.get(tool.name))
            for tool in tools
        ],
    }


def described(
    tool: "ToolEntry", *, is_hidden: bool, circuit: Circuit | None = None
) -> dict[str, Any]:
    """A tool as `-o json` shows it; the rules may hide it from the caller, and an open breaker
    keeps it from being called.
    """
    reason = _reason(tool, circuit)
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "kind": tool.kind,
        "effect": tool.effect,
        "idempotent": tool.is_idempotent,
        "tags": list(tool.tags),
        "version": tool.version,
        "deprecated": tool.deprecated,
        "available": reason is None,
        "reason": reason,
        "hidden": is_hidden,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "source": tool.source or None,
        "file": tool.file,
        "line": tool.line,
    }


def _reason(tool: "ToolEntry", circuit: Circuit | None) -> str | None:
    """Why the tool cannot be called for now."""
    return tool.unavailable or (circuit.reason if circuit else None)


def _text(
    tools: list["ToolEntry"],
    hidden: frozenset[str],
    not_called: Mapping[str, Circuit],
    screen: Screen,
) -> str:
    if not tools:
        return ""
    rows = [
        [
            one_line(signature(tool.name, tool.input_schema)),
            tool.effect,
            tool.kind,
            "[hidden] " * (tool.name in hidden)
            + _badges(tool, not_called.get(tool.name))
            + summary(tool.description),
        ]
        for tool in tools
    ]
    table = fitted(rows, first_share=0.45, edge=screen.width)
    return "\n".join(_painted(line, tool, screen) for line, tool in zip(table, tools, strict=True))


def _badges(tool: "ToolEntry", circuit: Circuit | None) -> str:
    said, reason = "", _reason(tool, circuit)
    if reason:
        said += f"[unavailable: {one_line(reason)}] "
    if tool.deprecated:
        said += f"[deprecated: {one_line(tool.deprecated)}] "
    return said


def _painted(cells: list[str], tool: "ToolEntry", screen: Screen) -> str:
    call, effect, *rest = cells
    name, _, arguments = call.partition("(")
    call = screen.paint(name, bold=True) + (f"({arguments}" if arguments else "")
    return join([call, screen.paint(effect, fg=_EFFECT_COLORS[tool.effect]), *rest])


def _nothing(snapshot: "Snapshot", pattern: str | None, settings: Settings) -> str:
    if not snapshot.tools:
        return f"no tools yet: add one to tools.d, or try: {settings.command('init')}"
    if pattern in {tool.namespace for tool in snapshot.tools.values()}:
        inside = f"list '{pattern}.*'"
        return f"`{pattern}` is a namespace; try: {settings.command(inside)}"
    return f"no tool matches; try: {settings.command('list')}"
