"""Every awkward signature: right in the schema and in the call, or one clear diagnostic."""

import enum
import functools
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NotRequired, Optional, TypedDict, Union, Unpack

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

from toolrt.core.errors import RefusedError
from toolrt.core.faults import FaultError
from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.functions import describe_function
from toolrt.schemas.signatures import place_of

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
HERE = Path(__file__).parent


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: int = 0
    seen: date | None = None


class Node(BaseModel):
    """A tree."""

    name: str
    children: list["Node"] = []


class Address(TypedDict):
    street: str
    since: NotRequired[date]


class Paging(TypedDict, total=False):
    page: int
    until: date


def none_default(a: str, b: int | None = None, c: Optional[date] = None):  # noqa: UP045
    return a, b, c


def implicit_none(when: date = None):  # noqa: RUF013
    return when


def union(value: Union[int, str], more: int | list[date]):  # noqa: UP007
    return value, more


def literal_and_enum(
    unit: Literal["metric", "imperial"], color: Color, level: Level, only: Literal[Color.RED]
):
    return unit, color, level, only


def dataclass_single(point: Point):
    return point


def dataclass_and_other(point: Point, scale: int = 2):
    return point, scale


def recursive_model(root: Node, depth: int):
    return root, depth


def recursive_model_single(node: Node):
    return node


def typed_dict(home: Address, note: str = ""):
    return home, note


def star_args(first: str, second: int = 7, *days: date):
    return first, second, days


def star_kwargs(first: str, **more: date):
    return first, more


def unpacked_kwargs(first: str, **more: Unpack[Paging]):
    return first, more


def positional_only(a: int, b: int = 2, /, c: date = date(2026, 1, 1)):
    return a, b, c


def default_factory(
    tags: Annotated[list[str], Field(default_factory=lambda: ["new"])],
    days: set[int] = Field(default_factory=set),  # noqa: B008 - the row's subject
    limit: int = Field(5, ge=1, description="How many."),
):
    return tags, days, limit


def rich_scalars(when: datetime, key: uuid.UUID, price: Decimal, path: Path):
    return when, key, price, path


def raw_bytes(data: bytes, parts: list[bytes]):
    return data, parts


def constrained(
    count: Annotated[int, Field(ge=1, le=9, description="How many.")],
    name: Annotated[str, Field(min_length=2)] = "ab",
):
    return count, name


def forward_ref(late: "Late", lates: "list[Late]"):
    return late, lates


class Late(BaseModel):
    n: int


async def coroutine(n: int):
    return n


class Kit:
    base = 10

    def method(self, n: int):
        return self.base + n

    @classmethod
    def of_class(cls, n: int):
        return cls.base + n

    @staticmethod
    def static(n: int):
        return n


class Doubler:
    """Doubles."""

    def __call__(self, n: int):
        return 2 * n


def multiply(a: int, b: int, when: date = date(2026, 1, 1)):
    """Multiply.

    Args:
        a: The first.
    """
    return a * b, when


def bound_secret(query: str, *, admin: bool = False, **more: str):
    return query, admin, more


def with_wraps(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        return fn(*args, **kwargs)

    return inner


def without_wraps(fn):
    def inner(*args, **kwargs):
        return fn(*args, **kwargs)

    return inner


def odd_names(_a: int, schema: str, model_config: date, title: str, copy: int = 1, json: str = ""):
    return _a, schema, model_config, title, copy, json


def named_self(self: int, cls: str = "c"):
    return self, cls


def aliased(from_: Annotated[date, Field(alias="from")], to: str):
    return from_, to


def callable_with_default(n: int, key: Callable[[int], int] = abs):
    return n, key


def no_parameters():
    return "done"


def containers(
    pair: tuple[int, date], days: set[date], by_name: dict[str, Point], n: frozenset[int]
):
    return pair, days, by_name, n


def needs_callable(n: int, key: Callable[[int], int]):
    return key(n)


def needs_class(kind: type[int]):
    return kind


def unresolvable(n: int, other: "Missing"):  # noqa: F821
    return n, other


class Opaque:
    pass


def two_bad(a: Opaque, b: Callable[[], int], c: int):
    return a, b, c


def generates(n: int):
    yield n


WHEN = date(2026, 1, 31)
KEY = uuid.UUID(int=7)

RIGHT = [
    pytest.param(
        none_default,
        {"a": STRING, "b": {"anyOf": [INTEGER, {"type": "null"}], "default": None}},
        {"a": "x", "c": "2026-01-31"},
        ("x", None, WHEN),
        [{"a": "x", "b": "1"}, {"a": None}],
        id="Optional/None default",
    ),
    pytest.param(
        implicit_none,
        {
            "when": {
                "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                "default": None,
            }
        },
        {"when": None},
        None,
        [{"when": 1}],
        id="None default without Optional",
    ),
    pytest.param(
        union,
        {"value": {"anyOf": [INTEGER, STRING]}},
        {"value": "1", "more": ["2026-01-31"]},
        ("1", [WHEN]),
        [{"value": 1.5, "more": 1}],
        id="Union",
    ),
    pytest.param(
        literal_and_enum,
        {"unit": {"enum": ["metric", "imperial"], **STRING}, "only": {"const": "red", **STRING}},
        {"unit": "metric", "color": "blue", "level": 2, "only": "red"},
        ("metric", Color.BLUE, Level.HIGH, Color.RED),
        [{"unit": "metric", "color": "green", "level": 2, "only": "red"}],
        id="Literal / Enum",
    ),
    pytest.param(
        dataclass_single,
        {"x": INTEGER, "y": {"default": 0, **INTEGER}},
        {"x": 1, "seen": "2026-01-31"},
        Point(1, 0, WHEN),
        [{"x": "a"}, {"point": {"x": 1}}, {"x": 1, "z": 2}],
        id="dataclass single",
    ),
    pytest.param(
        dataclass_and_other,
        {"point": {"$ref": "#/$defs/Point"}, "scale": {"default": 2, **INTEGER}},
        {"point": {"x": 1}, "scale": 3},
        (Point(1, 0), 3),
        [{"point": {"y": 1}}],
        id="dataclass + other",
    ),
    pytest.param(
        recursive_model,
        {"root": {"$ref": "#/$defs/Node"}, "depth": INTEGER},
        {"root": {"name": "a", "children": [{"name": "b"}]}, "depth": 1},
        (Node(name="a", children=[Node(name="b")]), 1),
        [{"root": {"name": "a", "children": [{}]}, "depth": 1}],
        id="nested recursive BaseModel",
    ),
    pytest.param(
        recursive_model_single,
        {
            "name": STRING,
            "children": {"default": [], "items": {"$ref": "#/$defs/Node"}, "type": "array"},
        },
        {"name": "a", "children": [{"name": "b"}]},
        Node(name="a", children=[Node(name="b")]),
        [{"name": "a", "children": [{}]}, {"node": {"name": "a"}}],
        id="recursive BaseModel single",
    ),
    pytest.param(
        typed_dict,
        {"home": {"$ref": "#/$defs/Address"}, "note": {"default": "", **STRING}},
        {"home": {"street": "a", "since": "2026-01-31"}},
        ({"street": "a", "since": WHEN}, ""),
        [{"home": {"since": "2026-01-31"}}],
        id="TypedDict/NotRequired",
    ),
    pytest.param(
        star_args,
        {"days": {"type": "array", "items": {"type": "string", "format": "date"}}},
        {"first": "x", "days": ["2026-01-31"]},
        ("x", 7, (WHEN,)),
        [{"first": "x", "days": "2026-01-31"}, {"first": "x", "days": [1]}],
        id="*args",
    ),
    pytest.param(
        star_kwargs,
        {"first": STRING},
        {"first": "x", "a": "2026-01-31"},
        ("x", {"a": WHEN}),
        [{"first": "x", "a": 1}],
        id="**kwargs",
    ),
    pytest.param(
        unpacked_kwargs,
        {"first": STRING, "page": INTEGER},
        {"first": "x", "until": "2026-01-31"},
        ("x", {"until": WHEN}),
        [{"first": "x", "page": "1"}, {"first": "x", "other": 1}],
        id="**kwargs: Unpack[TypedDict]",
    ),
    pytest.param(
        positional_only,
        {"a": INTEGER, "c": {"type": "string", "format": "date", "default": "2026-01-01"}},
        {"a": 1, "c": "2026-01-31"},
        (1, 2, WHEN),
        [{"b": 1}],
        id="positional-only",
    ),
    pytest.param(
        default_factory,
        {"limit": {"default": 5, "minimum": 1, "description": "How many.", **INTEGER}},
        {},
        (["new"], set(), 5),
        [{"tags": "a"}, {"limit": 0}],
        id="default_factory",
    ),
    pytest.param(
        rich_scalars,
        {"when": {"type": "string", "format": "date-time"}, "path": STRING},
        {"when": "2026-01-31T12:00:00Z", "key": str(KEY), "price": "1.10", "path": "a/b"},
        (datetime(2026, 1, 31, 12, tzinfo=UTC), KEY, Decimal("1.10"), Path("a/b")),
        [{"when": "soon", "key": str(KEY), "price": "1", "path": "a"}],
        id="datetime/UUID/Decimal/Path",
    ),
    pytest.param(
        raw_bytes,
        {"data": {"type": "string", "contentEncoding": "base64"}},
        {"data": "+/+/", "parts": ["aGk="]},
        (b"\xfb\xff\xbf", [b"hi"]),
        [{"data": "not base64!", "parts": []}],
        id="bytes",
    ),
    pytest.param(
        constrained,
        {"count": {"minimum": 1, "maximum": 9, "description": "How many.", **INTEGER}},
        {"count": 9},
        (9, "ab"),
        [{"count": 0}, {"count": 1, "name": "a"}],
        id="Annotated ge/le",
    ),
    pytest.param(
        forward_ref,
        {"late": {"$ref": "#/$defs/Late"}},
        {"late": {"n": 1}, "lates": [{"n": 2}]},
        (Late(n=1), [Late(n=2)]),
        [{"late": {}, "lates": []}],
        id="forward ref",
    ),
    pytest.param(coroutine, {"n": INTEGER}, {"n": 1}, 1, [{"n": "1"}], id="async"),
    pytest.param(Kit().method, {"n": INTEGER}, {"n": 1}, 11, [{}], id="method"),
    pytest.param(
        Kit.of_class, {"n": INTEGER}, {"n": 1}, 11, [{"cls": 1, "n": 1}], id="classmethod"
    ),
    pytest.param(Kit.static, {"n": INTEGER}, {"n": 1}, 1, [{}], id="static method"),
    pytest.param(
        Doubler(), {"n": INTEGER}, {"n": 2}, 4, [{"self": 1, "n": 1}], id="callable object"
    ),
    pytest.param(
        functools.partial(multiply, b=3),
        {"a": {"description": "The first.", **INTEGER}},
        {"a": 2, "when": "2026-01-31"},
        (6, WHEN),
        [{"a": 2, "b": 1}],
        id="functools.partial",
    ),
    pytest.param(
        functools.partial(bound_secret, admin=False),
        {"query": STRING},
        {"query": "q", "x": "y"},
        ("q", False, {"x": "y"}),
        [{"query": "q", "admin": "yes"}],
        id="functools.partial with **kwargs",
    ),
    pytest.param(
        with_wraps(multiply),
        {"a": {"description": "The first.", **INTEGER}, "b": INTEGER},
        {"a": 2, "b": 3, "when": "2026-01-31"},
        (6, WHEN),
        [{"a": 2}],
        id="decorated with wraps",
    ),
    pytest.param(
        odd_names,
        {"_a": INTEGER, "schema": STRING, "title": STRING},
        {"_a": 1, "schema": "s", "model_config": "2026-01-31", "title": "t"},
        (1, "s", WHEN, "t", 1, ""),
        [{"_a": "1", "schema": "s", "model_config": "2026-01-31", "title": "t"}],
        id="_a/schema/model_config names",
    ),
    pytest.param(
        named_self,
        {"self": INTEGER, "cls": {"default": "c", **STRING}},
        {"self": 1},
        (1, "c"),
        [{"cls": "x"}],
        id="param named self (function)",
    ),
    pytest.param(
        aliased,
        {"from": {"type": "string", "format": "date"}},
        {"from": "2026-01-31", "to": "x"},
        (WHEN, "x"),
        [{"from_": "2026-01-31", "to": "x"}],
        id="aliased",
    ),
    pytest.param(
        callable_with_default,
        {"n": INTEGER},
        {"n": 1},
        (1, abs),
        [{"n": 1, "key": "x"}],
        id="Callable param with a default",
    ),
    pytest.param(no_parameters, {}, {}, "done", [{"a": 1}], id="no parameters"),
    pytest.param(
        containers,
        {"n": {"items": INTEGER, "type": "array", "uniqueItems": True}},
        {"pair": [1, "2026-01-31"], "days": ["2026-01-31"], "by_name": {"p": {"x": 1}}, "n": [1]},
        ((1, WHEN), {WHEN}, {"p": Point(1)}, frozenset({1})),
        [{"pair": [1], "days": [], "by_name": {}, "n": []}],
        id="set/tuple/dict",
    ),
]

WRONG = [
    pytest.param(
        needs_callable,
        "unsupported-parameter",
        r"parameter `key` of `needs_callable` \(test_awkward_signatures\.py:\d+\)",
        "functools.partial",
        id="Callable param",
    ),
    pytest.param(
        needs_class,
        "unsupported-parameter",
        r"parameter `kind` of `needs_class` \(.*\): `type\[int\]` has no JSON form",
        "give it a default",
        id="class param",
    ),
    pytest.param(
        without_wraps(multiply),
        "unreadable-signature",
        r"`inner` \(test_awkward_signatures\.py:\d+\) takes only \*args and \*\*kwargs",
        "functools.wraps",
        id="decorated no wraps",
    ),
    pytest.param(
        unresolvable,
        "unsupported-parameter",
        r"parameter `other` of `unresolvable` \(.*\): its type cannot be resolved \(.*Missing.*\)",
        "import the type",
        id="unresolvable forward ref",
    ),
    pytest.param(
        Kit.method,
        "unbound-method",
        r"`method` \(.*\) is a method of `Kit`, without an object",
        "call: method",
        id="method without an object",
    ),
    pytest.param(
        generates,
        "unsupported-result",
        r"`generates` \(.*\) is a generator function",
        "return a list",
        id="generator function",
    ),
    pytest.param(
        max,
        "unreadable-signature",
        r"the signature of `max` cannot be read",
        "write `parameters`",
        id="builtin without a signature",
    ),
]


def call(fn, described, arguments):
    args, kwargs = described.bind(arguments)
    value = fn(*args, **kwargs)
    if not hasattr(value, "send"):
        return value
    with pytest.raises(StopIteration) as stop:
        value.send(None)
    return stop.value.value


@pytest.mark.parametrize(("fn", "properties", "arguments", "expected", "refused"), RIGHT)
def test_signature_is_right_in_schema_and_call(fn, properties, arguments, expected, refused):
    described = describe_function(fn, HERE)
    schema = described.input_schema
    checker = jsonschema_rs.validator_for(schema, validate_formats=True)

    assert {name: schema["properties"].get(name) for name in properties} == properties
    assert "title" not in schema.keys() - {"properties"}
    assert checker.is_valid(arguments)
    assert call(fn, described, arguments) == expected
    for bad in refused:
        assert not checker.is_valid(bad) or is_refused(described, bad), bad


def is_refused(described, arguments):
    with pytest.raises(RefusedError) as refusal:
        described.bind(arguments)
    return refusal.value.code == "invalid-arguments"


@pytest.mark.parametrize(("fn", "code", "message", "hint"), WRONG)
def test_signature_gets_one_clear_diagnostic(fn, code, message, hint):
    with pytest.raises(FaultError) as error:
        describe_function(fn, HERE)

    (fault,) = error.value.faults
    assert fault.code == code
    assert re.search(message, fault.message)
    assert hint in fault.hint


def test_u27_all_faults_of_a_signature_come_together():
    with pytest.raises(FaultError) as error:
        describe_function(two_bad, HERE)

    assert [fault.code for fault in error.value.faults] == ["unsupported-parameter"] * 2
    assert ["`a`" in fault.message or "`b`" in fault.message for fault in error.value.faults]


def test_a_singledispatch_function_gets_what_it_chooses_by_without_a_name():
    @functools.singledispatch
    def shown(value: int, width: int = 3) -> str:
        """Show it."""
        return str(value).rjust(width)

    args, named = describe_function(shown).bind({"value": 7, "width": 4})
    assert shown(*args, **named) == "   7"


@pytest.mark.parametrize("name", ["a", "1.5", "", "1 ", "9" * 30])
def test_names_that_are_read_as_whole_numbers_look_like_them(name):
    def fn(by_year: dict[int, str]) -> dict[int, str]:
        """By year."""
        return by_year

    made = describe_function(fn)
    checker = ArgumentChecker(made.input_schema)
    assert checker.check({"by_year": {"-12": "x"}})
    assert made.bind({"by_year": {"-12": "x"}})[1] == {"by_year": {-12: "x"}}
    with pytest.raises(RefusedError):
        checker.check({"by_year": {name: "x"}})


def test_a_place_is_told_from_the_project_however_its_folder_is_named(monkeypatch):
    monkeypatch.chdir(HERE)
    assert place_of(describe_color, Path()).startswith("test_awkward_signatures.py:")


def describe_color(color: Color) -> str:
    """A colour."""
    return color.value
