"""What a schema says about one value: its types, its members, its default.

A validator only says yes or no. A `Shape` is what else must be known to fill in defaults, drop
nulls, write integers as integers, take text for a number, hide sensitive values and name members.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

from toolrt.core.redaction import MASK

Schema = Mapping[str, Any] | bool

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
NOTHING = object()
"""Stands for "no default": None is a value."""

_JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """One schema with its references, `allOf` and alternatives followed.

    `types` is None when any type will do. A default of one alternative among several is none.
    """

    types: frozenset[str] | None = None
    properties: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: Schema = True
    items: Schema = True
    first_items: tuple[Schema, ...] = ()
    default: Any = NOTHING
    examples: tuple[Any, ...] = ()
    is_sensitive: bool = False

    @property
    def may_be_null(self) -> bool:
        return self.types is None or "null" in self.types

    @property
    def is_integer(self) -> bool:
        """A number here is a whole one."""
        return self.types is not None and "integer" in self.types and "number" not in self.types

    @property
    def can_hold_members(self) -> bool:
        return self.types is None or not self.types.isdisjoint(("object", "array"))

    def takes_only(self, *types: str) -> bool:
        """Whether no value fits but of these types, null aside."""
        return (
            self.types is not None
            and bool(self.types - {"null"})
            and self.types
            <= {
                *types,
                "null",
            }
        )


ANYTHING = Shape()


def without_sensitive(schema: Schema, value: Any) -> Any:
    """`value` with every sensitive part of it masked; names and the shape stay."""
    shapes = Shapes(schema)

    def shown(value: Any, shape: Shape) -> Any:
        if shape.is_sensitive:
            return _masked(value)
        if isinstance(value, dict):
            return {name: shown(each, shapes.member(shape, name)) for name, each in value.items()}
        if isinstance(value, list):
            return [shown(each, shapes.member(shape, at)) for at, each in enumerate(value)]
        return value

    return shown(value, shapes.of(schema))


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _masked(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return value if value is None else MASK


class Shapes:
    """The shapes inside one schema, read when first asked for."""

    __slots__ = ("_known", "_open", "root")

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._known: dict[int, Shape] = {}
        self._open: set[int] = set()

    def of(self, schema: Schema) -> Shape:
        """The shape of `schema`, which is the root or stands inside it."""
        if not isinstance(schema, dict):
            return ANYTHING
        key = id(schema)
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._open:
            return ANYTHING
        self._open.add(key)
        made = self._known[key] = self._read(schema)
        self._open.discard(key)
        return made

    def member(self, shape: Shape, step: str | int) -> Shape:
        """The shape of a property or an item of a value of `shape`."""
        if isinstance(step, str):
            return self.of(shape.properties.get(step, shape.additional))
        if step < len(shape.first_items):
            return self.of(shape.first_items[step])
        return self.of(shape.items)

    def along(self, path: Iterable[str | int]) -> Iterator[Shape]:
        """The shapes from the root to the value at `path`, both included."""
        shape = self.of(self.root)
        yield shape
        for step in path:
            shape = self.member(shape, step)
            yield shape

    def _read(self, schema: Mapping[str, Any]) -> Shape:
        shape = _own(schema)
        for part in self._parts(schema):
            shape = _both(shape, self.of(part))
        for word in ("anyOf", "oneOf"):
            branches = schema.get(word)
            if isinstance(branches, list) and branches:
                shape = _both(shape, _either([self.of(branch) for branch in branches]))
        return shape

    def _parts(self, schema: Mapping[str, Any]) -> Iterator[Schema]:
        if "$ref" in schema:
            yield cast("Schema", resolve(self.root, schema["$ref"]))
        parts = schema.get("allOf")
        if isinstance(parts, list):
            yield from parts


def json_type(value: Any) -> str:
    """The JSON Schema type of a plain value; a float without a fraction is an integer.

    Empty for what is no JSON.
    """
    if type(value) is float and value.is_integer():
        return "integer"
    return _JSON_TYPES.get(type(value), "")


def resolve(root: Any, ref: Any) -> Any:
    """What a `#/…` reference points to inside `root`; None when it is another kind or dangles."""
    if ref == "#":
        return root
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return None
    return at(root, [unescaped(token) for token in ref[2:].split("/")])


def unescaped(token: str) -> str:
    """One step of a JSON pointer in a URI fragment (RFC 6901, sections 4 and 6)."""
    if "%" in token:
        token = unquote(token)
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def at(value: Any, path: Iterable[str | int]) -> Any:
    """The value at `path`, or None."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _own(schema: Mapping[str, Any]) -> Shape:
    properties = schema.get("properties")
    items = schema.get("items", True)
    first = schema.get("prefixItems", items if isinstance(items, list) else ())
    if isinstance(items, list):
        items = schema.get("additionalItems", True)
    required = schema.get("required")
    examples = schema.get("examples")
    return Shape(
        types=_types(schema),
        properties=properties if isinstance(properties, dict) else {},
        required=tuple(required) if isinstance(required, list) else (),
        additional=schema.get("additionalProperties", True),
        items=items,
        first_items=tuple(first) if isinstance(first, list) else (),
        default=schema.get("default", NOTHING),
        examples=tuple(examples) if isinstance(examples, list) else (),
        is_sensitive=schema.get("sensitive") is True,
    )


def _types(schema: Mapping[str, Any]) -> frozenset[str] | None:
    written = schema.get("type")
    if isinstance(written, str):
        return frozenset((written,))
    if isinstance(written, list):
        return frozenset(written)
    if "const" in schema:
        return frozenset((json_type(schema["const"]),))
    options = schema.get("enum")
    if isinstance(options, list):
        return frozenset(json_type(option) for option in options)
    return None


def _both(one: Shape, other: Shape) -> Shape:
    """A value that is of both shapes; what `one` says comes first."""
    if other is ANYTHING:
        return one
    return Shape(
        types=_common(one.types, other.types),
        properties={**other.properties, **one.properties},
        required=(*one.required, *other.required),
        additional=one.additional if one.additional is not True else other.additional,
        items=one.items if one.items is not True else other.items,
        first_items=one.first_items or other.first_items,
        examples=one.examples or other.examples,
        default=one.default if one.default is not NOTHING else other.default,
        is_sensitive=one.is_sensitive or other.is_sensitive,
    )


def _common(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return one if other is None else other
    common = one & other
    if "integer" in one | other and "number" in one | other:
        common |= {"integer"}
    return common


def _either(branches: list[Shape]) -> Shape:
    """A value of at least one of the shapes; members are of any branch that can hold them."""
    types: frozenset[str] | None = frozenset()
    for branch in branches:
        types = None if types is None or branch.types is None else types | branch.types
    holders = [branch for branch in branches if branch.can_hold_members]
    names = dict.fromkeys(name for branch in holders for name in branch.properties)
    items = [item for branch in holders for item in (*branch.first_items, branch.items)]
    return Shape(
        types=types,
        properties={
            name: _any_of([branch.properties.get(name, branch.additional) for branch in holders])
            for name in names
        },
        additional=_any_of([branch.additional for branch in holders]),
        items=_any_of(items),
        is_sensitive=any(branch.is_sensitive for branch in branches),
    )


def _any_of(schemas: list[Schema]) -> Schema:
    if len(schemas) == 1:
        return schemas[0]
    return {"anyOf": schemas} if schemas else True
