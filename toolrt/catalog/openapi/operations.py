"""One operation to one tool of kind http."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from toolrt.catalog.openapi.arguments import Arguments
from toolrt.catalog.openapi.bodies import Bodies, Body
from toolrt.catalog.openapi.parameters import Parameters
from toolrt.catalog.openapi.places import Request, is_json
from toolrt.catalog.openapi.refs import Document, Node
from toolrt.catalog.openapi.report import NotMappedError
from toolrt.catalog.openapi.schemas import Schemas, answer_schemas, argument_schemas
from toolrt.catalog.openapi.texts import DOTS, tool_text

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_EFFECTS: Final[Mapping[str, str]] = {"get": "read", "head": "read", "delete": "irreversible"}
_MOST_OF_ANSWER: Final = 200
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NOT_IN_PATH = re.compile(r"[{}#?\\]|\$\0")
"""No query and no fragment; a `$` before a value would look like a reference."""
_NOT_MAPPED: Final[Mapping[str, str]] = {
    "callbacks": "callbacks: requests that the service makes",
}


class Operations:
    """Maps the operations of one document, whose schemas they share."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._taken: Schemas = argument_schemas(document)
        self._given: Schemas = answer_schemas(document)

    def written(self, path: str, item: Node, operation: Node) -> dict[str, Any]:
        """Tool keys in long form, the url as a path. Raises NotMappedError."""
        method = str(operation.steps[-1])
        if method == "trace":
            raise NotMappedError(operation.steps, "TRACE is not sent")
        arguments, request = Arguments(self._taken), Request()
        names = _names_in(path, operation)
        Parameters(self._document, arguments, request).take(item, operation, names)
        body = Bodies(self._document, arguments).take(operation)
        http = _http(method, _url(path, request, operation), request, body)
        self._note_rest(operation)
        return {
            "description": self._description(path, method, item, operation),
            **_tags(operation),
            **_deprecated(operation),
            "effect": _EFFECTS.get(method, "write"),
            **arguments.written(operation.steps),
            **self._answer(operation),
            "http": http,
        }

    def _description(self, path: str, method: str, item: Node, operation: Node) -> str:
        summary = operation.text("summary") or item.text("summary")
        text = operation.text("description") or item.text("description")
        return tool_text(summary, text, f"{method.upper()} {path}")

    def _answer(self, operation: Node) -> dict[str, Any]:
        """What a success looks like, where that is JSON and can be said in few words."""
        responses = operation.below("responses")
        codes = [code for code in responses.value if str(code).startswith("2")]
        for code in sorted(map(str, codes))[:1]:
            node = self._document.node(responses.get(code), (*responses.steps, code))
            content = node.below("content") if node else None
            kind = next(filter(is_json, map(str, content.value)), None) if content else None
            if content is not None and kind is not None:
                return self._schema_of(content.below(kind))
        return {}

    def _schema_of(self, media: Node) -> dict[str, Any]:
        if not isinstance(media.get("schema"), dict):
            return {}
        unit = self._given.unit(media.get("schema"), (*media.steps, "schema"))
        defs = self._given.small_definitions(unit, _MOST_OF_ANSWER)
        if defs is None or not unit.schema:
            return {}
        return {"output_schema": {**unit.schema, "$defs": defs} if defs else unit.schema}

    def _note_rest(self, operation: Node) -> None:
        """What an operation says beside its call."""
        for key, reason in _NOT_MAPPED.items():
            for name in operation.below(key).value:
                self._document.notes.add("other", (*operation.steps, key, name), reason)
        responses = operation.below("responses")
        for code in responses.value:
            for name in responses.below(code).below("links").value:
                steps = (*responses.steps, code, "links", name)
                self._document.notes.add("other", steps, "links: no tool is called by itself")


def _names_in(path: str, operation: Node) -> list[str]:
    names = _PLACEHOLDER.findall(path)
    if len(names) != len(set(names)) or not all(names):
        raise NotMappedError(operation.steps, "its path names a parameter twice, or none")
    return names


def _url(path: str, request: Request, operation: Node) -> str:
    """The path as a template; what is constant in it is encoded as URLs have it."""
    if not path.startswith("/"):
        raise NotMappedError(operation.steps, "its path does not begin with /")
    if not path.isprintable() or _NOT_IN_PATH.search(_PLACEHOLDER.sub("\0", path)):
        raise NotMappedError(operation.steps, "its path holds what no path of a URL has")
    if DOTS.search(_PLACEHOLDER.sub("x", path)):
        raise NotMappedError(operation.steps, "its path has `.` or `..` segments")
    pieces = _PLACEHOLDER.split(path)
    made = [quote(piece, safe="/%~!$&'()*+,;=:@") for piece in pieces[::2]]
    values = [request.path[name] for name in pieces[1::2]]
    return "".join(map("".join, zip(made, [*values, ""], strict=True)))


def _http(method: str, url: str, request: Request, body: Body) -> dict[str, Any]:
    made: dict[str, Any] = {"method": method.upper(), "url": url}
    headers = {**request.headers, **body.headers}
    if request.query:
        made["query"] = request.query
    if headers:
        made["headers"] = headers
    return {**made, **body.written}


def _tags(operation: Node) -> dict[str, Any]:
    tags = [each for each in operation.items("tags") if isinstance(each, str) and each]
    return {"tags": tags[:20]} if tags else {}


def _deprecated(operation: Node) -> dict[str, Any]:
    if operation.get("deprecated") is not True:
        return {}
    return {"deprecated": "the service says that it is to be used no more"}
