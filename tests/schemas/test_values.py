import asyncio
import collections
import enum
import itertools
import math
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import BaseModel, Field, field_serializer

from toolrt.core.binaries import Base64
from toolrt.schemas.values import NotPlainError, to_plain


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 2


class Text(str):
    __slots__ = ()


class Pair(NamedTuple):
    a: int
    b: date


@dataclass
class Point:
    x: int
    at: datetime


class Model(BaseModel):
    name: str = Field(serialization_alias="label")
    data: bytes = b"\xff"
    point: Point | None = None


class Array:
    """What numpy's arrays and scalars look like from outside."""

    def tolist(self):
        return [1.5, 2.5]


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (frozenset({3}), [3]),
        (collections.deque([1]), [1]),
        (range(2), [0, 1]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        ({True: 1}, {"true": 1}),
        (collections.OrderedDict(a=(1,)), {"a": [1]}),
        ({1: "a", None: "b", 1.5: "c", Color.RED: "d", NOON: "e"}, {
            "1": "a", "null": "b", "1.5": "c", "red": "d", "2026-01-31T12:00:00Z": "e",
        }),
        (b"\xfb\xff", Base64("+/8=")),
        (bytearray(b"hi"), Base64("aGk=")),
        (memoryview(b"hi"), Base64("aGk=")),
        (Color.RED, "red"),
        (Level.HIGH, 2),
        (Text("x"), "x"),
        (Pair(1, date(2026, 1, 31)), [1, "2026-01-31"]),
        (Point(1, NOON), {"x": 1, "at": "2026-01-31T12:00:00Z"}),
        (Model(name="m", point=Point(1, NOON)), {
            "label": "m", "data": "/w==", "point": {"x": 1, "at": "2026-01-31T12:00:00Z"},
        }),
        ([Model(name="m")], [{"label": "m", "data": "/w==", "point": None}]),
        (NOON, "2026-01-31T12:00:00Z"),
        (timedelta(hours=1), "PT1H"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Decimal("1.10"), "1.10"),
        (Path("a/b"), "a/b"),
        (math.nan, None),
        ({"a": [math.inf, 1.5]}, {"a": [None, 1.5]}),
        (Array(), [1.5, 2.5]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_value_becomes_plain_json(value, expected):
    made = to_plain(value)

    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize("value", [None, True, 5, 1.5, "x", [1, [2]], {"a": {"b": [None]}}])
def test_plain_value_passes_as_the_same_object(value):
    assert to_plain(value) is value


async def coroutine():
    pass


async def asynchronous():
    yield 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "a value of type object, which has no JSON form"),
        ({"a": [len]}, "a value of type builtin_function_or_method, which has no JSON form"),
        (Point, "a value of type type, which has no JSON form"),
        ((n for n in [1]), "a value of type generator, which is not a value yet"),
        (itertools.count(), "a value of type count, which is not a value yet"),
        (asynchronous(), "a value of type async_generator, which is not a value yet"),
        ({(1, 2): 3}, "a mapping with a value of type tuple as key"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_without_a_json_form_is_a_bad_response_that_names_its_type(value, message):
    with pytest.raises(NotPlainError, match=message) as error:
        to_plain(value)

    assert error.value.code == "bad-response"


def test_coroutine_is_closed_and_refused():
    value = coroutine()
    with pytest.raises(NotPlainError, match="coroutine") as error:
        to_plain(value)

    assert error.value.hint == "return a list, or await it first"
    with pytest.raises(RuntimeError, match="cannot reuse"):
        asyncio.run(value)


@pytest.mark.parametrize("first", [1, (1,)], ids=["plain", "not plain"])
def test_value_that_contains_itself_is_a_bad_response(first):
    loop = [first]
    loop.append(loop)
    with pytest.raises(NotPlainError, match="contains itself"):
        to_plain(loop)


def test_failing_serialiser_is_a_bad_response_that_keeps_its_cause():
    class Broken(BaseModel):
        n: int = 1

        @field_serializer("n")
        def fail(self, _value):
            raise LookupError("inside")

    with pytest.raises(NotPlainError, match="Broken that cannot be written as JSON") as error:
        to_plain(Broken())

    assert error.value.__cause__ is not None
