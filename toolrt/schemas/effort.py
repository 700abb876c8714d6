"""How much work a validator may have with a value, told before it begins.

Alternatives multiply: each branch of an `anyOf` looks at the value, and each of its own at what is
inside. A bound is worked out once for each level of a schema; a value then costs what its parts on
each level do, and a long text or number as many of them.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from toolrt.schemas.plain import MAX_DEPTH, MAX_VALUES
from toolrt.schemas.shapes import resolve

_MOST = 10**9
_OPTIONS_PER_LOOK = 20
_BRANCHES = ("anyOf", "oneOf")
_ALONE = ("not", "if", "then", "else")
_MEMBERS = frozenset(("additionalProperties", "additionalItems", "items"))
_MORE_MEMBERS = ("contains", "unevaluatedItems", "unevaluatedProperties")

MANY_VALUES: Final = f"more than {MAX_VALUES:,} values"
LONG_NUMBERS: Final = "too many numbers of hundreds of digits"
_SCALARS = frozenset({str, int, float, bool, type(None)})
_SHORT_BITS = 64
_MOST_LONG = 2**32
"""Sum of the squares of the lengths of long numbers, in bits: comparing two of the longest ones, as
JSON Schema does, takes 2 ms, and some twenty are so many.
"""


class Effort:
    """How often each part of a value is looked at, at most, by the level that it lies on.

    `by_level[0]` is for the value itself; deeper than the list goes nothing is looked at, or the
    last number holds. With `tags`, of branches that differ in a constant only one goes deeper, as
    when a value is checked; without, all do, as when its faults are listed.
    """

    def __init__(self, root: Any, *, tags: bool) -> None:
        self._root = root
        self._tags = tags
        self._known: dict[tuple[int, int], int] = {}
        self.by_level: list[int] = []
        for level in range(MAX_DEPTH + 1):
            self.by_level.append(self._looks(root, level))
            if self.by_level[-1] in {0, _MOST}:
                break

    def of(self, value: Any, most: int, level: int = 0, above: int = 0) -> int:
        """The work with a value on that level; counting ends over `most`. `above` is how often what
        it lies in is looked at.
        """
        work, parts = 0, [value]
        for each in chain(self.by_level[level:], (self.by_level[-1],) * MAX_DEPTH):
            work += each * len(parts)
            if work > most or not parts:
                break
            above += each
            work += each * sum(map(_heft, parts)) if self._tags else above * _repeated(parts)
            parts = list(chain.from_iterable(map(_inside, parts)))
        return work

    def _looks(self, schema: Any, level: int) -> int:
        if not isinstance(schema, dict):
            return int(level == 0)
        key = (id(schema), level)
        if key not in self._known:
            self._known[key] = _MOST  # what leads back here never comes to an end
            self._known[key] = min(_MOST, self._own(schema, level) + self._in_place(schema, level))
        return self._known[key]

    def _own(self, schema: Mapping[str, Any], level: int) -> int:
        if level == 0:
            options = schema.get("enum")
            return 1 + (len(options) // _OPTIONS_PER_LOOK if isinstance(options, list) else 0)
        one = (self._looks(each, level - 1) for each in _members(schema))
        more = (self._looks(each, level - 1) for each in _more_members(schema))
        return max(one, default=0) + sum(more)

    def _in_place(self, schema: Mapping[str, Any], level: int) -> int:
        found = sum(self._looks(each, level) for each in self._parts(schema))
        for word in _BRANCHES:
            branches = schema.get(word)
            if isinstance(branches, list):
                looks = [self._looks(each, level) for each in branches]
                is_one = self._tags and level > 0 and self._are_tagged(branches)
                found += max(looks, default=0) if is_one else sum(looks)
        return found

    def _parts(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        if "$ref" in schema:
            yield resolve(self._root, schema["$ref"])
        yield from _listed(schema.get("allOf"))
        yield from _listed(schema.get("dependentSchemas"))
        yield from (schema[word] for word in _ALONE if word in schema)

    def _are_tagged(self, branches: list[Any]) -> bool:
        """Whether the branches that can hold members differ in a constant of the same name."""
        targets = [self._target(each) for each in branches]
        tags = [_tags(each) for each in targets if isinstance(each, dict) and "properties" in each]
        common = set(tags[0]).intersection(*tags) if tags else set()
        return any(len({each[name] for each in tags}) == len(tags) for name in common)

    def _target(self, schema: Any) -> Any:
        is_reference = isinstance(schema, dict) and "$ref" in schema
        return resolve(self._root, schema["$ref"]) if is_reference else schema


def _tags(schema: Mapping[str, Any]) -> dict[str, str]:
    """The properties that are one text."""
    properties = schema["properties"]
    found = properties.items() if isinstance(properties, dict) else ()
    return {
        name: each["const"]
        for name, each in found
        if isinstance(each, dict) and isinstance(each.get("const"), str)
    }


def _members(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas of members and items; each of those meets one of them."""
    yield from _listed(schema.get("properties"))
    yield from _listed(schema.get("prefixItems"))
    for word in _MEMBERS & schema.keys():
        found = schema[word]
        yield from found if isinstance(found, list) else (found,)


def _more_members(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that a member or an item meets beside those."""
    yield from _listed(schema.get("patternProperties"))
    yield from (schema[word] for word in _MORE_MEMBERS if word in schema)


def _listed(found: Any) -> Iterator[Any]:
    if isinstance(found, dict):
        yield from found.values()
    elif isinstance(found, list):
        yield from found


def excess(value: Any) -> str | None:
    """What a value holds too much of to be looked at in a moment, MANY_VALUES or LONG_NUMBERS; None
    where it does not. Counting ends there, and below the depth that JSON may have.
    """
    count, long, parts = 0, 0, [value]
    for _ in range(MAX_DEPTH + 1):
        numbers = [each.bit_length() for each in parts if type(each) is int]
        if numbers and max(numbers) > _SHORT_BITS:
            long += sum(bits * bits for bits in numbers if bits > _SHORT_BITS)
        parts = _all_inside([each for each in parts if type(each) not in _SCALARS])
        count += len(parts)
        if count > MAX_VALUES or long > _MOST_LONG:
            return MANY_VALUES if count > MAX_VALUES else LONG_NUMBERS
        if not parts:
            break
    return None


def _all_inside(parts: list[Any]) -> list[Any]:
    """What is in all of them, until that is too much."""
    found: list[Any] = []
    for part in parts:
        found += _inside(part)
        if len(found) > MAX_VALUES:
            break
    return found


def _heft(value: Any) -> int:
    """How many more values it takes the time of, when it is checked."""
    kind = type(value)
    if kind is str:
        return len(value) >> 6
    bits = value.bit_length() if kind is int else 0
    return bits << 3 if bits > _SHORT_BITS else 0


def _repeated(parts: list[Any]) -> int:
    """The same for being told in a fault, which repeats all that is inside what it is about."""
    return (len(parts) >> 4) + (sum(map(_heft, parts)) >> 5)


def _inside(value: Any) -> Any:
    """What is in a value, whatever its type says of it: that is code of its author."""
    kind = type(value)
    if kind is list:
        return value
    if issubclass(kind, dict):
        return dict.values(value)
    if issubclass(kind, list):
        return list.__iter__(value)
    return tuple.__iter__(value) if issubclass(kind, tuple) else ()
