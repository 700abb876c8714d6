"""What a modern request over HTTP says in its headers: the same as in its body, or it is refused.

Whoever stands between client and server decides by the headers alone.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolrt.faces.mcp import eras
from toolrt.faces.mcp.messages import HEADER_MISMATCH, Message, Wrong

_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_ROUTING = (b"mcp-protocol-version", b"mcp-method", b"mcp-name")
_SEALED = re.compile(r"=\?base64\?(.*)\?=")


def check_headers(
    message: Message,
    meta: Mapping[str, Any],
    headers: Mapping[bytes, bytes],
    raw: Sequence[tuple[bytes, bytes]],
) -> None:
    """Raise Wrong where a header is missing, twice there, or says something else."""
    if len(headers) != len(raw):
        _refuse_twice(raw)
    _check(headers, b"mcp-protocol-version", meta[eras.VERSION_KEY])
    _check(headers, b"mcp-method", message.method)
    key = _NAMED.get(message.method)
    if key is not None and key in message.params:
        _check(headers, b"mcp-name", message.params[key])


def check_mirrored(
    arguments: object,
    mirrored: Mapping[bytes, Sequence[str]],
    headers: Mapping[bytes, bytes],
    raw: Sequence[tuple[bytes, bytes]],
) -> None:
    """Raise Wrong where an argument and the header that repeats it are not the same."""
    for name, path in mirrored.items():
        value, told = _value(arguments, path), headers.get(name)
        shown = _shown(value)
        if sum(each == name for each, _ in raw) > 1:
            raise Wrong(HEADER_MISMATCH, f"the header `{name.decode()}` is there twice")
        if shown is None and told is None:
            continue
        if shown is None or told is None or _decoded(told) != shown:
            message = f"the header `{name.decode()}` does not match `{'.'.join(path)}`"
            raise Wrong(HEADER_MISMATCH, message)


def _value(arguments: object, path: Sequence[str]) -> object:
    for step in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(step)
    return arguments


def _shown(value: object) -> str | None:
    """A value as a header has it; None for what no header shows."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _check(headers: Mapping[bytes, bytes], name: bytes, wanted: object) -> None:
    value = headers.get(name)
    if type(wanted) is str and value == wanted.encode():
        return
    if value is None or _decoded(value) != wanted:
        what = "is missing" if value is None else "does not match the body"
        raise Wrong(HEADER_MISMATCH, f"the header `{name.decode()}` {what}")


def _decoded(value: bytes) -> str | None:
    """The text of a header, which may be there as base64; None where that is broken."""
    text = value.decode("latin-1").strip(" \t")
    found = _SEALED.fullmatch(text)
    if found is None:
        return text
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except ValueError:
        return None


def _refuse_twice(raw: Sequence[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in raw]
    for name in _ROUTING:
        if names.count(name) > 1:
            raise Wrong(HEADER_MISMATCH, f"the header `{name.decode()}` is there twice")
