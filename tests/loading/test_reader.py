"""YAML text to plain data: what is read, what is refused, and where everything stands."""

import math
import time

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolrt.loading import scalars
from toolrt.loading.diagnostics import Diagnostic, Span
from toolrt.loading.paths import dotted
from toolrt.loading.reader import Document, read


def document(text: str, **more) -> Document:
    return read(text.encode(), "f.yaml", **more)


def data(text: str):
    made = document(text)
    assert made.faults == []
    return made.data


def fault(text: str, **more) -> Diagnostic:
    """The only fault of a text."""
    [found] = document(text, **more).faults
    return found


def at(made: Document, *path, **more) -> str:
    """The text of the first line of a span."""
    span = made.span(path, **more)
    line = made.text.split("\n")[span.line - 1]
    return line[span.column - 1 : span.end_column - 1 if span.end_line == span.line else None]


# scalars


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("null", None), ("~", None), ("", None), ("NULL", None), ("nUll", "nUll"),
        ("true", True), ("False", False), ("TRUE", True), ("tRue", "tRue"),
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("off", "off"), ("y", "y"),
        ("0", 0), ("-3", -3), ("+3", 3), ("007", 7), ("0o17", 15), ("0x1F", 31), ("-0x1F", "-0x1F"),
        ("0b1", "0b1"), ("1_000", "1_000"), ("12:30", "12:30"), ("12:30:45", "12:30:45"),
        ("1.10", 1.1), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("-1.5E-2", -0.015), (".", "."),
        ("1e", "1e"), ("e3", "e3"), ("2024-01-31", "2024-01-31"), ("1.2.3", "1.2.3"), ("-", "-x"),
        ("<", "<"), ("=", "="), (".info", ".info"), ("１２", "１２"),
    ],
)  # fmt: skip
def test_plain_scalars_follow_the_core_schema_of_yaml_1_2(written, value) -> None:
    text = f"a: {written}" if written != "-" else "a: -x"

    made = data(text)["a"]

    assert made == value
    assert type(made) is type(value)


def test_quoted_and_block_scalars_are_text() -> None:
    text = "a: \"1\"\nb: 'null'\nc: |\n  true\nd: >-\n  1.5\n"

    assert data(text) == {"a": "1", "b": "null", "c": "true\n", "d": "1.5"}


def test_keys_are_taken_as_written() -> None:
    assert data("1: a\n1.10: b\ntrue: c\n~: d\non: e\n0x1F: f\n") == {
        "1": "a", "1.10": "b", "true": "c", "~": "d", "on": "e", "0x1F": "f",
    }  # fmt: skip


def test_core_tags_say_what_a_scalar_is() -> None:
    text = "a: !!str 1.10\nb: !!int '5'\nc: !!float 1\nd: !!bool 'true'\ne: !!null ''\nf: !!map {}\ng: !!seq []"

    made = data(text)

    assert made == {"a": "1.10", "b": 5, "c": 1.0, "d": True, "e": None, "f": {}, "g": []}
    assert type(made["c"]) is float


@pytest.mark.parametrize(
    "text", ["!!int x", "!!int true", "!!bool 1", "!!null x", "!!float x", "!!int 1.5"]
)
def test_a_core_tag_that_does_not_fit_is_refused(text) -> None:
    assert fault(f"a: {text}").code == "bad-tag"


@pytest.mark.parametrize(
    "text", [".inf", "-.INF", "+.Inf", ".nan", ".NaN", "1e999", "!!float .nan"]
)
def test_numbers_that_json_lacks_are_refused(text) -> None:
    made = document(f"a: {text}")

    assert [one.code for one in made.faults] == ["not-finite"]
    assert math.isfinite(made.data["a"])


@pytest.mark.parametrize(
    ("text", "is_fine"),
    [
        ("9" * 4300, True),
        ("9" * 4301, False),
        ("-" + "9" * 4300, False),
        ("0x" + "f" * 3000, True),
        ("0x" + "f" * 4000, False),
    ],
)
def test_whole_numbers_may_have_4300_digits(text, is_fine) -> None:
    codes = [one.code for one in document(f"a: {text}").faults]

    assert codes == ([] if is_fine else ["number-too-long"])


def test_an_empty_file_says_nothing() -> None:
    assert data("") == data("# only a comment\n") == data("---\n") == data("null") == {}


# structure


def test_a_byte_order_mark_is_passed_over() -> None:
    made = read(b"\xef\xbb\xbfa: 1\nb: {{ x }}\n", "f.yaml")

    assert made.data == {"a": 1, "b": "{{ x }}"}
    assert (made.faults[0].line, made.faults[0].column) == (2, 4)


def test_a_duplicate_key_names_both_places_and_keeps_the_first() -> None:
    made = document("a: 1\nb: 2\n\na: 3\n")
    [found] = made.faults

    assert made.data == {"a": 1, "b": 2}
    assert (found.code, found.line, found.column, found.path) == ("duplicate-key", 4, 1, "a")
    assert "line 1, column 1" in found.message


def test_a_duplicate_key_hides_nothing_inside_either_value() -> None:
    made = document("t:\n  p: {x: .nan}\n  p: {y: .inf, z: 1, z: 2}\n")

    assert [(one.code, one.line, one.path) for one in made.faults] == [
        ("not-finite", 2, "t.p.x"),
        ("not-finite", 3, "t.p.y"),
        ("duplicate-key", 3, "t.p.z"),
        ("duplicate-key", 3, "t.p"),
    ]


def test_each_hidden_value_is_a_variant_with_its_own_places() -> None:
    made = document("t:\n  p: {x: 1, y: one}\n  p: {x: 2}\n  p: {x: 3}\nu: 1\n")
    variants = list(made.variants())

    assert [one.data for one in variants] == [
        {"t": {"p": {"x": 2}}, "u": 1},
        {"t": {"p": {"x": 3}}, "u": 1},
    ]
    assert [one.span(("t", "p", "x")).line for one in (made, *variants)] == [2, 3, 4]
    assert [one.span(("u",)).line for one in variants] == [5, 5]
    assert variants[0].source_text(("t", "p", "x")) == "2"
    assert all(one.faults == [] for one in variants)


def test_a_duplicate_inside_a_hidden_value_is_a_variant_too() -> None:
    made = document("p: {x: 1}\np:\n  q: {y: 1}\n  q: {y: 2}\n")
    inner, outer = made.variants()

    assert outer.data == {"p": {"q": {"y": 1}}}
    assert inner.data == {"p": {"q": {"y": 2}}}
    assert inner.span(("p", "q", "y")).line == 4


def test_merge_keys_follow_yaml() -> None:
    text = (
        "x: &a {p: 1, q: 1}\ny: &b {q: 2, r: 2}\n"
        "z:\n  r: 3\n  <<: [*a, *b]\n  s: 3\n"
        "w: {<<: {t: 1}, t: 2}\n"
    )

    made = data(text)

    assert made["z"] == {"p": 1, "q": 1, "r": 3, "s": 3}
    assert made["w"] == {"t": 2}


def test_merged_values_are_found_where_they_were_written() -> None:
    made = document("x: &a {p: 1, q: 1}\nz:\n  q: 3\n  <<: *a\n  r: *a\n")

    assert made.span(("z", "p")).line == 1
    assert made.span(("z", "q")).line == 3
    assert made.span(("z", "r")).line == 5
    assert made.span(("z", "r", "q")).line == 1
    assert at(made, "z", "r") == "*a"


def test_a_quoted_merge_key_is_a_key() -> None:
    assert data("'<<': {a: 1}") == {"<<": {"a": 1}}


def test_policies_take_anchors_but_no_merge_keys() -> None:
    assert fault("x: &a {b: 1}\nr: {<<: *a}\n", allow_merge=False).code == "merge-key"
    assert document("x: &a [1]\nr: *a\n", allow_merge=False).faults == []


def test_a_version_line_and_an_explicit_document_are_fine() -> None:
    assert data("%YAML 1.2\n--- # one\na: 1\n...\n") == {"a": 1}


def test_an_anchor_may_be_given_again() -> None:
    assert data("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: !foo b", "unknown-tag"),
        ("a: ! b", "unknown-tag"),
        ("a: !!set {b}", "unknown-tag"),
        ("a: !!map []", "unknown-tag"),
        ("a: !!seq {}", "unknown-tag"),
        ("a: !!binary aGk=", "unknown-tag"),
        ("!foo a: b", "unknown-tag"),
        ("%TAG ! tag:yaml.org,2002:python/\n---\na: !name b", "unknown-tag"),
        ("a: &a {b: *a}", "alias-to-itself"),
        ("a: &a {<<: *a}", "alias-to-itself"),
        ("a: *b", "unknown-anchor"),
        ("a: {<<: *b}", "unknown-anchor"),
        ("<<: 1", "bad-merge"),
        ("<<: [{}, 1]", "bad-merge"),
        ("[a]: b", "bad-key"),
        ("? {a: b}\n: c", "bad-key"),
        ("a: &x 1\n*x : 2", "bad-key"),
        ("{? }", "bad-key"),
        ("a: 1\n--- {}", "several-documents"),
        ("a: 1\n...\n---\nb: 1", "several-documents"),
        ("a: {{ x }}", "unquoted-template"),
        ("{{ x }}: a", "unquoted-template"),
        ("a: b\rc: d", "control-characters"),
        ("a: b\x85c: d", "control-characters"),
        ("# a\u2028b: c", "control-characters"),
        ("a: \x1b[2J", "control-characters"),
        ("a: \ufeffb", "control-characters"),
    ],
)
def test_what_is_yaml_but_no_manifest_is_one_fault(text, code) -> None:
    assert fault(text).code == code


def test_what_was_meant_stands_in_for_what_is_at_fault() -> None:
    made = document("a: {{ x }}\nb: !args.c\nc: [*_read]\nd: {[x]: 1, e: 2}\n")

    assert made.data == {"a": "{{ x }}", "b": "!args.c", "c": ["*_read"], "d": {"e": 2}}
    assert len(made.faults) == 4


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("!args.x", '"!args.x"'),
        ("! args.x", '"! args.x"'),
        ("!args.x && args.y", '"!args.x && args.y"'),
        ("!(a in b)", '"!(a in b)"'),
        ("{{ x }}", '"{{ x }}"'),
        ("{{ x }}/y", '"{{ x }}/y"'),
        ("{{ x }}{{ y }}", '"{{ x }}{{ y }}"'),
        ("{{ x if y else z }}", '"{{ x if y else z }}"'),
        ("{{ x | default('a, b') }}", "\"{{ x | default('a, b') }}\""),
        ('{{ x | default("a") }}', "'{{ x | default(\"a\") }}'"),
        ("@x", '"@x"'),
        ("`x`", '"`x`"'),
        ("%d items", '"%d items"'),
        ("[a-z]+", '"[a-z]+"'),
        ("[a] || [b]", '"[a] || [b]"'),
        ("a ? b : c", '"a ? b : c"'),
        ("note: this", '"note: this"'),
        ("ends with:", '"ends with:"'),
        ("*", '"*"'),
        ("*_read", '"*_read"'),
        ("&& x", '"&& x"'),
        ("> 5", '"> 5"'),
        ("|x", '"|x"'),
        ('"a" in b', "'\"a\" in b'"),
        ("'it's'", '"it\'s"'),
        ('"it\'s" == b', "'\"it''s\" == b'"),
    ],
)
@pytest.mark.parametrize("form", ["a: %s", "t:\n  - b: %s  # why", '"a b": %s\nc: d\n'])
def test_a_text_that_needed_quotes_gets_one_hint(form, value, hint) -> None:
    found = fault(form.replace("%s", value))

    assert found.hint == f"quote this: {hint}"
    assert found.line == form[: form.index("%s")].count("\n") + 1
    assert found.column == form.index("%s") - form.rfind("\n", 0, form.index("%s"))


@pytest.mark.parametrize("value", ["{{ x }}", "{{ x }}/y", "@x", "`x`", "[a-z]+", "*_read", "!x y"])
@pytest.mark.parametrize("form", ["q: {a: %s, b: 1}", "q: [a, %s, b]", "q: {a: [1, {b: %s}]}"])
def test_the_hint_knows_the_end_of_an_item(form, value) -> None:
    found = fault(form.replace("%s", value))

    assert found.hint == f'quote this: "{value}"'
    assert found.column == form.index("%s") + 1


def test_the_hint_is_yaml_that_gives_the_text() -> None:
    for text in ["\"a\" in 'b'", "back\\slash: x", "it's: x", '{{ x }}: "y"']:
        hint = fault(f"a: {text}").hint

        assert data(f"a: {hint.removeprefix('quote this: ')}") == {"a": text}


def test_a_syntax_error_is_the_only_fault_of_its_file() -> None:
    made = document("a: 1\na: .nan\nb: !foo c\nd: e: f\n")

    assert [one.code for one in made.faults] == ["yaml-syntax"]
    assert made.data is None
    assert list(made.variants()) == []


def test_a_fault_knows_its_path() -> None:
    made = document("tools:\n  pay:\n    a b: [1, {x: .nan}]\n")

    assert made.faults[0].path == 'tools.pay."a b"[1].x'


def test_many_faults_end_with_one_that_says_so() -> None:
    made = document("[" + ".nan," * 5000 + "]")

    assert len(made.faults) == 1001
    assert made.faults[-1].code == "too-many-faults"


# characters


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"\xff\xfea\0", "UTF-16"),
        (b"\xfe\xff\0a", "UTF-16"),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
        (b"\0\0\xfe\xff\0\0\0a", "UTF-32"),
        (b"a: b\n\xe9: c", "byte 0xe9 at offset 5"),
        (b"\xef\xbb\xbfa: \xe9", "byte 0xe9 at offset 6"),
        (b"a: \xed\xa0\x80", "byte 0xed at offset 3"),
    ],
)
def test_a_file_that_is_not_utf8_is_refused(source, words) -> None:
    [found] = read(source, "f.yaml").faults

    assert found.code == "not-utf8"
    assert words in found.message


def test_the_place_of_a_byte_that_is_not_utf8_counts_characters() -> None:
    [found] = read("a: 1\nb: 日本".encode() + b"\xff", "f.yaml").faults

    assert (found.line, found.column) == (2, 6)


def test_utf16_without_a_mark_is_recognised() -> None:
    [found] = read("a: b".encode("utf-16-le"), "f.yaml").faults

    assert found.code == "control-characters"
    assert "UTF-16" in found.hint


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("a: x\u202ey", "error"),
        ("a: 1 # \u2066", "error"),
        ("a: \U000e0041", "error"),
        ("a\u200bb: 1", "error"),
        ("a\u200db: 1", "error"),
        ('"a\\u200db": 1', "error"),
        ('"a\\x07": 1', "error"),
        ("id: a\u200bb", "error"),
        ('rules: [{id: "a\\u202e"}]', "error"),
        ("description: a\u200bb", "warning"),
        ("description: a\u200db", "warning"),
        ("description: a\u00adb", "warning"),
    ],
)
def test_characters_that_nobody_sees_are_found(text, severity) -> None:
    worst = document(text).faults[0]

    assert (worst.code, worst.severity) == ("hidden-characters", severity)


@pytest.mark.parametrize(
    "text", ["a: 👨‍👩‍👧 family", "a: می‌خواهم", 'a: "\\u202e\\x1b"', "a: ⚠️", "a: ﷽", "a: क्‍ष"]
)
def test_joiners_of_scripts_and_emoji_and_written_escapes_are_fine(text) -> None:
    assert document(text).faults == []


def test_one_line_of_hidden_characters_is_one_fault() -> None:
    assert fault("a: \u200b\u200b \u202e x\u200b").severity == "error"


# places


def test_places_count_lines_and_columns_from_one() -> None:
    made = document("a: 1\nb:\n  - x\n  - {c: yes, d: [1, 22]}\n")

    assert made.span(("a",)) == Span(1, 4, 1, 5)
    assert made.span(("b", 1, "d", 1)) == Span(4, 21, 4, 23)
    assert made.span(("b", 1, "d"), on_key=True) == Span(4, 14, 4, 15)


def test_windows_line_ends_count_once() -> None:
    made = document("a: 1\r\nb:\r\n  c: |\r\n    x\r\n    y\r\n  d: 2\r\n")

    assert made.span(("b", "d")) == Span(6, 6, 6, 7)
    assert made.data["b"]["c"] == "x\ny\n"


def test_wide_characters_are_one_column_each() -> None:
    assert document("日本: 東京\n🎉🎉: {x: 1}\n").span(("🎉🎉", "x")) == Span(2, 9, 2, 10)


def test_a_path_that_ends_early_leads_to_the_deepest_node() -> None:
    made = document("tools:\n  pay:\n    http: {url: x}\n    tags: [a]\n")

    assert at(made, "tools", "pay", "nope") == "pay"
    assert at(made, "tools", "pay", "http", "nope", "deeper") == "http"
    assert at(made, "tools", "pay", "tags", 7) == "tags"
    assert at(made, "tools", "pay", "http", "url", "x") == "x"
    assert made.span(("nope",)) == made.span(()) == Span(1, 1, 5, 1)


def test_a_block_mapping_and_an_empty_value_are_shown_by_their_key_and_a_list_by_its_dash() -> None:
    made = document("tools:\n  pay:\n    tags:\n      - a\n    http:\n    flow: {a: 1}\n")

    assert at(made, "tools", "pay") == "pay"
    assert at(made, "tools", "pay", "tags") == "-"
    assert at(made, "tools", "pay", "http") == "http"
    assert at(made, "tools", "pay", "flow") == "{a: 1}"


def test_anchors_and_tags_do_not_belong_to_a_value() -> None:
    made = document("a: &x !!str word\nb: !!map &y # why\n  c: 1\n")

    assert at(made, "a") == "word"
    assert at(made, "b", "c") == "1"


def test_places_of_an_unusable_file_go_as_far_as_it_was_read() -> None:
    made = document("a: 1\nb: {c: 2}\nd: e: f\n")

    assert made.span(("b", "c")).line == 2
    assert document("\0").span(("a",)) == Span(1, 1, 1, 1)


@pytest.mark.parametrize(
    ("source", "offset", "expected"),
    [
        ("a: hello", 2, (1, 6)),
        ("a: one\n  two\n\n  three", 4, (2, 3)),
        ("a: one\n  two\n\n  three", 8, (4, 3)),
        ("a: 'it''s {{ x }}'", 5, (1, 11)),
        ('a: "x\\n\\u00e9{{ y"', 3, (1, 14)),
        ('a: "x \\\n   y {{"', 4, (2, 6)),
        ('a: "one\n  two"', 4, (2, 3)),
        ("a: 日本{{ x", 2, (1, 6)),
        ("a: |\n  one\n   {{ x }}\n", 5, (3, 4)),
        ("a: |2-\n   one\n  {{ x }}\n", 5, (3, 3)),
        ("a: >\n  one\n  two\n\n  {{ x }}\n", 8, (5, 3)),
        ("a: |  # why\n  one two\n", 4, (2, 7)),
        ("a: hello", 99, (1, 9)),
        ("a: |\n  x\n", 99, (3, 1)),
        ("b: &q '{{ x'\na: *q", 3, (1, 11)),
        ("a: &q |\n  {{ x\n", 3, (2, 6)),
    ],
)
def test_an_offset_into_a_text_finds_its_character(source, offset, expected) -> None:
    span = document(source).span(("a",), offset=offset)

    assert (span.line, span.column) == expected


def test_a_plain_scalar_can_be_had_as_written() -> None:
    made = document("a: 1.10\nb: 0x1F\nc: '1'\nd: {e: True}\nf: &x 007\ng: *x\nh:\n")

    assert made.source_text(("a",)) == "1.10"
    assert made.source_text(("b",)) == "0x1F"
    assert made.source_text(("c",)) is None
    assert made.source_text(("d",)) is None
    assert made.source_text(("d", "e")) == "True"
    assert made.source_text(("g",)) == "007"
    assert made.source_text(("h",)) == ""
    assert made.source_text(("nope",)) is None


def test_a_document_keeps_no_places_until_somebody_asks() -> None:
    made = document("a: 1\nb: [1, 2]\n")

    assert made._lookup._places is None
    made.span(("a",))
    assert made._lookup._places is not None


def test_repeated_keys_share_one_text() -> None:
    first, second = data("[{some_key: 1}, {some_key: 2}]")

    assert next(iter(first)) is next(iter(second))


def test_paths_are_shown_as_people_read_them() -> None:
    assert dotted(("tools", "pay", "retry", 0, "a.b", "x-y", 'q"')) == (
        'tools.pay.retry[0]."a.b".x-y."q\\""'
    )
    assert dotted(()) == ""


# properties

characters = st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029\ufeff")
texts = st.text(characters, max_size=20).filter(
    lambda text: scalars.plain(text[:40]) is text[:40] or not text
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    elif isinstance(value, str) and value:
        yield path, value


@quick
@given(value=values, style=st.sampled_from([None, True, False]), unicode=st.booleans())
def test_what_pyyaml_writes_is_read_back(value, style, unicode) -> None:
    text = yaml.safe_dump(value, default_flow_style=style, allow_unicode=unicode, width=30)
    made = read(text.encode(), "f.yaml")

    assert [one for one in made.faults if one.code != "hidden-characters"] == []
    assert made.data == ({} if value is None else value)


@quick
@given(
    value=st.dictionaries(
        st.from_regex(r"[a-z]{1,5}", fullmatch=True),
        st.recursive(
            st.from_regex(r"[a-z]{2,30}", fullmatch=True),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=5,
        ),
        max_size=4,
    ),
    style=st.sampled_from([None, True, False]),
)
def test_the_span_of_a_text_begins_with_it(value, style) -> None:
    text = yaml.safe_dump(value, default_flow_style=style, default_style=None)
    made = read(text.encode(), "f.yaml")

    for path, leaf in leaves(value):
        assert at(made, *path).strip("\"'") == leaf


@quick
@given(
    text=st.text(
        st.characters(
            codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Cn", "Co"]
        )
        | st.sampled_from(" \n'\"\\"),
        min_size=1,
        max_size=30,
    ),
    style=st.sampled_from(["'", '"', "|", ">"]),
    offset=st.integers(0, 29),
    width=st.sampled_from([10, 200]),
)
def test_every_character_is_found_at_its_own_place(text, style, offset, width) -> None:
    written = yaml.safe_dump({"a": text}, default_style=style, allow_unicode=True, width=width)
    made = read(written.encode(), "f.yaml")
    offset %= len(text)
    span = made.span(("a",), offset=offset)
    there = made.text.split("\n")[span.line - 1][span.column - 1 :]

    assert made.data == {"a": text}
    if text[offset].isalnum():
        assert there.startswith((text[offset], "\\"))


@quick
@given(source=st.binary(max_size=200))
def test_no_bytes_make_the_reader_raise(source) -> None:
    made = read(source, "f.yaml")

    assert made.data is not None or made.faults


@quick
@given(text=st.text(st.sampled_from("ab:{}[]&*!|>-?#,'\"%@` \n\t<1.{{}}é日\u202e"), max_size=60))
def test_no_text_makes_the_reader_raise_or_wait(text) -> None:
    began = time.process_time()
    made = document(text)

    assert made.data is not None or made.faults
    for one in made.faults:
        assert 1 <= one.line <= text.count("\n") + 1
        assert one.column >= 1
    made.span(("a", 0, "b"), offset=3)
    assert time.process_time() - began < 3
