"""Tools that name other tools: what cannot work is refused when the files are loaded (E12, E14)."""

from pathlib import Path

import pytest

from toolrt.runtime import load
from toolrt.testing import write_files

OTHERS = """
  pay:
    description: Pays.
    parameters: {invoice: string}
    http: {url: https://example.com/pay, method: POST, json: {invoice: "{{ invoice }}"}}
  look:
    description: Looks.
    parameters: {invoice: string}
    effect: read
    http: https://example.com/{{ invoice }}
  kept:
    description: Looks, and keeps what it saw.
    parameters: {invoice: string}
    effect: read
    http: https://example.com/{{ invoice }}
    cache: 5m
  private:
    description: For people.
    effect: read
    http: https://example.com/x
    result: {to: user}
"""


def found(tmp_path: Path, text: str) -> list[tuple[str, str, str | None]]:
    """Each diagnostic: code, what stands at its place, hint."""
    files = {"tools.d/t.yaml": f"tools:{OTHERS}{text}"}
    compiled = load(write_files(tmp_path, files), environ={})
    lines = (tmp_path / "tools.d/t.yaml").read_text().splitlines()
    return [
        (one.code, lines[one.line - 1][one.column - 1 :], one.hint)
        for one in compiled.diagnostics
        if one.code != "not-yet"
    ]


def tool(written: str, parameters: str = "{invoice: string}") -> str:
    return f"""
  mine:
    description: Mine.
    parameters: {parameters}
    http: {{url: https://example.com/m, method: POST, json: {{i: "{{{{ invoice }}}}"}}}}
    {written}
"""


@pytest.mark.parametrize(
    ("written", "code", "place"),
    [
        ("fallback: pey", "no-such-tool", "pey"),
        ("fallback: mine", "endless-links", "mine"),
        ("fallback: private", "unfit-link", "private"),
        ("fallback: {stale: true}", "needs-cache", "true}"),
        ("verify: {tool: pay, args: {invoice: a}, applied_when: result.x}", "unfit-link", "pay,"),
        ("verify: {tool: kept, args: {invoice: a}, applied_when: result.x}", "unfit-link", "kept,"),
        ("verify: {tool: look, applied_when: result.x}", "missing-argument", "look,"),
        ("verify: {tool: look, args: {invoice: a, b: 1}, applied_when: result.x}",
         "unknown-argument", "b: 1}"),
        ("verify: {tool: look, args: {invoice: '{{ invoize }}'}, applied_when: result.x}",
         "unknown-name", "invoize }}'}"),
        ("verify: {tool: look, args: {invoice: a}, applied_when: args.invoize == 'x'}",
         "unknown-name", "invoize == 'x'}"),
        ("verify: {tool: look, args: {invoice: '${env:X}'}, applied_when: result.x}",
         "disallowed", "{invoice: '${env:X}'}"),
        ("poll: {tool: pay, args: {invoice: a}, every: 1s, until: result.x}", "unfit-link", "pay,"),
        ("poll: {tool: look, args: {invoice: a}, every: 0s, until: result.x}", "out-of-range", "0s"),
        ("poll: {tool: look, args: {invoice: '{{ result.id }}'}, every: 1s, until: 'result.'}",
         "invalid-condition", ""),
        ("idempotency_key: '{{ call.id }}'", "weak-key", "'{{ call.id }}'"),
        ("idempotency_key: constant", "weak-key", "constant"),
        ("idempotency_key: '{{ invoize }}'", "unknown-name", "invoize }}'"),
    ],
)  # fmt: skip
def test_a_link_that_cannot_work_is_one_error_at_its_place(tmp_path, written, code, place):
    faults = found(tmp_path, tool(written))

    assert [each[0] for each in faults] == [code]
    assert faults[0][1].startswith(place)


def test_the_nearest_tool_is_named(tmp_path):
    assert "`look`" in found(tmp_path, tool("fallback: loook"))[0][2]


@pytest.mark.parametrize("effect", ["write", "irreversible"])
def test_a_tool_that_only_reads_has_no_fallback_that_changes_something(tmp_path, effect):
    reader = tool("effect: read\n    fallback: other")
    written = f"""
  other:
    description: Changes something.
    effect: {effect}
    command: [rm, x]
"""

    [(code, place, hint)] = found(tmp_path, reader + written)

    assert (code, place) == ("unfit-link", "other")
    assert "effect: read" in hint


def test_what_changes_something_may_have_any_fallback(tmp_path):
    assert found(tmp_path, tool("fallback: look")) == []
    assert found(tmp_path, tool("fallback: pay")) == []


def test_what_is_sensitive_here_is_sensitive_there(tmp_path):
    written = tool("fallback: pay", "{invoice: {type: string, sensitive: true}}")

    assert [each[0] for each in found(tmp_path, written)] == ["unfit-link"]


def test_a_fallback_gets_all_that_it_needs(tmp_path):
    written = tool("fallback: look", "{invoices: string}").replace(
        "{{ invoice }}", "{{ invoices }}"
    )

    assert [each[:2] for each in found(tmp_path, written)] == [("missing-argument", "look")]


def test_e14_a_circle_of_tools_is_told_at_each_of_them_with_the_whole_way(tmp_path):
    rows = {"a": "b", "b": "c", "c": "a"}
    text = "".join(
        f"""
  {name}:
    description: One of a circle.
    effect: read
    http: https://example.com/x
    fallback: {other}
"""
        for name, other in rows.items()
    )
    files = write_files(tmp_path, {"tools.d/t.yaml": f"tools:{text}"})

    messages = [one.message for one in load(files, environ={}).diagnostics]

    assert messages[0] == "these tools call each other without end: `a` → `b` → `c` → `a`"
    assert len(messages) == 3


def row(count: int) -> str:
    return "".join(
        f"""
  t{number}:
    description: One of a row.
    effect: read
    http: https://example.com/x
    {"" if number == count - 1 else f"fallback: t{number + 1}"}
"""
        for number in range(count)
    )


def test_e14_more_than_four_calls_below_one_are_refused(tmp_path):
    fits = write_files(tmp_path / "a", {"tools.d/t.yaml": f"tools:{row(5)}"})
    deep = write_files(tmp_path / "b", {"tools.d/t.yaml": f"tools:{row(6)}"})

    assert load(fits, environ={}).ok
    assert [one.code for one in load(deep, environ={}).diagnostics] == ["endless-links"]


def test_a_verify_of_a_tool_that_only_reads_is_a_warning(tmp_path):
    written = """
  mine:
    description: Mine.
    effect: read
    http: https://example.com/m
    verify: {tool: look, args: {invoice: a}, applied_when: result.x}
"""
    assert [each[:2] for each in found(tmp_path, written)] == [
        ("no-effect", "verify: {tool: look, args: {invoice: a}, applied_when: result.x}")
    ]
