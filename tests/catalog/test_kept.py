"""What is compiled once, and what must not be."""

import pytest

from toolrt.bindings.base import Services
from toolrt.reloading.workspace import Workspace
from toolrt.testing import write_files

FILES = {
    "toolrt.yaml": "vars: {unit: km}\n",
    "tools.d/a.yaml": """\
        targets:
          api: {url: https://api.example.com}
        defaults: {timeout: 5s}
        tools:
          far: {description: Far., http: {target: api, url: /far}}
          near: {description: Near., command: [true]}
        """,
    "tools.d/b.yaml": """\
        tools:
          other: {description: Other., http: {target: api, url: "/{{ vars.unit }}"}}
          keyed:
            description: Keyed.
            http: {url: https://example.com, headers: {X-Key: "${env:KEPT_KEY}"}}
        """,
    "policies.d/p.yaml": "default: allow\nrules: []\n",
}


@pytest.fixture
def compiled(tmp_path):
    """`compiled(**changes)`: the bindings after some files changed, by name; errors are asserted."""
    root = write_files(tmp_path, FILES)
    environ = {}
    workspace = Workspace(root, Services(root), environ)

    def again(changes=(), is_ok=True):
        write_files(root, dict(changes))
        made = workspace.compile(workspace.stock())
        assert made.ok is is_ok, made.diagnostics
        return {tool.name: tool.binding for tool in made.snapshot.tools.values()} if is_ok else made

    again.environ = environ
    return again


def same(before, after):
    return {name for name in before if before[name] is after.get(name)}


def test_a_tool_of_a_file_that_has_not_changed_is_kept(compiled):
    before = compiled()
    after = compiled({"tools.d/c.yaml": "tools: {more: {description: M., command: [true]}}\n"})

    assert same(before, after) == {"far", "near", "other"}


def test_a_tool_with_a_reason_not_to_be_called_is_looked_at_again(compiled):
    before = compiled()
    compiled.environ["KEPT_KEY"] = "a-value"
    after = compiled()
    later = compiled()
    del compiled.environ["KEPT_KEY"]

    assert "keyed" not in same(before, after)
    assert "keyed" in same(after, later)
    assert "keyed" not in same(later, compiled())


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"toolrt.yaml": "vars: {unit: mi}\n"}, set()),
        ({"tools.d/a.yaml": FILES["tools.d/a.yaml"].replace("api.", "api2.")}, set()),
        ({"tools.d/a.yaml": FILES["tools.d/a.yaml"].replace("5s", "6s")}, set()),
        ({"policies.d/p.yaml": "default: allow\nsettings: [{tools: [near], timeout: 9s}]\n"},
         {"far", "other"}),
        ({"policies.d/p.yaml": "default: deny\nrules: []\n"}, {"far", "near", "other"}),
    ],
)  # fmt: skip
def test_what_a_tool_is_made_of_decides(compiled, changes, kept):
    before = compiled()

    assert same(before, compiled(changes)) == kept


def test_a_tool_whose_target_is_gone_is_an_error_even_after_a_file_that_hid_it(compiled):
    compiled()
    compiled({"tools.d/a.yaml": "targets: ["}, is_ok=False)
    made = compiled({"tools.d/a.yaml": "tools: {}\n"}, is_ok=False)

    assert "unknown-target" in {one.code for one in made.diagnostics}


def test_warnings_of_a_kept_tool_are_told_each_time(compiled):
    compiled(
        {
            "tools.d/c.yaml": "tools: {w: {description: W., command: [true], parameters: {x: string}}}\n"
        }
    )
    later = compiled({"tools.d/d.yaml": "tools: [\n"}, is_ok=False)

    assert "unused-parameter" in {one.code for one in later.diagnostics}


def test_a_broken_generation_forgets_nothing_of_the_one_before(compiled):
    before = compiled()
    compiled({"tools.d/d.yaml": "tools: 1\n"}, is_ok=False)
    after = compiled({"tools.d/d.yaml": "tools: {}\n"})

    assert same(before, after) == {"far", "near", "other"}


def test_a_broken_file_that_may_have_targets_costs_only_the_tools_that_name_one(compiled):
    before = compiled()
    compiled({"tools.d/d.yaml": "targets: ["}, is_ok=False)
    after = compiled({"tools.d/d.yaml": "tools: {}\n"})

    assert same(before, after) == {"near"}


def test_a_rule_is_compiled_again_when_a_tool_that_it_hits_takes_other_arguments(compiled):
    tool = (
        "tools: {p: {description: P., command: [echo, '{{ KEY }}'], parameters: {KEY: integer}}}\n"
    )
    rule = "default: allow\nrules: [{id: r, decide: deny, tools: [p], when: args.n > 1}]\n"
    compiled({"tools.d/c.yaml": tool.replace("KEY", "n"), "policies.d/p.yaml": rule})
    made = compiled({"tools.d/c.yaml": tool.replace("KEY", "m")}, is_ok=False)

    assert {one.file for one in made.diagnostics if one.severity == "error"} == {
        "policies.d/p.yaml"
    }
