"""What a modern request over HTTP says in its headers: the same as in its body, or it is refused.

Whoever stands between client and server decides by the headers alone.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolrt.faces.mcp import eras
from toolrt.faces.mcp.messages import HEADER_MISMATCH, Message, Wrong

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
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
    if not text.startswith("=?base64?"):
        return text
    found = _SEALED.fullmatch(text)
    if found is None:
        return None
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except ValueError:
        return None


def _refuse_twice(raw: Sequence[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in raw]
    for name in _ROUTING:
        if names.count(name) > 1:
            raise Wrong(HEADER_MISMATCH, f"the header `{name.decode()}` is there twice")
