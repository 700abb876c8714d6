"""What is wrong with a tool that a source yields, where nothing of it stands in a file.

A server or a document that says something wrong takes away that tool, with a warning: it is no
error of the project.
"""

from collections.abc import Iterable
from dataclasses import replace

from toolrt.core.faults import Fault
from toolrt.loading.layers import SOURCE, Layered
from toolrt.loading.loader import WrittenTool
from toolrt.schemas.phrases import visible

_NOWHERE = (SOURCE, "@tool")
"""Layers whose values stand in code, in a document or with a server."""


def as_sourced(written: WrittenTool, layered: Layered, faults: list[Fault]) -> list[Fault]:
    """The faults of a tool as they are told of one of a source; others stay as they are."""
    source = written.source
    if source is None:
        return faults
    return list(_told(written, layered, faults, is_foreign=source.origin != "python"))


def _told(
    written: WrittenTool, layered: Layered, faults: Iterable[Fault], *, is_foreign: bool
) -> Iterable[Fault]:
    for fault in faults:
        if layered.origin(fault.path).name not in _NOWHERE:
            yield fault
            continue
        name = f"`{visible(written.name)}`"
        is_named = fault.message.startswith(name)
        told = fault if is_named else replace(fault, message=f"{name}: {fault.message}")
        if is_foreign and fault.severity == "error":
            told = replace(told, severity="warning", message=f"{told.message}; it is left out")
        yield told


def fallback_description(written: WrittenTool, faults: list[Fault]) -> str:
    """What a tool is said to be that says nothing of itself; which is told."""
    name = visible(str(written.path[-1]))
    message = f"`{visible(written.name)}` says nowhere what it does, which a model has to know"
    is_python = written.source is not None and written.source.origin == "python"
    where = "give it a docstring, or write" if is_python else "write"
    hint = f"{where} a `description` under `overrides: {{{name}: …}}`"
    faults.append(Fault("no-description", message, (), hint, "warning", on_key=True))
    return f"tool {name}"
