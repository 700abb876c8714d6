"""What `freshness` cannot work with is refused when the files are loaded."""

import pytest

from toolrt.runtime import load
from toolrt.testing import write_files

KIT = """
from toolrt import Context


def look(shelf: str, call: Context) -> str:
    '''Look.'''


def fill(shelf: str, call: Context, note: str | None = None) -> str:
    '''Fill.'''
"""
TOOLS = """
tools:
  look: {{python: "kit:look", effect: read}}
  kept: {{python: "kit:look", effect: read, cache: 5m}}
  shown:
    description: Shows.
    parameters: {{shelf: string}}
    command: [printf, "%s", "{{{{ shelf }}}}"]
    effect: read
  bare: {{description: Shows all., parameters: {{}}, command: [ls], effect: read}}
  fill:
    python: "kit:fill"
    freshness: {0}
"""


def found(tmp_path, written):
    """Each diagnostic: its code, what stands at its place, the hint."""
    files = {"kit.py": KIT, "tools.d/t.yaml": TOOLS.format(written)}
    compiled = load(write_files(tmp_path, files), environ={})
    lines = (tmp_path / "tools.d/t.yaml").read_text().splitlines()
    return [
        (one.code, lines[one.line - 1][one.column - 1 :].rstrip("}"), one.hint)
        for one in compiled.diagnostics
    ]


SHELF = 'resource: "{{ shelf }}"'


def test_what_works_is_told_nothing_of(tmp_path):
    assert found(tmp_path, f"{{{SHELF}, read_by: [look]}}") == []


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (f"{{{SHELF}, read_by: [lok]}}", ("no-such-tool", "lok]", "did you mean `look`?")),
        (f"{{{SHELF}, read_by: [look, kept]}}", ("unfit-link", "kept]", "name a tool without a cache")),
        (f"{{{SHELF}, read_by: [shown]}}",
            ("weak-freshness", "shown]",
                "python tools tell one with `Context.saw`, and http tools one another by ETag")),
        ("{resource: shelf, read_by: [look]}",
            ("unfit-resource", "shelf, read_by: [look]", "write `{{ shelf }}`")),
        ('{resource: "{{ call.id }}", read_by: [look]}',
            ("unfit-resource", '"{{ call.id }}", read_by: [look]', "name what is changed")),
        ('{resource: "${env:X}", read_by: [look]}',
            ("disallowed", '"${env:X}", read_by: [look]', "name parameters, such as `{{ path }}`")),
        ('{resource: "{{ shelve }}", read_by: [look]}',
            ("unknown-name", 'shelve }}", read_by: [look]', "did you mean `shelf`?")),
    ],
)  # fmt: skip
def test_what_cannot_work_is_told_at_its_place(tmp_path, written, told):
    assert found(tmp_path, written) == [told]


def test_a_reader_has_to_take_what_the_thing_is_named_by(tmp_path):
    codes = [each[:2] for each in found(tmp_path, f"{{{SHELF}, read_by: [bare]}}")]

    assert codes == [("unfit-link", "bare]"), ("weak-freshness", "bare]")]


def test_what_may_be_left_out_names_nothing(tmp_path):
    text = """
    description: Fills.
    parameters: {shelf: {type: string, required: false}}
    command: [echo, "{{ shelf }}"]
    freshness: {resource: "{{ shelf }}", read_by: [look]}
"""
    tools = f"tools:\n  look: {{python: 'kit:look', effect: read}}\n  fill:{text}"
    compiled = load(write_files(tmp_path, {"kit.py": KIT, "tools.d/t.yaml": tools}), environ={})

    assert [(each.code, each.hint) for each in compiled.diagnostics] == [
        ("unfit-resource", "require it, or give a default")
    ]


def test_what_only_reads_has_no_use_for_it(tmp_path):
    text = f"{{{SHELF}, read_by: [look]}}\n    effect: read"

    assert [each[0] for each in found(tmp_path, text)] == ["no-effect"]


def test_one_thing_may_be_the_same_for_all_calls(tmp_path):
    assert found(tmp_path, "{resource: the shop, read_by: [look]}") == []
