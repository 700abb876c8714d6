"""One of several in a vendor's subset: null beside a type, and values of several types."""

from typing import Any, Final

from toolrt.schemas.profiles import Profile
from toolrt.schemas.shapes import json_type

NULL: Final = {"type": "null"}
ONE_OF_MOST: Final = {
    "anyOf": [{"type": kind} for kind in ("string", "number", "boolean", "object")]
}
"""Stands for any value where a vendor wants types; a list would have to say what is in it."""


def nullable(made: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """The schema that takes null as well."""
    kind = made.get("type")
    if kind == "null" or NULL in made.get("anyOf", ()):
        return made
    if isinstance(kind, list):
        return made if "null" in kind else {**made, "type": [*kind, "null"]}
    if kind and profile.has_type_lists and "const" not in made:
        both = {**made, "type": [kind, "null"]}
        if "enum" in made and type(None) in profile.option_types:
            both["enum"] = [*made["enum"], None]
        return both
    inner = {word: value for word, value in made.items() if word != "description"}
    said = {"description": made["description"]} if "description" in made else {}
    return {"anyOf": [*inner.get("anyOf", [inner]), dict(NULL)], **said}


def by_type(options: list[Any], *, has_const: bool) -> dict[str, Any]:
    """Values of one type under that type; those of several are alternatives."""
    by_type: dict[str, list[Any]] = {}
    for each in options:
        by_type.setdefault(json_type(each), []).append(each)
    parts = [
        {"type": kind, "const": some[0]} if has_const else {"type": kind, "enum": some}
        for kind, some in by_type.items()
    ]
    return parts[0] if len(parts) == 1 else {"anyOf": parts}
