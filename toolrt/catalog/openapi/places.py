"""How parameters are written into a request, by place, style and explode (RFC 6570's forms).

What comes out are templates of the http kind, which escape each value for its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolrt.catalog.openapi.refs import Document, Node, Steps

_STYLES: Final[Mapping[str, str]] = {
    "path": "simple", "query": "form", "header": "simple", "cookie": "form",
}  # fmt: skip
_SEPARATORS: Final[Mapping[str, str]] = {
    "form": ",", "simple": ",", "spaceDelimited": " ", "pipeDelimited": "|",
}  # fmt: skip


class UnsupportedError(Exception):
    """A parameter that cannot be written; the message says why."""


@dataclass(slots=True)
class Request:
    """What of a request holds values: path placeholders, query and headers, each a template."""

    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Style:
    """How one parameter is written: its place, style and shape, which is `scalar`, `array`, `mixed`
    of these two, `object` or `json`.
    """

    place: str
    style: str
    explode: bool
    shape: str
    items: str = "scalar"


def style_of(document: Document, node: Node, place: str) -> Style:
    """The style of a parameter, or of a property of a form. Raises UnsupportedError."""
    if isinstance(node.get("content"), dict):
        kinds = list(node.get("content"))
        if len(kinds) != 1 or not is_json(kinds[0]):
            raise UnsupportedError("its content is not JSON")
        return Style(place, "form", explode=False, shape="json")
    style = node.text("style") or _STYLES[place]
    explode = node.get("explode")
    is_exploded = explode if isinstance(explode, bool) else style == "form"
    value, steps = node.get("schema"), (*node.steps, "schema")
    shape = shape_of(document, value, steps)
    return Style(place, style, is_exploded, shape, items_of(document, value, steps))


def written(style: Style, name: str, argument: str, *, required: bool) -> dict[str, str]:
    """Names of the request and their templates for one argument. Raises UnsupportedError."""
    if style.shape == "json":
        return {name: _filtered(argument, "json", required=required)}
    if style.shape == "scalar":
        if style.style not in {*_STYLES.values(), "deepObject"}:
            raise UnsupportedError(f"style `{style.style[:40]}` is for lists and objects")
        return {name: f"{{{{ {argument} }}}}"}
    if style.style == "deepObject":
        return {_deep(style, name): f"{{{{ {argument} }}}}"}
    if style.shape == "object":
        raise UnsupportedError(f"an object in style `{style.style[:40]}`")
    return {name: _listed(style, argument, required=required)}


def shape_of(document: Document, value: Any, steps: Steps, depth: int = 5) -> str:
    """Whether a value is a `scalar`, an `array` or an `object`, as far as the schema says."""
    node = document.node(value, steps) if isinstance(value, dict) and depth else None
    if node is None:
        return "scalar"
    kind = node.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "array" in kinds or "object" in kinds:
        return "object" if "object" in kinds else "array"
    if kind is None and "properties" in node.value:
        return "object"
    found = {
        shape_of(document, each, (*node.steps, word, index), depth - 1)
        for word in ("allOf", "anyOf", "oneOf")
        for index, each in enumerate(node.items(word))
    }
    return _shape_of_branches(found)


def _shape_of_branches(found: set[str]) -> str:
    """One shape, as far as it can be told; `mixed` for lists and scalars."""
    if "object" in found:
        return "object"
    if "mixed" in found or len(found) > 1:
        return "mixed"
    return next(iter(found), "scalar")


def items_of(document: Document, value: Any, steps: Steps) -> str:
    """The shape of the items of an array."""
    node = document.node(value, steps) if isinstance(value, dict) else None
    if node is None or not isinstance(node.get("items"), dict):
        return "scalar"
    return shape_of(document, node.get("items"), (*node.steps, "items"))


def is_json(media_type: str) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith(("+json", "/json"))


def _deep(style: Style, name: str) -> str:
    """`a[b]=x` is what an object is written as; lists of scalars get the brackets of lists."""
    return f"{name}[]" if style.shape == "array" and style.items == "scalar" else name


def _listed(style: Style, argument: str, *, required: bool) -> str:
    if style.place == "query" and style.explode and style.style == "form":
        return f"{{{{ {argument} }}}}"
    separator = _SEPARATORS.get(style.style)
    if separator is None:
        raise UnsupportedError(f"style `{style.style[:40]}`")
    if style.shape == "mixed" and not style.explode:
        raise UnsupportedError("a list or a single value, joined by separators")
    if style.explode and style.place == "query":
        return f"{{{{ {argument} }}}}"
    return _filtered(argument, f"join('{separator}')", required=required)


def _filtered(argument: str, filter_: str, *, required: bool) -> str:
    if required:
        return f"{{{{ {argument} | {filter_} }}}}"
    return f"{{{{ {argument} | {filter_} if {argument} is defined }}}}"
