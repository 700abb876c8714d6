"""`format: workspace-path`: checked as a text and made one spelling before any rule looks (F2)."""

import pytest

from toolrt.runtime import load
from toolrt.testing import open_files, write_files

KIT = "def show(path=None, more=None): return [path, more]\n"
TOOLS = """
tools:
  show:
    description: Shows a path.
    parameters:
      path: {type: string, format: workspace-path}
      more: {type: string, format: workspace-path, required: false}
    python: "kit:show"
    reject: [{when: args.path == "shut", reason: It is shut.}]
"""


async def called(**arguments):
    async with open_files({"tools.d/t.yaml": TOOLS, "kit.py": KIT}) as runtime:
        return await runtime.call("show", arguments)


@pytest.mark.anyio
async def test_a_path_gets_its_one_spelling():
    result = await called(path="./a//b/", more=".")

    assert result.data == ["a/b", "."]
    assert (await called(path="a")).data == ["a", None]


@pytest.mark.anyio
async def test_what_looks_at_arguments_sees_it_so():
    assert (await called(path="./shut/.")).error.message == "It is shut."


@pytest.mark.anyio
async def test_every_path_at_fault_is_told_and_nothing_runs():
    result = await called(path="../a", more="/b")

    assert (result.error.code, result.attempts) == ("invalid-arguments", 0)
    assert [each["pointer"] for each in result.error.details["faults"]] == ["/path", "/more"]
    assert "`path` must not hold `..`" in result.error.message


@pytest.mark.parametrize(
    ("parameters", "code", "severity"),
    [
        (
            "{p: {type: array, items: {type: string, format: workspace-path}}}",
            "unenforced-path",
            "error",
        ),
        ("{p: {type: string, format: workspace-paths}}", "unknown-format", "error"),
        ("{p: {type: string, format: workspace-path}}", None, None),
    ],
)
def test_where_it_would_not_be_checked_it_is_refused(tmp_path, parameters, code, severity):
    text = f"tools:\n  t: {{description: T., parameters: {parameters}, command: [echo, '{{{{ p }}}}']}}\n"
    found = load(write_files(tmp_path, {"tools.d/t.yaml": text}), environ={}).diagnostics

    assert [(each.code, each.severity) for each in found] == ([(code, severity)] if code else [])
