"""The body of an operation: which of its media types is sent, and what of it are arguments.

The properties of an object become arguments where nothing is lost by that; any other body is one
argument, `body`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolrt.catalog.openapi.arguments import Arguments
from toolrt.catalog.openapi.flat import Flat, flat
from toolrt.catalog.openapi.places import Style, is_json, items_of, shape_of
from toolrt.catalog.openapi.refs import Document, Node
from toolrt.catalog.openapi.report import NotMappedError

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
UPLOADS: Final = "uploads"
"""The folder of the project that files are sent from; an override names another."""

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#&^_.+*-]+/[A-Za-z0-9!#&^_.+*-]+(?:; ?[\w.-]+=[\w.-]+)*")
_FILE: Final[Mapping[str, Any]] = {"type": "string", "format": "path", "root": UPLOADS}


@dataclass(slots=True)
class Body:
    """Options of the http kind: the body under its key, and headers that go with it."""

    written: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


class Bodies:
    """Puts the body of one operation into its arguments."""

    def __init__(self, document: Document, arguments: Arguments) -> None:
        self._document = document
        self._arguments = arguments

    def take(self, operation: Node) -> Body:
        """Map the body, if there is one. Raises NotMappedError when it cannot be."""
        written = operation.get("requestBody")
        if written is None:
            return Body()
        steps = (*operation.steps, "requestBody")
        node = self._document.node(written, steps)
        content = node.below("content") if node else None
        if node is None or content is None or not content.value:
            return Body()
        if all(map(self._is_empty, self._media(content))):
            return Body()
        if operation.steps[-1] in {"get", "head"}:
            self._document.notes.add("body", steps, "a GET sends no body")
            return Body()
        for is_type, make in self._ways():
            kind = next((each for each in content.value if is_type(_bare(each))), None)
            if kind is not None and _MEDIA_TYPE.fullmatch(kind):
                self._note_others(content, kind)
                required = node.get("required") is True
                return make(kind, content.below(kind), required=required)
        return self._without(node, content)

    def _media(self, content: Node) -> Iterator[Node]:
        return (content.below(kind) for kind in content.value)

    def _is_empty(self, media: Node) -> bool:
        """Whether a body can only be an object without anything in it."""
        schema = media.below("schema").value
        is_closed = schema.get("additionalProperties", False) is False
        return is_closed and schema.get("type") == "object" and schema.get("properties") == {}

    def _ways(self) -> tuple[tuple[Callable[[str], bool], Callable[..., Body]], ...]:
        """Media types by preference, and what makes a body of each."""
        return (
            (lambda kind: kind == JSON, self._json),
            (is_json, self._json),
            (lambda kind: kind == FORM, self._form),
            (lambda kind: kind == MULTIPART, self._multipart),
            (lambda kind: kind in {"*/*", "application/*"}, self._json),
            (lambda kind: kind.startswith("text/"), self._text),
        )

    def _without(self, node: Node, content: Node) -> Body:
        kinds = ", ".join(_bare(kind)[:60] for kind in content.value)
        if node.get("required") is True:
            raise NotMappedError(content.steps, f"its body is {kinds}, which cannot be written")
        self._document.notes.add("body", content.steps, f"{kinds} cannot be written: not sent")
        return Body()

    def _note_others(self, content: Node, kind: str) -> None:
        others = [each for each in content.value if each != kind]
        for each in others:
            self._document.notes.add("body", (*content.steps, each), f"sent as {kind}")

    def _json(self, kind: str, media: Node, *, required: bool) -> Body:
        headers = {} if _bare(kind) in {JSON, "*/*", "application/*"} else {"Content-Type": kind}
        found = self._flat(media, required=required)
        if found is None:
            return Body({"json": self._whole(media, required=required)}, headers)
        return Body({"json": self._members(found)}, headers)

    def _members(self, found: Flat) -> dict[str, str]:
        return {
            name: f"{{{{ {self._property(found, name)} }}}}"
            for name, (value, _) in found.properties.items()
            if not _is_hidden(self._document, value)
        }

    def _form(self, _kind: str, media: Node, *, required: bool) -> Body:
        found = self._flat(media, required=required)
        if found is None:
            return self._unwritten(media, required=required)
        made: dict[str, str] = {}
        for name, (value, steps) in found.properties.items():
            if _is_hidden(self._document, value):
                continue
            style = self._style_in_form(media, name, value, steps)
            made[form_name(style, name)] = f"{{{{ {self._property(found, name)} }}}}"
        return Body({"form": made})

    def _style_in_form(self, media: Node, name: str, value: Any, steps: Any) -> Style:
        encoding = media.below("encoding").below(name)
        style = encoding.text("style") or "form"
        shape = shape_of(self._document, value, steps)
        items = items_of(self._document, value, steps)
        return Style("query", style, explode=True, shape=shape, items=items)

    def _multipart(self, _kind: str, media: Node, *, required: bool) -> Body:
        found = self._flat(media, required=required)
        if found is None:
            return self._unwritten(media, required=required)
        made: dict[str, str] = {}
        for name, (value, steps) in found.properties.items():
            if _is_hidden(self._document, value):
                continue
            file = self._file(value, steps)
            argument = (
                self._property(found, name) if file is None else self._take(found, name, file)
            )
            made[name] = f"{{{{ {argument} }}}}"
        return Body({"multipart": made})

    def _file(self, value: Any, steps: Any) -> dict[str, Any] | None:
        """The schema of a file that is sent, or of a list of files; None for what is none."""
        node = self._document.node(value, steps) if isinstance(value, dict) else None
        if node is None:
            return None
        told = {"description": node.text("description")} if node.text("description") else {}
        if _is_binary(node):
            return {**_FILE, **told}
        items = node.get("items")
        inner = self._document.node(items, (*node.steps, "items")) if items else None
        if inner is not None and _is_binary(inner):
            return {"type": "array", "items": dict(_FILE), **told}
        return None

    def _text(self, kind: str, media: Node, *, required: bool) -> Body:
        if shape_of(self._document, media.get("schema"), (*media.steps, "schema")) != "scalar":
            return self._unwritten(media, required=required)
        schema = {"type": "string", "description": f"The body, as {_bare(kind)}."}
        argument = self._arguments.add_own("body", "body", schema, required=required)
        return Body({"body": {"type": kind, "text": f"{{{{ {argument} }}}}"}})

    def _unwritten(self, media: Node, *, required: bool) -> Body:
        reason = "a form that is no object of named fields"
        if required:
            raise NotMappedError(media.steps, f"its body is {reason}")
        self._document.notes.add("body", media.steps, reason)
        return Body()

    def _flat(self, media: Node, *, required: bool) -> Flat | None:
        """The body's properties, where each can be an argument."""
        found = flat(self._document, media.get("schema"), (*media.steps, "schema"))
        if found is None or (found.required and not required):
            return None
        for steps in found.loosened:
            self._document.notes.add("schema", steps, "which of these it needs: the service checks")
        return found

    def _whole(self, media: Node, *, required: bool) -> str:
        value = media.value.get("schema", {})
        steps = (*media.steps, "schema")
        argument = self._arguments.add("body", "body", value, steps, required=required)
        return f"{{{{ {argument} }}}}"

    def _property(self, found: Flat, name: str) -> str:
        value, steps = found.properties[name]
        return self._arguments.add(name, "body", value, steps, required=name in found.required)

    def _take(self, found: Flat, name: str, schema: Mapping[str, Any]) -> str:
        return self._arguments.add_own(name, "body", schema, required=name in found.required)


def form_name(style: Style, name: str) -> str:
    """Lists in brackets have them in their names, unless their items bring their own."""
    is_list = style.style == "deepObject" and style.shape == "array" and style.items == "scalar"
    return f"{name}[]" if is_list and not name.endswith("]") else name


def _bare(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def _is_binary(node: Node) -> bool:
    kind = node.get("type")
    if kind not in ("string", "file", None):  # documents may say anything, as a mapping
        return False
    is_media = "contentMediaType" in node.value and "contentEncoding" not in node.value
    return node.get("format") == "binary" or kind == "file" or is_media


def _is_hidden(document: Document, value: Any) -> bool:
    """Whether a property is the service's alone."""
    if not isinstance(value, dict):
        return False
    if value.get("readOnly") is True:
        return True
    found = document.find(value["$ref"]) if isinstance(value.get("$ref"), str) else None
    return found is not None and isinstance(found[0], dict) and found[0].get("readOnly") is True
