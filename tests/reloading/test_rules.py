"""What policy is told of the tools of a project that is compiled again."""

import pytest

from toolrt.bindings.base import Services
from toolrt.reloading.workspace import Workspace
from toolrt.testing import write_files

ONE = "tools:\n  one: {description: One., command: [true], tags: [TAG]}\n"
TWO = "tools:\n  two: {description: Two., command: [true]}\n"
RULES = """\
default: allow
rules:
- {id: calm, decide: deny, tools: ["*"], when: '"wild" in tool.tags'}
"""


@pytest.fixture
def decided(tmp_path):
    """`decided(**files)`: what is known of each tool after some files of tools changed."""
    workspace = Workspace(tmp_path, Services(tmp_path), {})
    write_files(tmp_path, {"policies.d/p.yaml": RULES})

    def again(**files):
        write_files(tmp_path, {f"tools.d/{name}.yaml": text for name, text in files.items()})
        made = workspace.compile(workspace.stock())
        assert made.ok, made.diagnostics
        return {name: each.tool for name, each in made.snapshot.rules.tools.items()}

    return again


def test_what_is_known_of_a_tool_that_has_not_changed_is_the_same_object(decided):
    before = decided(one=ONE, two=TWO)
    after = decided(one=ONE.replace("TAG", "wild"))

    assert after["two"] is before["two"]
    assert after["one"].root["tags"] == ["wild"]


def test_a_tool_that_comes_back_is_known_as_it_is_then(decided):
    decided(one=ONE, two=TWO)
    decided(two="tools: {}\n")

    assert decided(two=TWO.replace("Two.", "Again."))["two"].name == "two"
