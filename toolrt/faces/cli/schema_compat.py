"""`toolrt schema --compat OLD`: what breaks for models that were told of older tools.

OLD is what `-o json` printed before, or the documents of a request alone; or the folder of a
project, as another checkout has it.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.dialect import export_of
from toolrt.faces.cli.options import Misuse, Settings
from toolrt.faces.exits import Exit
from toolrt.faces.output import one_line
from toolrt.schemas.compared import Difference, differences

if TYPE_CHECKING:
    from toolrt.dialects.base import Export

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
_HINT = "write one: toolrt schema --dialect mcp -o json > FILE; or name a folder of a project"

Tools = dict[str, Mapping[str, Any]]


def compare(export: "Export", old: str, dialect: str, settings: Settings) -> Exit:
    """Shows what has changed since `old`. Its status is 10 where calls break on it."""
    is_project = Path(old).is_dir()
    documents = _of_project(old, dialect, settings) if is_project else _documents(old)
    try:
        found = list(_found(_tools(documents, old), _tools(export.documents, "this export")))
    except RecursionError as error:
        raise Misuse(f"{old}: a schema in it is nested too deeply", hint=_HINT) from error
    rows = [
        {"tool": tool, "path": each.path, "says": each.says, "breaking": each.is_breaking}
        for tool, each in found
    ]
    is_breaking = any(each.is_breaking for _, each in found)
    document = {"schema": SCHEMA, "breaking": is_breaking, "differences": rows}
    settings.screen.show(document, lambda: "\n".join(map(_line, rows)), rows)
    if not rows:
        settings.screen.say(f"nothing has changed since {old}")
    return Exit.DIFFERENT if is_breaking else Exit.OK


def _found(old: Tools, new: Tools) -> Iterator[tuple[str, Difference]]:
    for name in sorted({*old, *new}):
        if name not in new:
            yield name, Difference("", "the tool is gone", is_breaking=True)
        elif name not in old:
            yield name, Difference("", "the tool is new", is_breaking=False)
        else:
            yield from ((name, each) for each in differences(old[name], new[name]))


def _of_project(folder: str, dialect: str, settings: Settings) -> list[Any]:
    """The documents of all tools of a project that lists hold. Raises Misuse where it has none:
    compared with nothing, nothing breaks.
    """
    from toolrt.faces.cli.names import broken  # noqa: PLC0415 - seldom asked for
    from toolrt.runtime import load  # noqa: PLC0415 - `--help` loads no runtime

    loaded = load(folder)
    if loaded.snapshot is None:
        raise broken(loaded, settings)
    if not loaded.snapshot.tools:
        looked = f"`toolrt.yaml` and `{loaded.files.project.tools_dir}/*.yaml`"
        message = f"{folder}: there are no tools in it: looked for {looked} there"
        raise Misuse(message, hint="name the folder that holds them, or an export")
    tools = [each for each in loaded.snapshot.listed.values() if each.blocked is None]
    return list(export_of(tools, dialect, loaded.snapshot).documents)


def _documents(file: str) -> list[Any]:
    try:
        written = json.loads(Path(file).read_text(encoding="utf-8"))
    except RecursionError as error:
        raise Misuse(f"{file}: it is nested too deeply", hint=_HINT) from error
    except (OSError, ValueError) as error:
        raise Misuse(f"{file}: it cannot be read: {error}", hint=_HINT) from error
    documents = written.get("tools") if isinstance(written, Mapping) else written
    if not isinstance(documents, list):
        raise Misuse(f"{file}: there are no tools in it", hint=_HINT)
    return documents


def _tools(documents: list[Any], where: str) -> Tools:
    """The schemas by the names of their tools. Raises Misuse for documents that have none."""
    made: Tools = {}
    for each in documents:
        tool = each.get("function", each) if isinstance(each, Mapping) else None
        name = _name(tool) if isinstance(tool, Mapping) else None
        if not isinstance(tool, Mapping) or name is None or "code" in tool:
            raise Misuse(f"{where}: a tool in it has no name or no schema", hint=_HINT)
        found = next((tool[key] for key in _SCHEMAS if isinstance(tool.get(key), Mapping)), None)
        made[name] = _NOTHING if found is None else found
    return made


def _name(tool: Mapping[str, Any]) -> str | None:
    """What a tool is called; those that a vendor runs itself may have a type alone."""
    name = tool.get("name", tool.get("type"))
    return name if isinstance(name, str) else None


def _line(row: Mapping[str, Any]) -> str:
    kind = "breaking" if row["breaking"] else "harmless"
    place = f"{row['tool']} {row['path']}".rstrip()
    return one_line(f"{kind}: {place}: {row['says']}")
