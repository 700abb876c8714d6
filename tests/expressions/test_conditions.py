"""Conditions: typed, strict, bounded, and checked before any call."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.expressions.conditions import (
    FAILED_WHEN_ROOTS,
    REJECT_ROOTS,
    ConditionError,
    compile_condition,
)

SCHEMAS = {
    "amount": {"type": "number"},
    "count": {"type": "integer"},
    "name": {"type": "string"},
    "path": {"type": "string"},
    "flag": {"type": "boolean"},
    "mode": {"enum": ["fast", "slow"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "sizes": {"type": "array", "items": {"type": "number"}},
    "address": {"type": "object"},
    "maybe": {"type": ["string", "null"]},
    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "anything": {},
}
ROOTS = {
    "args": {
        "amount": 5,
        "count": 3,
        "name": "é🙂",
        "path": "src/a/b.py",
        "flag": True,
        "mode": "fast",
        "tags": ["a", "b"],
        "sizes": [1, 2.5],
        "address": {"zip": "10"},
        "anything": "1",
    },
    "caller": {
        "principal": "ann",
        "roles": ["finance"],
        "tenant": None,
        "session": None,
        "scopes": [],
        "claims": {"level": 3},
    },
    "call": {"id": "c1", "time": "2023-11-14T22:13:20.250Z"},
    "tool": {"name": "t.pay", "tags": [], "effect": "write"},
    "vars": {"limit": 4},
    "result": {"error": None, "items": [{"id": 1}]},
    "status": 200,
    "headers": {"content-type": "application/json"},
    "exit_code": 0,
    "stderr": "",
}


def holds(text, roots=ROOTS):
    return compile_condition(text, FAILED_WHEN_ROOTS, SCHEMAS).holds(roots)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("args.amount > 4", True),
        ("args.amount > 5", False),
        ("args.amount * 2.0 == 10.0", True),
        ('args.amount > 500 && !("finance" in caller.roles)', False),
        ("args.count in [1, 3]", True),
        ('args.name == "é🙂"', True),
        ('args.mode == "slow"', False),
        ('args.tags.exists(t, t == "b")', True),
        ("args.sizes.all(x, x > 0)", True),
        ('args.address.zip == "10"', True),
        ("has(args.maybe)", False),
        ("!has(args.maybe) || args.maybe == 'x'", True),
        ("has(args.address.zip)", True),
        ("has(caller.tenant)", True),
        ("caller.tenant == null", True),
        ("caller.claims.level >= 3", True),
        ("args.count < vars.limit", True),
        ("result.error != null", False),
        ("result.items[0].id == 1", True),
        ("status == 200 && exit_code == 0", True),
        ('headers["content-type"].startsWith("application/")', True),
        ("stderr != ''", False),
        ("args.flag", True),
        ("args.flag ? args.count > 1 : false", True),
        ('"args.nothing" == args.name // args.nothing', False),
        ("args\n.count ==\n3", True),
        ("'a'.size() == 1 && [1].size() == 1 && .5 < 1.0", True),
        (r"r'\d\\' == args.name || has(args.flag)", True),
        ("'\\'' == args.name || has (args.flag)", True),
        ("""'''it's''' == args.name || has(args.flag)""", True),
        ("size(args) > 5", True),
        ('args.all(k, k != "z")', True),
    ],
)
def test_condition_holds_or_not(text, expected):
    assert holds(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('args.anything == "1"', True),
        ("args.anything == 1", False),
        ("args.either == 1", True),
        ("args.either == 1.0", True),
        ("args.either == true", False),
        ("args.count == 3.0", True),
        ("args.count > 2.5", True),
        ("args.amount == 5", True),
        ("1 == 1.0", True),
    ],
)
def test_p10_comparison_is_typed_and_strict(text, expected):
    roots = {**ROOTS, "args": {**ROOTS["args"], "either": 1}}

    assert holds(text, roots) is expected


def test_p10_true_is_not_one():
    roots = {"args": {"anything": True}}

    assert holds("args.anything == 1", roots) is False
    assert holds("args.anything == true", roots) is True


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("args.amuont > 3", [("unknown-name", 5, "did you mean `args.amount`?")]),
        (
            'args.name == "é🙂" && args.cuont > 1',
            [("unknown-name", 26, "did you mean `args.count`?")],
        ),
        (
            "args.count > 1 &&\n  args.nmae == ''",
            [("unknown-name", 25, "did you mean `args.name`?")],
        ),
        ("has(args.flga)", [("unknown-name", 9, "did you mean `args.flag`?")]),
        ("amount > 3", [("unknown-name", 0, "write args.amount")]),
        ("status == 1 && satus == 2", [("unknown-name", 15, "did you mean `status`?")]),
        ("caller.rolse.size() > 0", [("unknown-name", 7, "did you mean `caller.roles`?")]),
        ("tool.nam == ''", [("unknown-name", 5, "did you mean `tool.name`?")]),
        ("args.name.toUpper() == 'X'", [("unknown-name", 10, None)]),
        (' args["name"] == ""', [("disallowed", 1, "write args.name")]),
        ("args.flag && .args.flag", [("disallowed", 13, None)]),
        ('args.amount > "x"', [("type-mismatch", 12, None)]),
        ("args.count == '1'", [("type-mismatch", 11, None)]),
        ("args.mode == 1", [("type-mismatch", 10, None)]),
        ("args.count == null", [("type-mismatch", 11, None)]),
        ("args.name.startsWith(1)", [("type-mismatch", 10, None)]),
        ("args.amount * 2 > 3", [("type-mismatch", 12, "*")]),
        ("args.count.x == 1", [("type-mismatch", 10, None)]),
        ("args.count", [("type-mismatch", 0, None)]),
        ("'text'", [("type-mismatch", 0, None)]),
        ("args.count > 2.5 ? 1 : 2", [("type-mismatch", 0, None)]),
        ("args.count >", [("invalid-condition", 12, None)]),
        ("", [("invalid-condition", 0, None)]),
        ("args.flag and args.flag", [("invalid-condition", 10, "write &&")]),
        ("args.count = 3", [("invalid-condition", 11, "write ==")]),
        ("'🙂' == '' &&\n@", [("invalid-condition", 13, None)]),
        ("args.name.matches('(a')", [("invalid-pattern", 18, "*")]),
        (r"args.name.matches('(a)\\1')", [("invalid-pattern", 18, "*")]),
        (r"args.name.matches(r'(?=a)')", [("invalid-pattern", 18, "*")]),
        (
            "args.name == 1 && args.cuont == 2 && bogus",
            [
                ("type-mismatch", 10, None),
                ("unknown-name", 23, "did you mean `args.count`?"),
                ("unknown-name", 37, None),
            ],
        ),
    ],
)
def test_p9_every_fault_is_found_at_its_character(faults, text, found):
    got = faults(lambda: compile_condition(text, FAILED_WHEN_ROOTS, SCHEMAS))

    assert [(fault.code, fault.offset) for fault in got] == [each[:2] for each in found]
    for fault, (_, _, hint) in zip(got, found, strict=True):
        assert hint in {"*", fault.hint}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('args.amount > "x"', "`>` cannot take a number and a text"),
        ("args.name in [1]", "`in` cannot take a text and a list"),
        ("!args.count", "`!` cannot take an integer"),
        ("args.count", "a condition is true or false; this is an integer"),
        ("args.count.x", "an integer has no keys"),
        ("args.count > ", "the condition ends too early"),
        ("args.count ) ", "unexpected `)`"),
        ("nothing(1)", "there is no function `nothing`"),
        ("(" * 60 + "true" + ")" * 60, "the condition is nested too deeply"),
        ("true" + " && true" * 20_000, "the condition is too long"),
    ],
)
def test_faults_are_in_plain_words_of_one_line(faults, text, message):
    (fault,) = faults(lambda: compile_condition(text, FAILED_WHEN_ROOTS, SCHEMAS))

    assert fault.message == message


@pytest.mark.parametrize("key", ["in", "true", "null"])
def test_has_of_a_word_of_the_language_is_a_fault_and_no_crash_of_a_call(faults, key):
    (fault,) = faults(lambda: compile_condition(f"has(args.{key})", REJECT_ROOTS, {key: {}}))

    assert (fault.code, fault.offset) == ("invalid-condition", 9)


def test_roots_of_another_place_are_unknown(faults):
    (fault,) = faults(lambda: compile_condition("status == 200", REJECT_ROOTS, SCHEMAS))

    assert (fault.code, fault.offset) == ("unknown-name", 0)


def test_parameters_without_schemas_are_not_checked(faults):
    assert not faults(lambda: compile_condition("args.whatever > 3", REJECT_ROOTS))


def test_keys_of_vars_are_checked_where_the_project_is_known(faults):
    known = {"vars": frozenset({"limit"})}

    assert not faults(lambda: compile_condition("vars.limit > 1", REJECT_ROOTS, {}, known))
    (fault,) = faults(lambda: compile_condition("vars.limt > 1", REJECT_ROOTS, {}, known))
    assert fault.hint == "did you mean `vars.limit`?"


def test_condition_tells_what_it_reads():
    condition = compile_condition("args.count > vars.limit", REJECT_ROOTS, SCHEMAS)

    assert condition.parameters == {"count"}
    assert condition.roots == {"args", "vars"}


def test_roots_that_are_not_read_are_not_looked_at():
    class Roots(dict):
        def __getitem__(self, name):
            assert name == "args"
            return super().__getitem__(name)

    roots = Roots(args={"count": 3, "other": object()}, result=object())

    assert holds("args.count == 3", roots)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("args.maybe == 'x'", "a key that it reads is not there: `args.maybe`"),
        ("caller.claims.nothing", "a key that it reads is not there: `caller.claims.nothing`"),
        ("args.count / 0 == 1", "it divides by zero"),
        ("args.tags[9] == ''", "a list in it is too short"),
        ("args.count * 4611686018427387904 > 0", "a number in it is too large"),
        ("args.name.matches('(' + args.name)", "a regular expression in it is invalid"),
        ("args.anything > 1", "`>` cannot take a text and an integer"),
        ("args.anything", "it is a text, not true or false"),
        ("args.address", "it is an object, not true or false"),
    ],
)
def test_p7_condition_that_cannot_be_evaluated_says_why_and_shows_no_value(faults, text, why):
    schemas = {**SCHEMAS, "address": {}}
    condition = compile_condition(text, FAILED_WHEN_ROOTS, schemas)

    with pytest.raises(ConditionError) as caught:
        condition.holds(ROOTS)
    assert caught.value.message == why


def test_p7_missing_root_is_an_error():
    with pytest.raises(ConditionError, match="no value here"):
        holds("status == 200", {"args": {}})


def test_p7_short_cut_saves_a_missing_key():
    assert holds("false && args.maybe == 'x'") is False
    assert holds("args.maybe == 'x' || true") is True


def test_p12_evaluation_ends_at_the_step_budget():
    roots = {"args": {"tags": ["x"] * 300}}
    text = "args.tags.all(a, args.tags.all(b, args.tags.all(c, true)))"
    started = time.process_time()

    with pytest.raises(ConditionError, match="too many steps"):
        holds(text, roots)
    assert time.process_time() - started < 3


def test_p11_regular_expressions_take_linear_time():
    roots = {"args": {"name": "a" * 100_000 + "!"}}
    started = time.process_time()

    assert holds("args.name.matches('^(a+)+$')", roots) is False
    assert time.process_time() - started < 3


def test_p11_dollar_is_the_end_of_the_text_only():
    assert holds("args.name.matches('^ok$')", {"args": {"name": "ok"}}) is True
    assert holds("args.name.matches('^ok$')", {"args": {"name": "ok\n"}}) is False


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("src/a.py", "src/*", True),
        ("src/a/b.py", "src/*", False),
        ("src/a/b.py", "src/**", True),
        ("src/a/b.py", "**/*.py", True),
        ("src/a\nb", "src/*", False),
        ("src/a\nb", "src/**", True),
        ("src/a.py\n", "src/*.py", False),
        ("xsrc/a", "src/*", False),
        ("src/axpy", "src/*.py", False),
        ("a+b", "a+b", True),
        ("é", "*", True),
        ("", "*", True),
    ],
)
def test_p11_globs_match_the_whole_path(path, pattern, expected):
    roots = {"args": {"path": path, "name": pattern}}

    assert holds("glob(args.path, args.name)", roots) is expected


def test_p11_globs_take_linear_time():
    roots = {"args": {"path": "a" * 50_000, "name": "*a" * 30 + "b"}}
    started = time.process_time()

    assert holds("glob(args.path, args.name)", roots) is False
    assert time.process_time() - started < 4


def test_answer_that_is_nested_too_deeply_is_an_error_and_no_crash():
    deep = current = []
    for _ in range(50_000):
        current.append([])
        current = current[0]

    with pytest.raises(ConditionError, match="nested too deeply"):
        holds("result.size() == 1", {"result": deep})
    assert holds("result.fine == 1", {"result": {"fine": 1, "deep": deep}})


def test_integer_beyond_64_bits_harms_only_what_reads_it():
    roots = {"args": {"count": 2**70, "name": "x"}}

    assert holds("args.name == 'x'", roots)
    with pytest.raises(ConditionError, match="too large"):
        holds("args.count > 1", roots)


def test_large_integers_are_compared_exactly():
    roots = {"args": {"count": 2**53 + 1, "amount": 2**53 + 1}}

    assert holds("args.count > 9007199254740992", roots)
    assert holds("args.amount > 9007199254740992", roots)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_p10_texts_compare_by_exact_code_points(text):
    roots = {"args": {"name": text, "path": text + "x"}}

    assert holds("args.name + 'x' == args.path", roots)
    assert not holds("args.name == args.path", roots)


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "safe\0evil"},
        {"name": "x", "address": {"deep": ["a\0"]}},
        {"name": "x", "address": {"a\0b": 1}},
    ],
)
def test_text_with_a_nul_is_an_error_since_the_library_would_cut_it(arguments):
    with pytest.raises(ConditionError, match="NUL"):
        holds("args.name == 'safe' || has(args.address.a)", {"args": arguments})


def test_nul_in_what_is_not_read_does_no_harm():
    roots = {"args": {"name": "x", "path": "\0"}, "result": {"error": None, "text": "\0"}}

    assert holds("args.name == 'x' && result.error == null", roots)


@pytest.mark.parametrize("text", ["true\0 && false", "args.name == '\ud800'"])
def test_condition_itself_holds_no_nul_and_no_half_characters(faults, text):
    (fault,) = faults(lambda: compile_condition(text, REJECT_ROOTS, SCHEMAS))

    assert fault.code == "invalid-condition"


@given(st.lists(st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9), min_size=2))
def test_numbers_compare_as_numbers(numbers):
    for left, right in pairwise(numbers):
        roots = {"args": {"amount": left, "anything": right}}
        assert holds("args.amount < args.anything", roots) is (left < right)
        assert holds("args.amount == args.anything", roots) is (left == right)


def test_half_a_surrogate_pair_is_an_error():
    with pytest.raises(ConditionError):
        holds("args.name == 'x'", {"args": {"name": "\ud800"}})
