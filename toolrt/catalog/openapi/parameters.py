"""The parameters of an operation: those of its path, then its own, which win by name and place."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolrt.catalog.openapi.arguments import Arguments
from toolrt.catalog.openapi.flat import flat
from toolrt.catalog.openapi.places import Request, Style, UnsupportedError, style_of, written
from toolrt.catalog.openapi.refs import Document, Node, Steps
from toolrt.catalog.openapi.report import NotMappedError
from toolrt.catalog.openapi.security import is_field_name

_PLACES: Final = ("path", "query", "header", "cookie")
_SET_ELSEWHERE: Final = frozenset({"accept", "content-type", "authorization"})
"""Headers that OpenAPI leaves to bodies, answers and security schemes."""
_COOKIES = "cookies are not sent, but for those of a security scheme"


class Parameters:
    """Puts the parameters of one operation into its arguments and its request."""

    def __init__(self, document: Document, arguments: Arguments, request: Request) -> None:
        self._document = document
        self._arguments = arguments
        self._request = request

    def take(self, item: Node, operation: Node, names_in_path: list[str]) -> None:
        """Map all of them. Raises NotMappedError for a required one that cannot be."""
        found = {(node.text("in"), node.text("name")): node for node in self._nodes(item)}
        found |= {(node.text("in"), node.text("name")): node for node in self._nodes(operation)}
        for name in names_in_path:
            self._path(name, found.pop(("path", name), None), operation)
        for place in _PLACES:
            for (where, name), node in found.items():
                if where == place:
                    self._one(place, name, node)
        for (where, _), node in found.items():
            if where not in _PLACES:
                self._leave_out(node, f"there is no place `{where[:40]}`")

    def _nodes(self, node: Node) -> Iterator[Node]:
        for index, value in enumerate(node.items("parameters")):
            found = self._document.node(value, (*node.steps, "parameters", index))
            if found is not None:
                yield found

    def _path(self, name: str, node: Node | None, operation: Node) -> None:
        if node is None:
            argument = self._arguments.add_own(name, "path", {"type": "string"}, required=True)
            self._request.path[name] = f"{{{{ {argument} }}}}"
            self._document.notes.add(
                "parameter", operation.steps, f"`{name[:80]}` of its path is not declared: a text"
            )
            return
        style = self._style(node, "path")
        if node.get("x-multi-segment") is True and style.shape == "scalar":
            argument = self._add(node, name, "path", required=True)
            self._request.path[name] = f"{{{{ {argument} | segments }}}}"
            return
        self._request.path[name] = self._written(node, name, style, required=True)[name]

    def _one(self, place: str, name: str, node: Node) -> None:
        if not name or (place == "header" and name.lower() in _SET_ELSEWHERE):
            return
        if place == "path":
            self._document.notes.add("parameter", node.steps, "it is not in the path")
            return
        try:
            self._take_one(place, name, node)
        except UnsupportedError as error:
            self._leave_out(node, str(error))

    def _take_one(self, place: str, name: str, node: Node) -> None:
        if place == "cookie":
            raise UnsupportedError(_COOKIES)
        if place == "header" and not is_field_name(name):
            raise UnsupportedError("that is no name of a header, or one that toolrt sets")
        style = style_of(self._document, node, place)
        required = node.get("required") is True
        if style.shape == "object" and style.style == "form" and style.explode:
            self._spread(node, required=required)
            return
        into = self._request.query if place == "query" else self._request.headers
        into.update(self._written(node, name, style, required=required))

    def _spread(self, node: Node, *, required: bool) -> None:
        """The properties of an object, each a parameter of its own."""
        found = flat(self._document, node.get("schema"), (*node.steps, "schema"))
        if found is None:
            raise UnsupportedError("an object of any names, spread over the query")
        for name, (value, steps) in found.properties.items():
            style = style_of(self._document, Node({"schema": value}, steps[:-1]), "query")
            is_required = required and name in found.required
            argument = self._arguments.add(name, "query", value, steps, required=is_required)
            self._request.query.update(written(style, name, argument, required=is_required))

    def _written(self, node: Node, name: str, style: Style, *, required: bool) -> dict[str, str]:
        written(style, name, "x", required=required)  # before there is an argument that it has not
        argument = self._add(node, name, style.place, required=required)
        return written(style, name, argument, required=required)

    def _add(self, node: Node, name: str, place: str, *, required: bool) -> str:
        value, steps = _schema_of(node)
        text = node.text("description")
        return self._arguments.add(name, place, value, steps, required=required, text=text)

    def _style(self, node: Node, place: str) -> Style:
        try:
            style = style_of(self._document, node, place)
            written(style, "x", "x", required=True)
        except UnsupportedError as error:
            raise NotMappedError(node.steps, f"its path needs this: {error}") from None
        return style

    def _leave_out(self, node: Node, reason: str) -> None:
        if node.get("required") is True:
            raise NotMappedError(
                node.steps, f"it requires a parameter that is not mapped: {reason}"
            )
        self._document.notes.add("parameter", node.steps, reason)


def _schema_of(node: Node) -> tuple[Any, Steps]:
    content = node.get("content")
    if isinstance(content, Mapping) and content:
        kind = next(iter(content))
        inner = content[kind]
        schema = inner.get("schema", {}) if isinstance(inner, Mapping) else {}
        return schema, (*node.steps, "content", kind, "schema")
    return node.value.get("schema", {}), (*node.steps, "schema")
