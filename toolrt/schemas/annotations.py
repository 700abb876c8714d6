"""Types of parameters: which ones are JSON already, which are models, which need a rewrite.

Most tools take texts and numbers. Their schema is known without pydantic, and the values that
JSON Schema has checked are the values that the function wants.
"""

import collections.abc
import dataclasses
import enum
import inspect
import sys
import types
import typing
from typing import Any, NotRequired, Required

from typing_extensions import TypedDict, get_type_hints, is_typeddict

from toolrt.schemas.foreign import ForeignError
from toolrt.schemas.plain import MAX_DEPTH

_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    typing.LiteralString: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    list: {"type": "array", "items": {}},
    dict: {"type": "object", "additionalProperties": True},
    Any: {},
    object: {},
}
_BY_IDENTITY = {id(annotation): schema for annotation, schema in _SIMPLE.items()}
"""So that no metaclass of a user's has a say in the look-up."""
_UNIONS = (typing.Union, types.UnionType)
_LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)
_MAPPINGS = (dict, collections.abc.Mapping)
_MOST_PARTS = 2_000
_LONGEST_SHOWN = 120
_CHECKED_BY_SCHEMA = frozenset({"Ge", "Gt", "Le", "Lt", "MultipleOf", "MinLen", "MaxLen", "Len"})


def plain_schema(annotation: Any) -> dict[str, Any] | None:
    """The schema of a type whose JSON value is its Python value; None when it may be another."""
    simple = _BY_IDENTITY.get(id(annotation))
    if simple is not None:
        return dict(simple)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        return None
    if origin is typing.Literal:
        return _choice(inner)
    if origin in _UNIONS:
        branches = [plain_schema(each) for each in inner]
        return None if None in branches else {"anyOf": branches}
    if origin in _LISTS:
        items = plain_schema(inner[0]) if inner else {}
        return None if items is None else {"type": "array", "items": items}
    if origin in _MAPPINGS and (not inner or inner[0] is str):
        values = plain_schema(inner[1]) if len(inner) > 1 else {}
        return None if values is None else {**_SIMPLE[dict], "additionalProperties": values or True}
    return None


def why_not_read(annotation: Any) -> str | None:
    """Why a type is not even tried: it is huge, or means something in a class only."""
    if id(annotation) in _BY_IDENTITY:
        return None
    level, parts = [annotation], 0
    for _ in range(MAX_DEPTH):
        if any(each is typing.Self for each in level):
            return "`Self` says nothing in a parameter: name the class"
        parts += len(level)
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return None
        if parts > _MOST_PARTS:
            break
    return f"it is nested deeper than {MAX_DEPTH} levels, or has more than {_MOST_PARTS:,} parts"


def _inside(annotation: Any) -> tuple[Any, ...]:
    """The types in a type; the options of a Literal and the metadata of Annotated are none."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ()
    return inner[:1] if origin is typing.Annotated else inner


def is_plain(annotation: Any) -> bool:
    """Whether JSON Schema's word is enough: the checked JSON value is what the function wants."""
    if id(annotation) in _BY_IDENTITY:
        return True
    if typing.get_origin(annotation) is not typing.Annotated:
        return plain_schema(annotation) is not None
    bare, *metadata = typing.get_args(annotation)
    return plain_schema(bare) is not None and all(_is_checked_by_schema(each) for each in metadata)


def is_model(annotation: Any) -> bool:
    """Whether a type is a record of named fields: its fields can be the tool's parameters."""
    bare = without_metadata(annotation)
    cls = typing.get_origin(bare) or bare
    if is_typeddict(cls) or dataclasses.is_dataclass(cls):
        return True
    return hasattr(cls, "model_fields") and not getattr(cls, "__pydantic_root_model__", False)


def field_names(annotation: Any) -> frozenset[str]:
    """The JSON names of a record type's fields."""
    bare = without_metadata(annotation)
    cls = typing.get_origin(bare) or bare
    if dataclasses.is_dataclass(cls):
        return frozenset(each.name for each in dataclasses.fields(cls) if each.init)
    if is_typeddict(cls):
        return frozenset(cls.__annotations__)
    fields = cls.model_fields.items()
    return frozenset(each.validation_alias or each.alias or name for name, each in fields)


def without_metadata(annotation: Any) -> Any:
    """The type inside `Annotated[…]`."""
    if typing.get_origin(annotation) is typing.Annotated:
        return typing.get_args(annotation)[0]
    return annotation


def optional(annotation: Any) -> Any:
    """The same type, or None: what a default of None means."""
    if typing.get_origin(annotation) is typing.Annotated:
        bare, *metadata = typing.get_args(annotation)
        return typing.Annotated[(optional(bare), *metadata)]
    inner = typing.get_args(annotation) if typing.get_origin(annotation) in _UNIONS else ()
    return typing.Union[(*(inner or (annotation,)), type(None))]  # in the order that is written


def readable(annotation: Any) -> Any:
    """A type that pydantic reads from JSON as a function's author means it.

    A literal of an enum's member is written as that member's value, an iterable is a list, and
    before Python 3.12 pydantic takes TypedDict from typing_extensions only. Raises ForeignError for
    a class as a value, which nothing in JSON can be.
    """
    if annotation is type or typing.get_origin(annotation) is type:
        raise ForeignError
    if sys.version_info < (3, 12) and is_typeddict(annotation):
        return _other_typed_dict(annotation)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return _literal(annotation, inner)
    if origin is typing.Annotated:
        bare = readable(inner[0])
        return annotation if bare is inner[0] else typing.Annotated[(bare, *inner[1:])]
    if origin in _UNIONS:
        return typing.Union[tuple(map(readable, inner))]  # noqa: UP007 - their number varies
    if origin in {collections.abc.Iterable, list} and inner:
        return types.GenericAlias(list, (readable(inner[0]),))
    return annotation


def unqualified(annotation: Any) -> Any:
    """The type inside `Required[…]` or `NotRequired[…]`."""
    is_qualified = typing.get_origin(annotation) in {Required, NotRequired}
    return typing.get_args(annotation)[0] if is_qualified else annotation


def shown(annotation: Any) -> str:
    """A type as people write it."""
    if inspect.isroutine(annotation) or inspect.isclass(annotation):
        return str(annotation.__name__)
    text = str(annotation).replace("typing.", "").replace("collections.abc.", "")
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _choice(values: tuple[Any, ...]) -> dict[str, Any] | None:
    if not all(type(value) is str for value in values):
        return None
    if len(values) == 1:
        return {"const": values[0], "type": "string"}
    return {"enum": list(values), "type": "string"}


def _is_checked_by_schema(metadata: Any) -> bool:
    """Whether a part of `Annotated[…]` says nothing beyond what JSON Schema can check."""
    kind = type(metadata)
    if kind is str:
        return True
    if kind.__module__ == "annotated_types":
        return kind.__name__ in _CHECKED_BY_SCHEMA
    if kind.__module__ != "pydantic.fields" or metadata.is_required() is False:
        return False
    return all(_is_checked_by_schema(each) for each in metadata.metadata)


def _other_typed_dict(cls: Any) -> Any:
    required = cls.__required_keys__
    hints = get_type_hints(cls, include_extras=True).items()
    fields = {
        name: each if name in required else NotRequired[each]
        for name, each in ((name, readable(unqualified(each))) for name, each in hints)
    }
    make = typing.cast("collections.abc.Callable[[str, Any], Any]", TypedDict)
    made = make(cls.__name__, fields)
    made.__doc__, made.__module__ = cls.__doc__, cls.__module__
    if hasattr(cls, "__pydantic_config__"):
        made.__pydantic_config__ = cls.__pydantic_config__
    return made


def _literal(annotation: Any, values: tuple[Any, ...]) -> Any:
    members = {value.value: value for value in values if isinstance(value, enum.Enum)}
    if not members or all(isinstance(value, str | int) for value in members.values()):
        return annotation
    from pydantic import BeforeValidator  # noqa: PLC0415 - only literals of enums need it

    return typing.Annotated[annotation, BeforeValidator(lambda given: members.get(given, given))]
