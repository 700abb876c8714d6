"""Whatever a callable returns or raises, its call ends with a result that can be written."""

import asyncio
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import sys
import types
from contextlib import asynccontextmanager
from types import MappingProxyType

import pydantic
import pydantic_core
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolrt
from toolrt.core.errors import BindingError, CallError
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

MODULE = """\
import any_value_box as box
def thread(): return box.give()
def taking(a): return 1
def inline(): return box.give()
async def loop(): return box.give()
"""
TOOLS = """\
defaults: {description: D., retry: none}
tools:
  thread: {python: "any_value_kit:thread", effect: read}
  inline: {python: {call: "any_value_kit:inline", run_in: inline}}
  loop: {python: "any_value_kit:loop", idempotent: true}
  selected: {python: "any_value_kit:thread", result: {select: "@"}}
  summed: {python: "any_value_kit:thread", result: {select: "sum(@)"}}
  taking: {python: "any_value_kit:taking", parameters: {a: {}}}
  small: {python: "any_value_kit:thread", result: {max_size: 100B}}
"""
WAYS = ("thread", "inline", "loop", "selected", "small")


@asynccontextmanager
async def opened():
    box = sys.modules["any_value_box"] = types.ModuleType("any_value_box")
    try:
        async with open_files(
            {"tools.d/t.yaml": TOOLS, "any_value_kit.py": MODULE}, environ={"KEY": "hunter22"}
        ) as runtime:
            yield runtime, box
    finally:
        del sys.modules["any_value_box"]
        sys.modules.pop("any_value_kit", None)


@pytest.fixture
async def door():
    """Calls a tool whose callable is `give`; what comes back is known to be whole."""
    async with opened() as (runtime, box):

        async def call(give, way="thread", arguments=MappingProxyType({})):
            box.give = give
            return checked(await runtime.call(way, arguments))

        yield call


def checked(result):
    document = result.document()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert json.loads(pydantic_core.to_json(document)) == document
    if result.error is not None:
        assert result.error.code != "internal", result.error
        assert result.error.message
        assert isinstance(result.error.message, str)
    return result


class Level(enum.Enum):
    LOW = decimal.Decimal("NaN")
    HIGH = ("a", 1)


@dataclasses.dataclass
class Node:
    value: object = None
    following: "Node | None" = None


class Scalar:
    """As the scalars of numpy."""

    def tolist(self):
        return 1.5


class Text(str):
    __slots__ = ()

    def __str__(self):
        raise SystemExit


class Bad(pydantic.BaseModel):
    x: int = 1

    def model_dump(self, **_options):
        raise KeyboardInterrupt


def proxy(*names, error=SystemExit):
    """An object whose special methods raise."""

    def fails(*_arguments, **_more):
        raise error("no")

    return type("Proxy", (), dict.fromkeys(names, fails))()


def proxies():
    for name in ("__iter__", "__str__", "__repr__", "__getattr__", "__getattribute__", "__bool__",
                 "__len__", "__eq__", "__hash__", "__format__"):  # fmt: skip
        for error in (
            ValueError,
            SystemExit,
            KeyboardInterrupt,
            asyncio.CancelledError,
            GeneratorExit,
        ):
            yield proxy(name, error=error)
    yield type("Proxy", (), {"__class__": property(lambda _self: 1 / 0)})()
    yield type("Proxy", (collections.UserDict,), {"items": lambda _self: sys.exit()})(a=1)
    yield type("Proxy", (dict,), {"items": lambda _self: [("a", object())]})(a=1)
    yield type("Proxy", (list,), {"__iter__": lambda _self: iter([Scalar()])})([1])


def endless():
    loop = []
    loop.append(loop)
    return loop


def circular():
    node = Node()
    node.following = node
    return node


def deep(levels, make):
    value = 1
    for _ in range(levels):
        value = make(value)
    return value


def generator():
    yield 1


GIVEN = {
    "number": lambda: 10**5000,
    "numbers": lambda: {"a": [-(10**5000)]},
    "long digits": lambda: 10**4299,
    "nan": lambda: float("nan"),
    "infinities": lambda: [float("inf"), float("-inf")],
    "decimal": lambda: decimal.Decimal("NaN"),
    "surrogate": lambda: "a\ud800b",
    "surrogate key": lambda: {"\udfff": 1},
    "surrogate in text subclass": lambda: Text("\ud800"),
    "text subclass": lambda: Text("a"),
    "bytes": lambda: b"\xff\x00",
    "bytearray": lambda: bytearray(b"\xff"),
    "memoryview": lambda: memoryview(b"abcdef")[::2],
    "set": lambda: {1},
    "generator": generator,
    "coroutine": lambda: asyncio.sleep(0),
    "scalar": Scalar,
    "datetime": lambda: dt.datetime.max.replace(tzinfo=dt.UTC),
    "enum": lambda: [Level.LOW, Level.HIGH],
    "circular dataclass": circular,
    "dataclass": lambda: Node({1: Node(b"")}),
    "keys": lambda: {1: "a", None: "b", 2.5: "c", dt.date.max: "d"},
    "colliding keys": lambda: {1: "a", "1": "b"},
    "tuple keys": lambda: {(1, 2): 3},
    "nan keys": lambda: {float("nan"): 3},
    "endless": endless,
    "deep 150": lambda: deep(150, lambda value: [value]),
    "deep 254": lambda: deep(254, lambda value: {"a": value}),
    "deep 500": lambda: deep(500, lambda value: [value]),
    "deep 5000": lambda: deep(5000, lambda value: (value,)),
    "class": lambda: Node,
    "model": Bad,
    "object": object,
    "module": lambda: json,
    "exception": lambda: ValueError("x"),
}
"""Name -> what makes the value; also put into details, messages and exceptions."""


@pytest.mark.parametrize("make", GIVEN.values(), ids=GIVEN)
async def test_any_value_is_converted_or_refused_in_words(door, make):
    for way in WAYS:
        result = await door(make, way)
        assert result.error is None or result.error.code in {
            "bad-response",
            "execution-failed",
            "unknown-outcome",
        }


async def test_any_proxy_is_converted_or_refused_in_words(door):
    for made in proxies():
        for way in ("thread", "inline", "loop"):
            await door(lambda made=made: made, way)
            await door(lambda made=made: {"a": [made]}, way)


@pytest.mark.parametrize("kind", [toolrt.ToolError, CallError, BindingError])
async def test_any_details_and_texts_of_an_error_can_be_written(door, kind):
    values = [
        *(make() for make in list(GIVEN.values()) if make is not GIVEN["coroutine"]),
        *proxies(),
        None,
    ]
    for value in values:
        for more in (
            {"details": {"a": value}},
            {"hint": value},
            {"retryable": value},
            {"code": value},
        ):

            def give(more=more):
                raise kind("it failed", **more)

            assert (await door(give)).error.code != "internal"


async def test_fields_that_an_author_sets_later_can_be_written(door):
    for name in ("message", "hint", "details", "code", "retryable"):
        for value in (None, 7, "\ud800", object(), {1: 2}, [1], *proxies()):

            def give(name=name, value=value):
                error = toolrt.ToolError("it failed")
                setattr(error, name, value)
                raise error

            assert (await door(give)).error is not None


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, BaseException]
)
async def test_whatever_a_callable_raises_is_a_failure(door, error):
    def give():
        raise error(proxy("__str__", "__repr__"))

    for way in WAYS:
        assert (await door(give, way)).error is not None


@pytest.mark.parametrize(
    "name",
    [
        "\ud800",
        "",
        7,
        None,
        b"x",
        ["a"],
        *[proxy("__str__", error=e) for e in (ValueError, SystemExit)],
    ],
)
async def test_any_name_of_a_tool_is_answered(name):
    async with opened() as (runtime, _):
        assert checked(await runtime.call(name, {})).error.code == "unknown-tool"


async def test_any_arguments_are_read_or_refused_in_words(door):
    for value in (
        *(make() for make in GIVEN.values() if make is not GIVEN["coroutine"]),
        *proxies(),
    ):
        for arguments in (value, {"a": value}, {"a": [value]}, [value]):
            result = await door(lambda: 1, "taking", arguments)
            assert result.error is None or result.error.code == "invalid-arguments"


ASKED = """\
defaults: {description: D., retry: none, effect: read}
tools:
  secretive:
    python: "any_value_asked:taking"
    parameters: {a: {sensitive: true, default: 1}, b: {type: integer, default: 1}}
  hooked:
    {python: "any_value_asked:one", parameters: {a: {}}, hooks: {before: ["any_value_asked:seen"]}}
  filled: {python: "any_value_asked:one", parameters: {a: {default_from: caller.tenant}}}
  wide: {python: "any_value_asked:one", parameters: {a: {anyOf: [WIDE]}}}
  eased: {python: "any_value_asked:one", parameters: {a: {type: [integer, array]}}, coerce: safe}
  placed: {python: "any_value_asked:one", parameters: {a: {type: string, format: path}}}
  kept: {python: "any_value_asked:one", parameters: {a: {}}, cache: 1m}
"""
MORE = """\
def taking(a=1, b=1): return 1
def one(a=1): return 1
def seen(arguments): return arguments
"""


@pytest.mark.parametrize("told", ["hash", "redacted"])
async def test_any_arguments_are_answered_whatever_their_tool_is_like(told, caplog):
    files = {
        "toolrt.yaml": f"telemetry: {{logs: {{arguments: {told}}}}}",
        "tools.d/t.yaml": ASKED.replace("WIDE", ", ".join(f"{{const: {n}}}" for n in range(900))),
        "policies.d/p.yaml": """
            default: allow
            limits: {same_call: 9, same_error: 2000}
            rules:
              - {id: risky, tools: ["*"], decide: deny, when: "risk.score > 0.99"}
            """,
        "any_value_asked.py": MORE,
    }
    values = [make() for make in GIVEN.values() if make is not GIVEN["coroutine"]]
    async with open_files(files) as runtime:
        with caplog.at_level("INFO", "toolrt.calls"):
            for name in runtime.snapshot.tools if told == "hash" else ["secretive"]:
                for value in (*values, *proxies()):
                    for arguments in (value, {"a": value, "b": "x"}):
                        checked(await runtime.call(name, arguments))
    sys.modules.pop("any_value_asked", None)


async def test_colliding_keys_are_not_lost_in_silence(door):
    result = await door(GIVEN["colliding keys"])
    assert result.error is not None or len(result.data) == 2


async def test_a_sum_that_ends_in_infinity_is_null(door):
    assert (await door(lambda: [1e308, 1e308], "summed")).data is None


async def test_a_worker_answers_whatever_its_callable_does():
    source = """
        import toolrt
        class Bad:
            def __getattr__(self, name): raise KeyboardInterrupt
        VALUES = (10**5000, "a\\ud800", float("nan"), Bad(), {1: 1, "1": 2})
        def gives(number: int): return VALUES[number]
        def fails(number: int): raise toolrt.ToolError("\\ud800", details={"a": VALUES[number]})
        """
    tools = """
        defaults: {description: D., retry: none, effect: read}
        tools:
          gives: {python: {call: "any_value_apart:gives", run_in: process}}
          fails: {python: {call: "any_value_apart:fails", run_in: process}}
        """
    async with open_files({"tools.d/t.yaml": tools, "any_value_apart.py": source}) as runtime:
        for number in range(5):
            given = checked(await runtime.call("gives", {"number": number}))
            assert (given.error is None) == (number == 2)
            assert checked(await runtime.call("fails", {"number": number})).error is not None
    sys.modules.pop("any_value_apart", None)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary()
    | st.decimals() | st.datetimes() | st.sampled_from(list(Level)) | st.builds(pow, st.just(10), st.sampled_from([4299, 4300])),
    lambda inner: st.lists(inner) | st.tuples(inner, inner)
    | st.dictionaries(st.text(st.characters()) | st.integers() | st.floats() | st.none(), inner)
    | st.builds(Node, inner),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(PLAIN, st.sampled_from(WAYS), st.booleans()), min_size=1, max_size=20))
def test_anything_at_all_ends_in_a_result_that_can_be_written(cases):
    async def call():
        async with opened() as (runtime, box):
            for value, way, fails in cases:

                def give(value=value, fails=fails):
                    if fails:
                        raise toolrt.ToolError(value, details={"a": value}, hint=value)
                    return value

                box.give = give
                checked(await runtime.call(way, {}))

    asyncio.run(call())
