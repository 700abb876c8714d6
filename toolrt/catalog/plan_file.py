"""A plan in a file of its own: the steps of a tool that no catalogue lists.

It has the keys of a tool that a plan needs, and is compiled like one, over the tools of the current
generation. What is wrong with it is told with its place.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from toolrt.catalog.links import check_links
from toolrt.catalog.snapshot import OF_FILES, ToolEntry
from toolrt.catalog.steps import place_of, steps_of, strengthened
from toolrt.catalog.tools import compile_tool
from toolrt.catalog.workshop import Workshop
from toolrt.core.errors import ProjectError, RefusedError
from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean
from toolrt.core.redaction import blotted
from toolrt.loading.layers import Layer, Layered
from toolrt.loading.loader import WrittenTool
from toolrt.loading.reader import Document, read
from toolrt.loading.snippet import render
from toolrt.manifest.longform import long_tool
from toolrt.schemas.plain import NotJsonError
from toolrt.schemas.plain import plain as _plain

KEYS: Final = ("description", "parameters", "input_schema", "result", "steps", "timeout", "title")
_SHAPE = "write `steps: [{id: a, tool: …, args: {…}}]`"
_STANDARD: Mapping[str, Any] = {"description": "A plan."}


class BrokenPlanError(ProjectError):
    """A plan file has errors; `report` shows them all, `diagnostics` are their documents."""

    def __init__(self, message: str, report: str, diagnostics: list[dict[str, Any]]) -> None:
        super().__init__(message, hint="mend the plan; nothing ran", report=report)
        self.diagnostics = diagnostics


def written_plan(plan: object) -> bytes:
    """A plan of Python values as the text of a file; a list is that of its steps.

    Raises RefusedError for what is no plain data.
    """
    whole = {"steps": plan} if isinstance(plan, list | tuple) else plan
    try:
        return json.dumps(_plain(whole), indent=2, ensure_ascii=False).encode()
    except NotJsonError as error:
        message = f"a plan is a mapping with `steps`, and this one {error.reason}"
        raise RefusedError(message, code="invalid-arguments", hint=_SHAPE) from error


def compile_plan(
    workshop: Workshop, text: bytes, file: str, tools: Mapping[str, ToolEntry]
) -> ToolEntry:
    """The plan in `text`, over `tools`. `workshop` is one of its own.

    Raises:
        BrokenPlanError: something is wrong with it.
    """
    files, document = workshop.files, read(text, file)
    files.documents.append(document)
    entry = None
    if _is_sound(workshop, document):
        entry = compile_tool(workshop, _written(document))
    if entry is not None:
        all_ = strengthened(files, {**tools, entry.name: entry})
        entry = all_[entry.name]
        _name_tools(workshop, tools)
        check_links(files, all_)
        files.report_layered(entry.path, entry.layered, [*_of_inner_tools(entry, tools)])
    if entry is None or files.has_errors():
        raise _broken(workshop, file)
    return entry


def _is_sound(workshop: Workshop, document: Document) -> bool:
    """Whether it has the shape of a plan; what is wrong is reported."""
    data, files = document.data, workshop.files
    if data is None:
        return False
    if not isinstance(data, dict) or "steps" not in data:
        files.report(
            document, (), Fault("wrong-type", "a plan is a mapping with `steps`", (), _SHAPE)
        )
        return False
    for key in data:
        if key not in KEYS and not key.startswith("x-"):
            hint = did_you_mean(key, KEYS) or f"it has {', '.join(KEYS)}"
            fault = Fault("unknown-key", f"a plan has no `{key}`", (key,), hint, on_key=True)
            files.report(document, (), fault)
    return not files.has_errors()


def _written(document: Document) -> WrittenTool:
    data = {key: value for key, value in document.data.items() if not key.startswith("x-")}
    own = Layer("tool", document, (), long_tool(data, data))
    layered = Layered([Layer("built-in", document, (), _STANDARD), own])
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", PurePath(document.file).stem)[:60]
    return WrittenTool(f"{OF_FILES}{stem}", None, layered, document, ("plan",))


def _name_tools(workshop: Workshop, tools: Mapping[str, ToolEntry]) -> None:
    """Let links know the tools of the project, to tell what was meant."""
    files = workshop.files
    files.tools += [
        WrittenTool(name, entry.namespace, entry.layered, entry.layered.own.document, entry.path)
        for name, entry in tools.items()
    ]


def _of_inner_tools(entry: ToolEntry, tools: Mapping[str, ToolEntry]) -> Iterator[Fault]:
    """Steps that call what is there for tools of the project alone: nobody let this plan through,
    so it may call what its caller may.
    """
    for number, step in enumerate(steps_of(entry)):
        if step.tool in tools and not tools[step.tool].manifest.expose:
            message = f"`{step.tool}` is there for other tools alone (`expose: false`)"
            hint = "call a tool of the project that calls it"
            yield Fault("no-such-tool", message, place_of(number, "tool"), hint)


def _broken(workshop: Workshop, file: str) -> BrokenPlanError:
    files = workshop.files
    errors = [each for each in files.diagnostics() if each.severity == "error"]
    sources = {name: blotted(text) for name, text in files.sources.items()}
    count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
    report = render(errors, sources)
    return BrokenPlanError(
        f"the plan in {file} has {count}\n{report}", report, [each.document() for each in errors]
    )
