"""Plans in files: what cannot work is a fault at its place when they are loaded (U78)."""

from pathlib import Path

import pytest

from toolrt.runtime import load
from toolrt.testing import write_files

OTHERS = """
  find: {description: F., parameters: {q: string, n: {type: integer, default: 1}}, effect: read, python: "stub:one"}
  pay: {description: P., parameters: {to: string, note: {type: string, sensitive: true, default: ""}}, python: "stub:one"}
  wipe: {description: W., effect: irreversible, python: "stub:one"}
  own: {description: O., effect: read, python: "stub:one", result: {to: user}}
"""
STUB = "def one(**given: str) -> None:\n    pass\n"


def found(tmp_path: Path, steps: str, more: str = "") -> list[tuple[str, str]]:
    """Each error: its code, and what stands at its place."""
    text = f"tools:{OTHERS}  mine:\n    description: M.\n    parameters: {{q: string, s: {{type: string, sensitive: true}}}}\n"
    lines = "".join(f"\n      - {line}" for line in steps.strip().splitlines())
    text += f"    {more}\n    steps:{lines}\n"
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text, "stub.py": STUB}), environ={})
    written = (tmp_path / "tools.d/t.yaml").read_text().splitlines()
    return [
        (one.code, written[one.line - 1][one.column - 1 :])
        for one in compiled.diagnostics
        if one.severity == "error"
    ]


@pytest.mark.parametrize(
    ("steps", "code", "place"),
    [
        ("{id: a, tool: fnd}", "no-such-tool", "fnd"),
        ('{id: a, tool: find, args: {q: "{{ steps.b.data }}"}}\n{id: b, tool: wipe}', "later-step", "{q"),
        ('{id: a, tool: find, args: {q: "{{ steps.a.data }}"}}', "later-step", "{q"),
        ('{id: a, tool: find, args: {q: "{{ steps.x.data }}"}}', "unknown-name", "x.data"),
        ('{id: a, tool: wipe}\n{id: b, tool: find, args: {q: "{{ steps.a.name }}"}}', "unknown-name", "{q"),
        ('{id: a, tool: wipe}\n{id: b, tool: wipe, when: "steps.c.data"}', "unknown-name", "c.data"),
        ('{id: a, tool: wipe, when: "steps.b.data == 1"}\n{id: b, tool: wipe}', "later-step", '"steps'),
        ('{id: a, tool: wipe, when: "item == 1"}', "unknown-name", "item"),
        ('{id: a, tool: find, args: {q: "{{ item }}"}}', "unknown-name", "item"),
        ('{id: a, tool: find, for_each: q, args: {q: "{{ item }}"}}', "invalid-template", "q, args"),
        ("{id: a, tool: wipe}\n{id: a, tool: wipe}", "duplicate-step", "a, tool"),
        ("{id: A-1, tool: wipe}", "out-of-range", "A-1"),
        ("{id: a, tool: wipe, on_error: stop}", "invalid-value", "stop"),
        ("{id: a, tool: wipe, on_error: {vlue: 1}}", "unknown-key", "vlue"),
        ("{id: a, tool: find, args: {q: x, m: 1}}", "unknown-argument", "m: 1"),
        ("{id: a, tool: find}", "missing-argument", "find"),
        ("{id: a, tool: find, args: {q: 3}}", "wrong-argument", "3"),
        ("{id: a, tool: find, args: {q: x, n: {a: [1]}}}", "wrong-argument", "{a"),
        ('{id: a, tool: pay, args: {to: "{{ s }}"}}', "unfit-link", '"{{ s'),
        ('{id: a, tool: pay, args: {to: "a-{{ s }}"}}', "unfit-link", '"a-'),
        ('{id: a, tool: pay, for_each: "{{ s }}", args: {to: "{{ item }}"}}', "unfit-link", '"{{ item'),
        ('{id: a, tool: wipe, on_error: {value: "{{ s }}"}}', "unfit-link", '"{{ s'),
        ("{id: a, tool: own}", "unfit-link", "own"),
        ("{id: a, tool: mine, args: {q: x, s: y}}", "endless-links", "mine"),
        ('{id: a, tool: find, args: {q: "${secret:x}"}}', "disallowed", "{q"),
    ],
)  # fmt: skip
def test_a_fault_of_a_step_stands_where_it_is_written(tmp_path, steps, code, place):
    faults = [one for one in found(tmp_path, steps) if one[0] == code]

    assert faults, found(tmp_path, steps)
    assert faults[0][1].startswith(place)


@pytest.mark.parametrize(
    "steps",
    [
        '{id: a, tool: find, args: {q: "{{ q }}"}}\n{id: b, tool: pay, args: {to: "{{ steps.a.data.x.y }}", note: "{{ s }}"}}',
        '{id: a, tool: find, args: {q: x}}\n{id: b, tool: find, for_each: "{{ steps.a.data }}", args: {q: "{{ item.q }}"}, when: "item.n > 2 && steps.a.status == \'success\'"}',
        '{id: a, tool: wipe, on_error: continue}\n{id: b, tool: wipe, on_error: {value: "{{ steps.a.text }}"}}',
        "{id: a_long_one, tool: wipe}",
    ],
)  # fmt: skip
def test_what_is_right_is_no_fault(tmp_path, steps):
    assert found(tmp_path, steps) == []


@pytest.mark.parametrize(("effect", "is_fault"), [("read", True), ("write", True), ("irreversible", False)])  # fmt: skip
def test_a_plan_says_of_itself_no_less_than_its_strongest_step(tmp_path, effect, is_fault):
    faults = found(tmp_path, "{id: a, tool: own}\n{id: b, tool: wipe}", f"effect: {effect}\n    result: {{to: user}}")  # fmt: skip

    assert faults == ([("weak-effect", effect)] if is_fault else [])


def test_rows_of_plans_that_are_too_long_are_faults(tmp_path):
    tools = "".join(
        f"  p{n}: {{description: P., steps: [{{id: a, tool: p{n + 1}}}]}}\n" for n in range(6)
    )
    text = f"tools:{OTHERS}{tools}  p6: {{description: P., steps: [{{id: a, tool: wipe}}]}}\n"
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text, "stub.py": STUB}))

    assert {one.code for one in compiled.diagnostics if one.severity == "error"} == {
        "endless-links"
    }


def test_what_is_about_attempts_does_nothing_for_a_plan(tmp_path):
    text = f"tools:{OTHERS}  mine: {{description: M., rate: 1/1m, retry: none, steps: [{{id: a, tool: wipe}}]}}\n"  # fmt: skip
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text, "stub.py": STUB}))

    found = [(one.code, one.message.split()[0]) for one in compiled.diagnostics]
    assert found == [("no-effect", "`rate`"), ("no-effect", "`retry`")]
