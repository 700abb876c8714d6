"""`multipart`: fields and files in one body (RFC 7578).

A parameter of `format: path` that stands alone sends its file, and every other value a field; lists
repeat their name, mappings go on in brackets. The boundary is that of the tool, so that a request
can be repeated exactly, and no part may hold it.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from toolrt.bindings.base import BindContext
from toolrt.bindings.http_swept import Swept
from toolrt.bindings.paths import compile_path_rules
from toolrt.bindings.uploads import Upload
from toolrt.core.errors import RefusedError
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import as_text
from toolrt.expressions.templates import Tree

MOST_BYTES = 20 * 1024 * 1024
"""The most that a body may come to."""
MOST_PARTS = 1000

_QUOTED = {ord('"'): "%22", ord("\\"): "%5C", 0x7F: "%7F"} | {n: f"%{n:02X}" for n in range(32)}
"""What browsers quote in names, and all else that could end a name or its line."""


class MultipartBody:
    """The parts of one tool's requests."""

    def __init__(self, tree: Tree, swept: Swept | None, context: BindContext) -> None:
        self.content_type = multipart_type(context.tool)
        self._boundary = self.content_type.partition("=")[2].encode()
        self._tree = tree
        self._swept = swept
        self._rules = compile_path_rules(context.input_schema, context.project)
        self.references = tree.references

    def render(self, scope: Scope) -> bytes:
        """The body of one call; this reads files. Raises RefusedError."""
        scope = self._placed(scope)
        pieces, size = [], 0
        for name, value in self._fields(self._tree.render(scope), scope):
            piece = self._part(name, value, MOST_BYTES - size)
            size += len(piece)
            if size > MOST_BYTES:
                raise _too_much()
            pieces.append(piece)
        return b"".join((*pieces, b"--", self._boundary, b"--\r\n"))

    def masked(self, scope: Scope) -> list[dict[str, Any]]:
        """The fields, and the files by their paths; no file is read."""
        scope = self._placed(scope)
        fields = self._fields(self._tree.masked(scope), scope)
        return [
            {"name": name, "file": value.shown, "type": value.media_type}
            if isinstance(value, Upload) and value.names
            else {"name": name, "value": value}
            for name, value in fields
        ]

    def _placed(self, scope: Scope) -> Scope:
        if self._rules is None:
            return scope
        return Scope(
            self._rules.placed(scope.arguments, Upload.of),
            invocation=scope.invocation,
            vars=scope.vars,
            references=scope.references,
        )

    def _fields(self, written: Mapping[str, Any], scope: Scope) -> list[tuple[str, Any]]:
        values = list(self._swept.items(scope)) if self._swept else []
        values += list((written or {}).items())
        fields = [field for name, value in values for field in _flat(name, value)]
        if len(fields) > MOST_PARTS:
            raise _too_much()
        return fields

    def _part(self, name: str, value: Any, most_bytes: int) -> bytes:
        head = f'Content-Disposition: form-data; name="{name.translate(_QUOTED)}"'
        try:
            if isinstance(value, Upload):
                content = value.read(most_bytes)
                file = value.names[-1].encode("utf-8", "replace").decode().translate(_QUOTED)
                head = f'{head}; filename="{file}"\r\nContent-Type: {value.media_type}'
            else:
                content = as_text(value).encode()
            whole = f"{head}\r\n\r\n".encode() + content
        except UnicodeEncodeError:
            message = "the arguments hold text that is no valid Unicode"
            raise RefusedError(message, code="invalid-arguments") from None
        if self._boundary in whole:
            message = "a part holds the line that is to part it from the next"
            raise RefusedError(message, code="invalid-arguments")
        return b"".join((b"--", self._boundary, b"\r\n", whole, b"\r\n"))


def multipart_type(tool: str) -> str:
    """The media type of a tool's requests, with its boundary."""
    digest = sha256(tool.encode()).hexdigest()
    return f"multipart/form-data; boundary=toolrt-{digest[:40]}"


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if value is None or value is ABSENT:
        return
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flat(f"{name}[{key}]", each)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            is_nested = isinstance(each, (dict, list))
            yield from _flat(f"{name}[{index}]" if is_nested else name, each)
    else:
        yield name, value


def _too_much() -> RefusedError:
    most = MOST_BYTES // (1024 * 1024)
    message = f"the arguments make too large a request: at most {most} MiB in {MOST_PARTS} parts"
    return RefusedError(message, code="invalid-arguments")
