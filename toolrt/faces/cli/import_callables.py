"""The callables of a Python object as a file of tools, as `toolrt import python` was asked to."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.bindings.base import Services
from toolrt.bindings.python import KIND, PythonSpec
from toolrt.bindings.python_live import Live
from toolrt.catalog.openapi.names import own_spelling
from toolrt.catalog.sources.base import SourceTool
from toolrt.catalog.sources.python import yielded
from toolrt.catalog.workshop import Workshop
from toolrt.expressions.references import References
from toolrt.faces.cli.options import Settings
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import visible
from toolrt.loading.beneath import Beneath
from toolrt.loading.loader import LoadedFiles
from toolrt.loading.reader import read
from toolrt.loading.sources import WrittenSource
from toolrt.loading.stock import Stock
from toolrt.manifest.tool import Source

_NEXT = "toolrt import python --help"


@dataclass(frozen=True, slots=True)
class Imported:
    """A file of tools, and what could not be named in it."""

    manifest: Mapping[str, Any]
    left_out: list[str]


def imported(settings: Settings, named: str, namespace: str | None) -> Imported:
    """The tools of what `named` leads to. Raises Stop."""
    files = LoadedFiles(Stock(settings.project()))
    references = References(files.root, os.environ)
    workshop = Workshop(files, Services(files.root), references)
    made = yielded(_source(named), workshop)
    wrong = [each for each in made.faults if each.severity == "error"]
    if wrong or not made.tools:
        first = wrong[0] if wrong else None
        message = first.message if first else f"`{named}` has no tools"
        hint = first.hint if first else None
        raise Stop(Exit.USAGE, visible(message), code="usage", hint=hint, next_=_NEXT)
    tools: dict[str, Any] = {}
    left_out = [f"not mapped: {each.message}" for each in made.faults]
    for tool in made.tools:
        name, written = own_spelling(tool.name), _written(tool, workshop)
        if written is None or name in tools or not name:
            left_out.append(f"not mapped: {visible(tool.name)}: no dotted name leads to it")
            continue
        tools[name] = written
    wanted = namespace or own_spelling(named.rpartition(":")[2].rpartition(".")[2])
    return Imported({"namespace": wanted, "tools": tools}, left_out)


def _source(named: str) -> WrittenSource:
    document = read(b"", "import")
    source = Source.model_validate({"python": named})
    return WrittenSource("import", source, document, (), Beneath(()))


def _written(tool: SourceTool, workshop: Workshop) -> dict[str, Any] | None:
    """What a file has to say of a tool; None where no dotted name leads to it."""
    options = dict(tool.written["python"])
    texts = dict(_dotted(options))
    if None in texts.values():
        return None
    spec = PythonSpec.model_validate(options)
    context = workshop.context(tool.name)
    described = KIND.describe(spec, context)
    made: dict[str, Any] = {}
    if described is None or not described.description:
        made["description"] = f"{tool.name.replace('_', ' ').capitalize()}."
    made["python"] = texts["call"] if list(texts) == ["call"] else texts
    if "effect" not in KIND.marked(spec, context):
        made["effect"] = "write"
    return made


def _dotted(options: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """The names under `object` and `call`; None for one that is a label only."""
    for key in ("object", "call"):
        value = options.get(key)
        if isinstance(value, Live):
            yield key, str.__str__(value) if value.is_dotted else None
        elif isinstance(value, str):
            yield key, value
