"""Objects whose properties can be arguments of their own, as `allOf` may compose them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.catalog.openapi.refs import Document, Node, Steps

_DEPTH = 8
_SAYS_NOTHING = frozenset(
    ("type", "title", "description", "example", "examples", "xml", "externalDocs", "deprecated",
     "properties", "required", "allOf", "minProperties", "maxProperties", "default",
     "discriminator", "$comment", "propertyNames", "readOnly", "writeOnly")
)  # fmt: skip
_OF_REQUIRED = frozenset({"required", "type", "title", "description", "properties"})


@dataclass(slots=True)
class Flat:
    """The properties of an object, each with its steps, and the names of those that are needed."""

    properties: dict[str, tuple[Any, Steps]] = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    loosened: list[Steps] = field(default_factory=list)


def flat(document: Document, value: Any, steps: Steps) -> Flat | None:
    """The object at `steps`; None for anything that is more, or less, than named properties.

    Where branches only say which of them are needed, that is left to the service (`loosened`).
    """
    made = Flat()
    if not _add(document, value, steps, made, _DEPTH) or not made.properties:
        return None
    return made


def _add(document: Document, value: Any, steps: Steps, made: Flat, depth: int) -> bool:
    node = document.node(value, steps) if isinstance(value, dict) and depth else None
    if node is None or not _is_plain_object(node, made):
        return False
    for name, schema in node.below("properties").value.items():
        if name in made.properties:
            return False
        made.properties[name] = schema, (*node.steps, "properties", name)
    made.required |= dict.fromkeys(_texts(node.items("required")))
    parts = enumerate(node.items("allOf"))
    return all(
        _add(document, part, (*node.steps, "allOf", index), made, depth - 1)
        for index, part in parts
    )


def _is_plain_object(node: Node, made: Flat) -> bool:
    kind = node.get("type")
    if kind not in ("object", None, ["object"]):  # documents may say anything, as a mapping
        return False
    if kind is None and not {"properties", "allOf", "required"} & node.value.keys():
        return False
    return all(_says_nothing(word, each, node, made) for word, each in node.value.items())


def _says_nothing(word: str, value: Any, node: Node, made: Flat) -> bool:
    """Whether a word of an object may be left out where its properties are arguments."""
    if word in _SAYS_NOTHING or word.startswith("x-"):
        return True
    if word in {"nullable", "additionalProperties", "unevaluatedProperties"}:
        return value is False
    is_choice = word in {"anyOf", "oneOf"} and isinstance(value, list)
    if is_choice and all(map(_is_of_required, value)):
        made.loosened.append((*node.steps, word))
        return True
    return False


def _is_of_required(branch: Any) -> bool:
    """Whether a branch only says which properties are needed."""
    if not isinstance(branch, Mapping) or not branch.keys() <= _OF_REQUIRED:
        return False
    return branch.get("type", "object") == "object" and not branch.get("properties")


def _texts(values: Iterable[Any]) -> Iterable[str]:
    return (each for each in values if isinstance(each, str))
