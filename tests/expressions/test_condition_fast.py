"""Plain conditions decide without the CEL library exactly as it does, or leave it to decide."""

from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolrt.core.faults import FaultError
from toolrt.expressions.condition_fast import fast_condition
from toolrt.expressions.condition_text import ConditionText
from toolrt.expressions.conditions import RULE_ROOTS, ConditionError, compile_condition

NAMES = ("x", "y", "size", "tags")
SCHEMAS = {"x": {"type": "number"}, "y": {}, "size": {"type": "string"}, "tags": {}, "nothing": {}}
CALLER = {
    "principal": "ann",
    "roles": ["finance", "a"],
    "tenant": None,
    "session": None,
    "scopes": [],
    "claims": {"level": 3},
}
TOOL = {"name": "t.pay", "tags": ["a", "é"], "effect": "write"}
RISK = {"score": 0.4, "classes": ["write"]}
HISTORY = {"10m": 3, "1h": 7}
ROOTS = {
    "args": {"x": 3, "y": "é🙂", "size": "a", "tags": ["a", "b"]},
    "caller": CALLER,
    "tool": TOOL,
    "risk": RISK,
    "history": HISTORY,
    "vars": MappingProxyType({"limit": 4}),
}


class Colour(StrEnum):
    A = "a"


class Whole(int):
    """An int that is not quite one."""


def fast(text: str, roots: dict[str, Any] = ROOTS) -> bool | None:
    """What the fast path says by itself; None when it leaves the text or the values alone."""
    uses = {(use.root, use.key) for use in ConditionText(text).uses() if use.root in RULE_ROOTS}
    condition = fast_condition(text, uses)
    return None if condition is None else condition(roots)


def outcome(text: str, roots: dict[str, Any]) -> bool | str:
    """What a condition comes to, or its error."""
    try:
        return compile_condition(text, RULE_ROOTS, SCHEMAS).holds(roots)
    except ConditionError as error:
        return error.message


def by_library(text: str, roots: dict[str, Any]) -> bool | str:
    """The same of the library: a text with a comment is not plain."""
    assert fast(f"{text} //", roots) is None
    return outcome(f"{text} //", roots)


TEXTS = st.sampled_from(["", "a", "b", "ab", "é", "e\u0301", "🙂", "\uffff", "10", "a\n", "A"])
INTEGERS = st.sampled_from([0, 1, -1, 2, 3, 7, 2**53, 2**53 - 1, -(2**53)])
DOUBLES = st.sampled_from([0.0, -0.0, 1.0, 0.5, 3.0, -1.5, 2.0**53, 0.1, 1e300])
ODD = st.sampled_from(
    [
        *(2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 2**70),
        *(float("nan"), float("inf"), float("-inf"), 5e-324),
        *("a\0", "\0", "\ud800", "a\udfff", Colour.A, Whole(1), b"a", (1,), ("a",), {"a"}),
        *({}, {"a": 1}, {"a\0": 1}, [], [1], [None], [["a"]], ["a\0"], ["\ud800"], [Colour.A]),
        *(["a", 1], [{"a": "\0"}], object),
    ]
)
PLAIN = TEXTS | INTEGERS | DOUBLES | st.booleans() | st.none() | st.lists(TEXTS, max_size=3)
VALUES = PLAIN | ODD | st.text(max_size=3) | st.integers() | st.floats()
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES)
COUNTS = st.fixed_dictionaries({}, optional={"10m": INTEGERS, "1h": INTEGERS})
PLACES = st.fixed_dictionaries(
    {},
    optional={
        "args": ARGUMENTS,
        "caller": st.just(CALLER) | st.builds(lambda value: CALLER | {"tenant": value}, VALUES),
        "tool": st.just(TOOL),
        "risk": st.just(RISK) | st.fixed_dictionaries({"score": VALUES}),
        "history": COUNTS,
        "vars": st.just(MappingProxyType({"limit": 4})),
    },
) | st.builds(lambda arguments: ROOTS | {"args": arguments}, ARGUMENTS)

SPACE = st.sampled_from(["", "", "", " ", "\n", "\t"])
QUOTED = st.builds(
    lambda text, mark: f"{mark}{text}{mark}".replace("\n", ""), TEXTS, st.sampled_from("\"'")
)
NUMBER = st.sampled_from(["0", "1", "-1", "3", "007", "1.0", "-0.0", "0.5", "3.0", "9007199254740992", "9007199254740993"])  # fmt: skip
READ = st.sampled_from(
    [
        *(f"args.{name}" for name in NAMES),
        *("args . x", "args.x", "args.y", "caller.principal", "caller.tenant", "caller.roles"),
        *("caller.claims", "tool.name", "tool.tags", "risk.score", "risk.classes", "vars.limit"),
        *('history.calls("10m")', "history . calls ( '1h' )"),
    ]
)
LITERAL = QUOTED | NUMBER | st.sampled_from(["true", "false", "null"])
OPERAND = READ | READ | LITERAL


def spaced(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    between = [each for part in parts for each in (SPACE, part)]
    return st.tuples(*between).map("".join)


def signs(*words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words)


LIST = st.lists(QUOTED, min_size=1, max_size=3) | st.lists(NUMBER, min_size=1, max_size=3)
RELATION = st.one_of(
    spaced(OPERAND, signs("==", "!=", "<", "<=", ">", ">="), OPERAND),
    spaced(OPERAND, st.just(" in "), READ),
    spaced(OPERAND, LIST.map(lambda each: f" in [{', '.join(each)}]")),
    spaced(READ, LITERAL.map(lambda each: f".startsWith({each})")),
    spaced(READ | QUOTED, st.sampled_from([".endsWith(", ".contains("]), OPERAND, st.just(")")),
    st.sampled_from([f"has(args.{name})" for name in NAMES] + ["has ( caller.tenant )"]),
    spaced(st.just("size("), READ, st.just(")"), signs("==", "<", ">"), NUMBER),
    spaced(READ, st.just(".size()"), signs("==", "<=", ">="), NUMBER),
    OPERAND,
)
CONDITIONS = st.recursive(
    RELATION,
    lambda inner: st.one_of(
        spaced(inner, signs("&&", "||"), inner),
        spaced(inner, signs("&&", "||"), inner, signs("&&", "||"), inner),
        spaced(st.just("("), inner, st.just(")")),
        spaced(st.just("!("), inner, st.just(")")),
        spaced(signs("!", "!!"), READ),
        spaced(st.just("("), inner, st.just(")"), signs("==", "!="), inner),
    ),
    max_leaves=5,
)


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(CONDITIONS, st.lists(PLACES, min_size=3, max_size=3))
def test_plain_condition_comes_to_what_the_library_says(text, many):
    for roots in [ROOTS, *many]:
        try:
            assert outcome(text, roots) == by_library(text, roots), roots
        except FaultError:
            return


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("args.x > 2", True),
        ("args.x >= 3.0 && args.x <= 3", True),
        ("args.x == 3.0", True),
        ("args.x != 3", False),
        ("args.x < -1", False),
        ('args.y == "é🙂"', True),
        ("args.size < args.y", True),
        ("args.y == null", False),
        ("args.x in [1, 2, 3]", True),
        ('args.size in ["a", "b"]', True),
        ("args.y in [1, 2]", False),
        ('"finance" in caller.roles', True),
        ('!("admin" in caller.roles)', True),
        ("args.size in tool.tags", True),
        ("has(args.x) && !has(args.nothing)", True),
        ("has(caller.tenant) && caller.tenant == null", True),
        ('caller.principal == "ann" && (args.x > 5 || risk.score < 0.5)', True),
        ('tool.effect == "write" && tool.name.startsWith("t.")', True),
        ('args.y.contains("🙂") || args.y.endsWith("x")', True),
        ("size(args.y) == 2 && args.tags.size() == 2", True),
        ('history.calls("10m") >= 3', True),
        ("args.x < vars.limit", True),
        ("(args.x > 1) == (args.x > 2)", True),
        ("true || args.y > 1", True),
        ("false && args.nothing == 1", False),
    ],
)
def test_plain_conditions_need_no_library(text, expected):
    assert fast(text) is expected
    assert by_library(text, ROOTS) is expected


@pytest.mark.parametrize(
    "text",
    [
        *("args.x + 1 > 3", "args.x -1 > 3", "- 5 < args.x", "args.x > 1 ? true : false"),
        *("args.x == 1u", "args.x == 0x1F", "args.x == 1e3", "args.x == .5", "args.x == 1.5e3"),
        *("args.x < 9007199254740993", 'args.y == "\\u00e9"', 'args.y == r"a"', 'args.y == b"a"'),
        *('args.y == """a"""', "args.y == '''a'''", "args.y.matches('a')", 'glob(args.y, "a*")'),
        *("args.tags.exists(t, t == 'a')", "args.tags[0] == 'a'", "args.tags == ['a']"),
        *("args.x in []", "args.x in [1, 'a']", "args.x in [true]", "args.x in [args.y]"),
        *("caller.claims.level > 1", "has(caller.claims.level)", "'level' in caller.claims.x"),
        *("args.x == args.y == true", "size(args) > 1", "args.size() > 1", "'x' in args"),
        *("now == now", "args.x == 1 // why", "args.in == 1", "has(args.in)", "args.x", "x == 1"),
        *("(args.x == 1", "args.x == 1)", "args.x ==", "", "args.x == 1 &&", "args.", "has(args.x"),
        *("!" * 300 + "args.x", " && ".join(["args.x == 1"] * 300), "args.é == 1", "args.x\v== 1"),
        *("history.calls(args.y) > 1", "history.calls('1m' + '') > 1", "history.x > 1"),
    ],
)
def test_texts_that_are_not_plain_are_left_to_the_library(text):
    assert fast(text) is None


@pytest.mark.parametrize(
    "value",
    [
        *(2**53 + 1, -(2**53) - 1, 2**63, 2**70, Whole(3), Colour.A, "a\0", "\ud800", b"a"),
        *((1,), {"a": 1}, [1], ["a\0"], ["\ud800"], [Colour.A], object()),
    ],
)
def test_values_that_are_not_plain_are_left_to_the_library(value):
    roots = ROOTS | {"args": {"x": 3, "y": value}}

    assert fast("args.x == 3 || has(args.y)", roots) is None
    assert fast("args.x == 3", roots) is True


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("args.x", {"x": 1}),
        ("args.x == 1", {}),
        ("args.x > 'a'", {"x": 1}),
        ("args.x > 0", {"x": True}),
        ("args.x > 0", {"x": None}),
        ("args.x && true", {"x": 1}),
        ("args.y || true", {}),
        ("!args.x", {"x": "a"}),
        ("args.x in args.y", {"x": 1, "y": ["a"]}),
        ("args.x == args.y", {"x": ["a"], "y": ["a"]}),
        ("args.x in [1]", {"x": ["a"]}),
        ("args.x.startsWith('a')", {"x": 1}),
        ("args.x == 1", [1]),
        ("args.x == 1", None),
    ],
)
def test_errors_are_left_to_the_library(text, arguments):
    assert fast(text, {"args": arguments}) is None
    assert fast(text, {}) is None


@pytest.mark.parametrize("value", [True, False, 0, 1, 0.0, 1.0, "1", "true", None])
@pytest.mark.parametrize("literal", ["0", "1", "1.0", "true", "false", "null", "'1'", "'true'"])
@pytest.mark.parametrize("sign", ["==", "!="])
def test_p10_plain_equality_is_typed_as_in_the_library(value, literal, sign):
    roots = {"args": {"y": value}}

    found = fast(f"args.y {sign} {literal}", roots)
    assert found is not None
    assert found is by_library(f"args.y {sign} {literal}", roots)
