"""`key=value key:=json @file -` on a command line -> the arguments of a call.

This is spelling only: whether the tool takes the arguments is the validate stage's to say. The
schema is asked for one thing: whether a plain value may be anything but a number or a boolean.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from toolrt.core.errors import RefusedError
from toolrt.faces.cli.options import Misuse
from toolrt.faces.cli.signature import types_of

GRAMMAR = "write key=text, key:=json, key=@file, @file or -"

_MOST_BYTES = 4 * 1024 * 1024
_TOKEN = re.compile(r"([^=]+?)(:?=)(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)")
_EXAMPLES = {
    "array": """:='["a", "b"]'""",
    "object": """:='{"a": 1}'""",
    "integer": "=1",
    "number": "=1.5",
    "boolean": "=true",
    "null": ":=null",
}
_A = {
    "array": "a list",
    "object": "an object",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_TRUTHS = {
    **dict.fromkeys(("yes", "y", "on", "true"), "true"),
    **dict.fromkeys(("no", "n", "off", "false"), "false"),
}
_TOO_EARLY = "the JSON ends too early"

Pair = tuple[str, Any, str]


def gather(
    tokens: Sequence[str], json_text: str | None, schema: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of all tokens, and of `--json`; each may be given once.

    `schema` is the tool's input schema. Raises `click.UsageError` that says how a token should
    look, and RefusedError for a document that is no JSON object.
    """
    gathered: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, value, origin in _pairs(tokens, json_text, schema):
        if name in gathered:
            raise click.UsageError(f"`{name}` is given twice: by {origins[name]} and by {origin}")
        gathered[name] = value
        origins[name] = origin
    return gathered


def _pairs(
    tokens: Sequence[str], json_text: str | None, schema: Mapping[str, Any]
) -> Iterator[Pair]:
    if json_text is not None:
        yield from _members(json_text, "--json")
    for token in tokens:
        if token == "-":  # noqa: S105 - a dash, not a password
            yield from _members(_stdin(), "-")
        elif token.startswith("@"):
            yield from _members(_file(token[1:], token), token)
        else:
            yield _pair(token, schema)


def _pair(token: str, schema: Mapping[str, Any]) -> Pair:
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise Misuse(f"`{_short(token)}` is not an argument", hint=_spelling(token))
    name, sign, text = match.groups()
    is_file = text.startswith("@")
    if is_file:
        text = _file(text[1:], token)
    if sign == ":=":
        hint = None if is_file else _remedy(name, text, schema)
        return name, _json(text, token, hint), _short(token)
    return name, text if is_file else _plain(name, text, schema), _short(token)


def _plain(name: str, text: str, schema: Mapping[str, Any]) -> Any:
    """`text` itself, or the number or boolean it spells where the tool takes no text."""
    types = types_of(_property(name, schema), schema)
    if "string" in types:
        return text
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    if types == {"boolean"} and text.lower() in _TRUTHS:
        right = _TRUTHS[text.lower()]
        raise Misuse(f"`{name}` is true or false, not `{text}`", hint=f"write {name}={right}")
    pattern = _NUMBER if "number" in types else _WHOLE if "integer" in types else None
    if pattern and pattern.fullmatch(text):
        return _json(text, f"{name}={text}", None)
    kind = next((kind for kind in _EXAMPLES if kind in types), None)
    if kind and types.isdisjoint(("boolean", "number", "integer")):
        raise Misuse(f"`{name}` takes {_A[kind]}", hint=f"write {name}{_EXAMPLES[kind]}")
    return text


def _spelling(token: str) -> str:
    """How to write what is no argument as it stands."""
    if token.lstrip().startswith("{"):
        return f"a JSON object goes with --json: --json '{_short(token)}'"
    return GRAMMAR


def _property(name: str, schema: Mapping[str, Any]) -> Any:
    return schema.get("properties", {}).get(name, {})


def _members(text: str | bytes, origin: str) -> Iterator[Pair]:
    """The members of a JSON object, as if each were a token of its own."""
    from toolrt.schemas.text import parse_arguments  # noqa: PLC0415 - completion needs it not

    try:
        members = parse_arguments(text)
    except RefusedError as error:
        if error.message.startswith(_TOO_EARLY):
            error.hint = f"a quote or a bracket of {origin} is never closed"
        raise
    for name, item in members.items():
        yield name, item, origin


def _json(text: str, origin: str, hint: str | None) -> Any:
    from toolrt.schemas.text import parse_json  # noqa: PLC0415 - help and completion need it not

    try:
        return parse_json(text)
    except RefusedError as error:
        why = error.message.removeprefix("the arguments are no valid JSON: ").rstrip(".")
        raise Misuse(f"`{_short(origin)}` is not JSON: {why}", hint=hint) from error


def _remedy(name: str, text: str, schema: Mapping[str, Any]) -> str | None:
    """What to write where the value was meant as text, or as a number."""
    types = types_of(_property(name, schema), schema)
    if "string" in types:
        return f"for text write {name}={_short(text)} or {name}:='{_short(json.dumps(text))}'"
    kind = next((kind for kind in _EXAMPLES if kind in types), None)
    return f"`{name}` takes {_A[kind]}, such as {name}{_EXAMPLES[kind]}" if kind else None


def read_whole(name: str) -> str:
    """The text of a file, or of stdin where `name` is `-`. Raises `click.UsageError`."""
    if name != "-":
        return _file(name, name)
    raw = _stdin()
    if len(raw) > _MOST_BYTES:
        raise click.UsageError(f"stdin is larger than {_MOST_BYTES} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise click.UsageError("stdin is not UTF-8 text") from error


def _stdin() -> bytes:
    try:
        return sys.stdin.buffer.read(_MOST_BYTES + 1) or b""
    except OSError as error:
        hint = "pipe the arguments in, or write them: key=value"
        raise Misuse(f"stdin cannot be read: {error.strerror}", hint=hint) from error


def _file(path: str, token: str) -> str:
    if not path:
        raise Misuse(f"`{token}` names no file", hint="a file is @path")
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        text = raw.decode() if len(raw) <= _MOST_BYTES else None
    except UnicodeDecodeError as error:
        raise click.UsageError(f"`{_short(token)}`: the file is not UTF-8 text") from error
    except OSError as error:
        why = f"`{_short(token)}`: {error.strerror}"
        raise Misuse(why, hint=_at(token)) from error
    if text is None:
        raise click.UsageError(f"`{_short(token)}`: the file is larger than {_MOST_BYTES} bytes")
    return text


def _at(token: str) -> str | None:
    name, sign, value = token.partition("=")
    if not sign or name.endswith(":"):
        return None
    return f"for text that starts with @ write {name}:='{_short(json.dumps(value))}'"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - a line's worth
