"""Python, for models that act in code: stubs with signatures and docstrings, and calls of them.

Code is read, and never run: each statement is one call, and its arguments are literals.
"""

import ast
import keyword
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolrt.core.results import ToolResult
from toolrt.dialects.base import (
    Export,
    Offered,
    ParseError,
    Strict,
    Told,
    ToolCall,
    check_number,
    description_of,
    exported,
)
from toolrt.dialects.content import is_failed, said
from toolrt.dialects.names import LONGEST, WireNames
from toolrt.schemas.plain import NotJsonError, plain
from toolrt.schemas.shapes import resolve
from toolrt.schemas.wording import checks_in_words, described

NAME: Final = "python"
LONGEST_NAME: Final = LONGEST
IS_TEXT: Final = True

_TYPES: Mapping[str, str] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
    "array": "list",
}
_DEEPEST = 4
_LONGEST_CODE = 64 * 1024
_SHAPE = 'write calls alone, with arguments by name: files_size(path="notes.md")'

Schema = Mapping[str, Any]


def export_tools(tools: Sequence[Offered], names: WireNames, strict: Strict = "auto") -> Export:
    """A stub for each tool, under `code`."""
    del strict

    def made(tool: Offered) -> tuple[dict[str, Any], Sequence[Told]]:
        name = names.wire(tool.name)
        return {"name": name, "code": _stub(name, tool, names)}, ()

    return exported(tools, names, made)


def is_response(response: Any) -> bool:
    """Never: any text may be code, so this dialect has to be named."""
    del response
    return False


def parse_calls(response: Any, names: WireNames) -> list[ToolCall]:
    """The calls in a piece of code, or in the fenced blocks of a text. Raises ParseError."""
    if not isinstance(response, str):
        raise ParseError("this is no text", NAME, hint=_SHAPE)
    if len(response) > _LONGEST_CODE:
        message = f"the code is longer than {_LONGEST_CODE:,} characters"
        raise ParseError(message, NAME, hint="send less at once, or what is long by a reference")
    code = _unfenced(response)
    try:
        with warnings.catch_warnings(action="ignore"):
            statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        is_cut = line >= code.count("\n") + 1 and "was never closed" in str(error)
        why = "the code ends too early" if is_cut else "this is no Python"
        raise ParseError(why, NAME, f"line {line}", _SHAPE) from None
    check_number(len(statements))
    return [_call(each, number, names) for number, each in enumerate(statements, 1)]


def format_results(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], names: WireNames
) -> list[dict[str, Any]]:
    """What each call gave, under the name that its value was assigned to."""
    return [
        {"id": call.id, "name": call.name, "output": said(each, names), "failed": is_failed(each)}
        for call, each in zip(calls, results, strict=True)
    ]


def _unfenced(text: str) -> str:
    """The code of a text with fenced blocks; without one, all of it."""
    parts = text.split("```")
    if len(parts) < 3:  # noqa: PLR2004 - a block stands between two fences
        return text
    return "\n".join(each.partition("\n")[2] for each in parts[1::2])


def _call(statement: ast.stmt, number: int, names: WireNames) -> ToolCall:
    at = f"line {statement.lineno}"
    value, target = _value(statement)
    wire = _dotted(value.func) if isinstance(value, ast.Call) else None
    if not isinstance(value, ast.Call) or wire is None:
        raise ParseError("this is no call", NAME, at, _SHAPE)
    if value.args:
        raise ParseError("an argument has no name", NAME, at, _SHAPE)
    try:
        arguments = plain(_arguments(value.keywords))
    except (ValueError, TypeError, NotJsonError, RecursionError, MemoryError):
        why = "an argument is no literal that JSON can carry"
        raise ParseError(why, NAME, at, _SHAPE) from None
    return ToolCall(target or f"call_{number}", names.own(wire), arguments, wire, bool(target))


def _value(statement: ast.stmt) -> tuple[ast.expr | None, str | None]:
    """The expression of a statement, and the one name that it is assigned to."""
    value, target = None, None
    if isinstance(statement, ast.Expr):
        value = statement.value
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        value = statement.value
        first = statement.targets[0]
        target = first.id if isinstance(first, ast.Name) else None
    return value.value if isinstance(value, ast.Await) else value, target


def _dotted(node: ast.expr) -> str | None:
    """The name that is called, as `files.size`; None for what is computed."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _arguments(keywords: Iterable[ast.keyword]) -> dict[str, Any]:
    """The arguments of a call; of `**` a literal mapping. Raises ValueError."""
    made: dict[str, Any] = {}
    for each in keywords:
        value = ast.literal_eval(each.value)
        given = value if each.arg is None else {each.arg: value}
        if not isinstance(given, dict) or given.keys() & made.keys():
            raise ValueError
        made.update(given)
    return made


def _stub(name: str, tool: Offered, names: WireNames) -> str:
    schema = tool.input_schema
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    named = [each for each in properties if each.isidentifier() and not keyword.iskeyword(each)]
    named.sort(key=lambda each: each not in required)
    signature = [_parameter(each, properties[each], each in required, schema) for each in named]
    if len(named) < len(properties):
        signature.append("**others: Any")
    told = f"*, {', '.join(signature)}" if named else ", ".join(signature)
    returns = _type(tool.told_schema, tool.told_schema) if tool.told_schema else "Any"
    text = _docstring(description_of(tool, names), properties)
    body = "\n".join(f"    {line}".rstrip() for line in text.split("\n"))
    return f"def {name}({told}) -> {returns}:\n{body}\n    ..."


def _parameter(name: str, schema: Any, is_required: bool, root: Schema) -> str:
    kind = _type(schema, root)
    if is_required:
        return f"{name}: {kind}"
    default = schema.get("default") if isinstance(schema, Mapping) else None
    if default is not None:
        return f"{name}: {kind} = {default!r}"
    return f"{name}: {kind} = None" if "None" in kind else f"{name}: {kind} | None = None"


def _docstring(description: str, properties: Schema) -> str:
    """A docstring in its quotes; nothing in it ends it early."""
    lines = [description.strip()]
    told = [(name, _told(each)) for name, each in properties.items()]
    if any(text for _, text in told):
        lines += ["", "Args:", *(f"    {name}: {text}" for name, text in told if text)]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    text = f'{text[:-1]}\\"' if text.endswith('"') else text
    return f'"""{text}"""' if "\n" not in text else f'"""{text}\n"""'


def _told(schema: Any) -> str:
    """What is said of a parameter, in one line; its default stands in the signature."""
    if not isinstance(schema, Mapping):
        return ""
    rest = {word: each for word, each in schema.items() if word != "default"}
    return " ".join(described(rest, checks_in_words(schema)).split())


def _type(schema: Any, root: Schema, depth: int = 0) -> str:
    """The annotation that says most of what a schema says."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "Any"
    if "$ref" in schema:
        return _type(resolve(root, schema["$ref"]), root, depth + 1)
    options = [schema["const"]] if "const" in schema else schema.get("enum")
    if options and all(isinstance(each, str | int | None) for each in options):
        return f"Literal[{', '.join(map(repr, options))}]"
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return _either(_type(each, root, depth + 1) for each in branches)
    written = schema.get("type", ())
    kinds = [written] if isinstance(written, str) else written
    return _either(_of_type(each, schema, root, depth) for each in kinds) or "Any"


def _of_type(kind: str, schema: Schema, root: Schema, depth: int) -> str:
    if kind == "array" and "items" in schema:
        return f"list[{_type(schema['items'], root, depth + 1)}]"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"dict[str, {_type(schema['additionalProperties'], root, depth + 1)}]"
    return _TYPES.get(kind, "Any")


def _either(types: Iterable[str]) -> str:
    found = list(dict.fromkeys(types))
    return "Any" if "Any" in found else " | ".join(found)
