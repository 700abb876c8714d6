"""Two versions of a schema of arguments: what calls that fitted the old one break on the new one.

Looks at what most schemas say: parameters, types, values, bounds, items. What it cannot compare it
counts as breaking, so that somebody looks.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolrt.schemas.canonical import canonical_json
from toolrt.schemas.keywords import ANNOTATIONS, ROLES
from toolrt.schemas.shapes import TYPES, json_type, resolve

_LOWER = frozenset(("exclusiveMinimum", "minItems", "minLength", "minProperties", "minimum"))
_UPPER = frozenset(("exclusiveMaximum", "maxItems", "maxLength", "maxProperties", "maximum"))
_LOOKED_AT = ANNOTATIONS | _LOWER | _UPPER | {
    "$ref", "additionalProperties", "const", "enum", "items", "properties", "required", "type",
}  # fmt: skip

Schema = Mapping[str, Any]


class Difference(NamedTuple):
    """What has changed for a parameter (`to.street`, `stops[]`), and whether calls break on it."""

    path: str
    says: str
    is_breaking: bool


def differences(old: Schema, new: Schema) -> list[Difference]:
    """What a call that fitted `old` meets in `new`, in the order of the parameters."""
    return list(dict.fromkeys(_Comparing(old, new).compared(old, new, "")))


class _Comparing:
    """Two whole schemas, in which references are followed."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self._roots = old, new
        self._seen: set[tuple[int, int]] = set()

    def compared(self, old: Any, new: Any, path: str) -> Iterator[Difference]:
        old, new = (self._opened(each, at) for at, each in enumerate((old, new)))
        both = id(old), id(new)
        if both in self._seen or old is new or new is True:
            return
        self._seen.add(both)
        if old is True:
            old = {}
        if not isinstance(old, Mapping) or not isinstance(new, Mapping):
            yield Difference(path, "it takes other values", is_breaking=True)
            return
        yield from _types(old, new, path)
        yield from _options(old, new, path)
        yield from _bounds(old, new, path)
        yield from _others(old, new, path)
        yield from self._members(old, new, path)
        for word, step in (("items", "[]"), ("additionalProperties", ".*")):
            before, after = old.get(word, True), new.get(word, True)
            if before is not False and isinstance(after, Mapping):
                yield from self.compared(before, after, f"{path}{step}".lstrip("."))

    def _opened(self, schema: Any, at: int) -> Any:
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        found = resolve(self._roots[at], schema["$ref"])
        return found if isinstance(found, Mapping) else schema

    def _members(self, old: Schema, new: Schema, path: str) -> Iterator[Difference]:
        before, after = old.get("properties", {}), new.get("properties", {})
        needed = set(new.get("required", ())) - set(old.get("required", ()))
        is_open = new.get("additionalProperties", True) is not False
        for name in dict.fromkeys([*before, *after]):
            place = f"{path}.{name}" if path else name
            if name not in after:
                yield Difference(place, "it is gone", is_breaking=not is_open)
            elif name in needed:
                yield Difference(place, "it is required now", is_breaking=True)
            elif name not in before:
                yield Difference(place, "it is new, and may be left out", is_breaking=False)
            if name in before and name in after:
                yield from self.compared(before[name], after[name], place)
        if old.get("additionalProperties", True) is not False and not is_open:
            yield Difference(path, "it takes no other names any more", is_breaking=True)


def _types(old: Schema, new: Schema, path: str) -> Iterator[Difference]:
    before, after = _types_of(old), _types_of(new)
    lost = [each for each in before if each not in after]
    more = [each for each in after if each not in before]
    if lost:
        says = f"it takes no {' or '.join(lost)} any more"
        if len(before) == len(TYPES):
            says = f"it takes {' or '.join(after)} only"
        yield Difference(path, says, is_breaking=True)
    elif more:
        says = (
            "it takes any value" if len(after) == len(TYPES) else f"it takes {', '.join(more)}, too"
        )
        yield Difference(path, says, is_breaking=False)


def _types_of(schema: Schema) -> list[str]:
    """The types that a schema takes; an integer is a number."""
    written = schema.get("type")
    if written is None:
        options = _options_of(schema)
        written = TYPES if options is None else list(dict.fromkeys(map(json_type, options)))
    found = [written] if isinstance(written, str) else list(written)
    return [*found, "integer"] if "number" in found and "integer" not in found else found


def _options_of(schema: Schema) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    found: list[Any] | None = schema.get("enum")
    return found


def _options(old: Schema, new: Schema, path: str) -> Iterator[Difference]:
    before, after = _options_of(old), _options_of(new)
    if after is None:
        return
    if before is None:
        yield Difference(path, "it takes certain values only", is_breaking=True)
        return
    known, wanted = ({canonical_json(each) for each in some} for some in (after, before))
    if not wanted <= known:
        yield Difference(path, "it takes fewer values", is_breaking=True)
    elif wanted < known:
        yield Difference(path, "it takes more values", is_breaking=False)


def _bounds(old: Schema, new: Schema, path: str) -> Iterator[Difference]:
    for word in sorted((_LOWER | _UPPER) & (old.keys() | new.keys())):
        before, after = old.get(word), new.get(word)
        if before == after:
            continue
        is_tighter = after is not None and (
            before is None or (after > before if word in _LOWER else after < before)
        )
        yield Difference(path, f"`{word}` is {after if after is not None else 'gone'}", is_tighter)


def _others(old: Schema, new: Schema, path: str) -> Iterator[Difference]:
    """Words that nobody compares here: another one may refuse what was taken."""
    words = (old.keys() | new.keys()) & ROLES.keys() - _LOOKED_AT
    for word in sorted(words):
        if old.get(word) != new.get(word):
            yield Difference(path, f"`{word}` is another", is_breaking=word in new)
