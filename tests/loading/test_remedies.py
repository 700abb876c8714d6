"""What to write instead: the slips that people make most, as `check` tells them."""

import pytest

from toolrt.loading import remedies
from toolrt.runtime import load

HEAD = "tools:\n  a:\n    description: x\n"


def told(tmp_path, text):
    """The hint of each diagnostic, by its code."""
    (tmp_path / "tools.d").mkdir()
    (tmp_path / "tools.d" / "a.yaml").write_text(text)
    return {each.code: each.hint for each in load(tmp_path).diagnostics}


@pytest.mark.parametrize(
    ("line", "code", "hint"),
    [
        ("timeout: 10", "invalid-duration", "write `10s`"),
        ("timeout: {total: 5 minutes}", "invalid-duration", "write `5m`"),
        ("timeout: soon", "invalid-duration", None),
        ("result: {max_size: 50kb}", "invalid-size", "write `50KB`"),
        ("retry: 5", "wrong-type", "write `{attempts: 5}`"),
        ("retry: 20", "wrong-type", "write `{attempts: 10}`"),
        ("retry: false", "wrong-type", "write `none`"),
        ("breaker: 3", "wrong-type", "write `{failures: 3}`"),
        ("breaker: true", "wrong-type", "write `{}`"),
        ("breaker: 0", "wrong-type", None),
        ("rate: 60", "wrong-type", "write `60/1m`"),
        ("command: {argv: [ls], sandbox: true}", "wrong-type", "write `{}`"),
        ("command: {argv: [ls], sandbox: false}", "wrong-type", None),
        ("enabled: yes", "wrong-type", "write `true`"),
        ("enabled: Off", "wrong-type", "write `false`"),
        ("enabled: maybe", "wrong-type", None),
        ("tags: money", "wrong-type", "write `[money]`"),
        ("tags: '*'", "wrong-type", 'write `["*"]`'),
        ("tags: two words", "wrong-type", None),
        ("retries: 3", "unknown-key", "did you mean `retry`?"),
        ("parameters: [b]", "wrong-type", "write `parameters: {b: string}`"),
        ("parameters: {b: string?}", "unknown-type", "write `{type: string, required: false}`"),
        ("parameters: {b: int?}", "unknown-type", "write `{type: integer, required: false}`"),
        ("parameters: {b: date}", "unknown-type", "write `{type: string, format: date}`"),
        ("parameters: {b: {type: UUID}}", "unknown-type", "write `{type: string, format: uuid}`"),
    ],
)
def test_a_common_slip_is_told_with_what_to_write(tmp_path, line, code, hint):
    found = told(tmp_path, f"{HEAD}    command: [echo]\n    {line}\n")

    assert found[code] == hint


def test_a_list_of_tools_is_shown_as_a_mapping(tmp_path):
    assert told(tmp_path, "tools:\n  - name: a\n") == {"wrong-type": "write `tools: {a: {…}}`"}


def test_a_method_in_small_letters_is_known(tmp_path):
    text = f"{HEAD}    http: {{url: 'http://x.example', method: get}}\n"
    assert told(tmp_path, text) == {"invalid-value": "did you mean `GET`?"}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("1a", "it must not begin with a digit"),
        ("a-b", "letters a-z, digits and _ only"),
        ("x" * 65, "at most 64 characters"),
    ],
)
def test_a_name_is_told_which_rule_it_breaks(tmp_path, name, rule):
    (tmp_path / "tools.d").mkdir()
    text = f"{HEAD}    command: [echo]\n    parameters: {{{name}: string}}\n"
    (tmp_path / "tools.d" / "a.yaml").write_text(text)
    messages = [each.message for each in load(tmp_path).diagnostics if each.code == "bad-name"]

    assert messages == [f"`{name}` is no parameter name: {rule}"]


def test_known_keys_begin_with_those_that_look_alike():
    known = [f"key{number}x" for number in range(20)] + ["zebra_name"]

    assert remedies.key("xxxxa_name", known).startswith("known here: zebra_name, ")
    assert remedies.key("a", ["b"]) == "known here: b"
    assert remedies.key("a", []) is None


def test_where_a_merge_brought_nothing_nothing_is_missing(tmp_path):
    text = "tools:\n  a:\n    <<: *y\n    description: x\n  b: {description: x}\n"
    (tmp_path / "tools.d").mkdir()
    (tmp_path / "tools.d" / "a.yaml").write_text(text)
    found = [(each.code, each.path) for each in load(tmp_path).diagnostics]

    assert found == [("unknown-anchor", 'tools.a."<<"'), ("no-kind", "tools.b")]


def test_known_keys_begin_with_what_works_and_most_people_write():
    known = ["allow_private", "prompts", "resources", "toolsets", "success", "url", "method"]
    assert remedies.key("qqqq", known) == (
        "known here: url, method, success, allow_private, prompts, resources, toolsets"
    )
    ways = ["api_key", "basic", "bearer", "oauth2", "python"]
    assert remedies.key("qqqq", ways).startswith("known here: bearer, basic, api_key, ")


def test_only_rules_ask_so_a_default_that_asks_names_one(tmp_path):
    (tmp_path / "policies.d").mkdir()
    (tmp_path / "policies.d" / "p.yaml").write_text("default: ask\n")

    hint = told(tmp_path, f"{HEAD}    command: [ls]\n")["invalid-value"]

    assert hint == 'write a rule that asks: `rules: [{id: ask, decide: ask, tools: ["*"]}]`'
