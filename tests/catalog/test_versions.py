"""Several versions of one tool (R5, X2): what its plain name means, and what rules say of each."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolrt
from toolrt.core.versions import order
from toolrt.dialects.names import wire_name
from toolrt.runtime import load
from toolrt.testing import open_files, write_files

TOOLS = """
namespace: w
tools:
  forecast@1:
    description: The old one.
    effect: read
    command: [echo, old]
  forecast@2.1:
    description: The new one.
    effect: read
    command: [echo, new]
"""
ALLOW = "  - {id: all, decide: allow, tools: ['*']}\n"


def rules(*more: str) -> str:
    return "rules:\n" + ALLOW + "".join(f"  - {each}\n" for each in more)


async def says(files: dict[str, str], *names: str) -> list[str]:
    """What calls of these names come to."""
    async with open_files(files) as runtime:
        ends = [await runtime.call(name, {}) for name in names]
    return [end.error.code if end.error else str(end.text).strip() for end in ends]


@pytest.mark.anyio
async def test_r5_plain_name_means_the_latest_version() -> None:
    names = ("w.forecast", "w.forecast@2.1", "w.forecast@1", "w.forecast@3")
    assert await says({"tools.d/w.yaml": TOOLS}, *names) == ["new", "new", "old", "unknown-tool"]


@pytest.mark.anyio
async def test_r5_explicit_versions_must_be_named() -> None:
    files = {"tools.d/w.yaml": TOOLS, "toolrt.yaml": "default_version: explicit\n"}
    async with open_files(files) as runtime:
        end = await runtime.call("w.forecast", {})
        listed = [entry.name for entry in await runtime.listed()]
    assert end.error is not None
    assert (end.error.code, end.error.hint) == ("unknown-tool", "did you mean `w.forecast@1`?")
    assert listed == ["w.forecast@1", "w.forecast@2.1"]


@pytest.mark.anyio
async def test_r5_lists_for_callers_hold_one_version() -> None:
    async with open_files({"tools.d/w.yaml": TOOLS}) as runtime:
        [entry] = await runtime.listed()
        export = await runtime.export("openai")
    assert (entry.name, entry.version) == ("w.forecast", "2.1")
    assert [each["function"]["name"] for each in export.documents] == ["w_forecast"]


@pytest.mark.anyio
async def test_one_version_written_under_its_plain_name_can_be_named_whole() -> None:
    tools = TOOLS.split("  forecast@2.1", maxsplit=1)[0].replace("forecast@1:", "forecast:")
    tools = tools.replace("effect", "version: 1.10\n    effect")
    names = ("w.forecast@1.10", "w.forecast@1.1")
    assert await says({"tools.d/w.yaml": tools}, *names) == ["old", "unknown-tool"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("glob", "denied"),
    [
        ("w.forecast", (True, True)),
        ("w.*", (True, True)),
        ("*", (True, True)),
        ("w.forecast@1", (False, True)),
        ("w.forecast@2.1", (True, False)),
        ("*@1", (False, True)),
        ("w.forecast@*", (True, True)),
    ],
)
async def test_rule_without_a_version_holds_for_all_of_them(
    glob: str, denied: tuple[bool, bool]
) -> None:
    policy = rules(f"{{id: no, decide: deny, tools: ['{glob}']}}")
    files = {"tools.d/w.yaml": TOOLS, "policies.d/p.yaml": policy}
    ends = await says(files, "w.forecast", "w.forecast@1")
    assert [end == "unknown-tool" for end in ends] == list(denied)


@pytest.mark.anyio
async def test_settings_without_a_version_lie_over_all_of_them() -> None:
    policy = "settings:\n  - {tools: [w.forecast], timeout: 7s}\n"
    files = {"tools.d/w.yaml": TOOLS, "policies.d/p.yaml": policy}
    async with open_files(files) as runtime:
        found = {each.manifest.timeout.total for each in runtime.snapshot.tools.values()}
    assert found == {7.0}


@pytest.mark.anyio
async def test_another_latest_version_takes_the_name_at_a_reload(tmp_path: Path) -> None:
    write_files(tmp_path, {"tools.d/w.yaml": TOOLS})
    async with toolrt.open(tmp_path) as runtime:
        newer = TOOLS + "  forecast@10:\n    description: Newest.\n    command: [echo, newest]\n"
        write_files(tmp_path, {"tools.d/w.yaml": newer})
        assert (await runtime.reload(accept_loss=True)).is_accepted
        ends = [await runtime.call(f"w.{name}", {}) for name in ("forecast", "forecast@2.1")]
    assert [str(end.text).strip() for end in ends] == ["newest", "new"]


@pytest.mark.parametrize(
    "text",
    [
        "tools:\n  a@1: {description: x, version: 2, command: [ls]}\n",
        "tools:\n  a@: {description: x, command: [ls]}\n",
        "tools:\n  a@1/2: {description: x, command: [ls]}\n",
    ],
)
def test_versions_that_are_none_are_told(tmp_path: Path, text: str) -> None:
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text}), environ={})
    found = [each.code for each in compiled.diagnostics if each.severity == "error"]
    assert found == ["bad-name"]


def test_versions_that_meet_on_the_wire_are_told(tmp_path: Path) -> None:
    one = "{description: x, command: [ls]}"
    text = f"tools:\n  a@1: {one}\n  a_1: {one}\n"
    files = {"tools.d/t.yaml": text, "toolrt.yaml": "default_version: explicit\n"}
    compiled = load(write_files(tmp_path, files), environ={})
    assert [each.code for each in compiled.diagnostics] == ["names-meet"]


PIECES = st.lists(st.integers(0, 30), min_size=1, max_size=4)


@given(PIECES, PIECES)
def test_order_of_numbers_is_theirs(one: list[int], other: list[int]) -> None:
    versions = [".".join(map(str, each)) for each in (one, other)]
    assert (order(versions[0]) < order(versions[1])) is (one < other)


def test_what_comes_before_a_version_is_older() -> None:
    rising = ["1.9", "1.10-beta", "1.10-rc1", "1.10-rc2", "1.10", "1.10.1", "2"]
    pairs = itertools.pairwise(rising)
    assert all(order(a) < order(b) for a, b in pairs)


def test_version_on_the_wire_has_neither_dot_nor_at() -> None:
    assert wire_name("w.forecast@2.1") == "w_forecast_2_1"


HIDDEN = (
    'rules:\n  - {id: no, decide: deny, tools: ["w.forecast@2.1"]}\n' + ALLOW + "default: allow\n"
)


@pytest.mark.anyio
async def test_p15_a_hidden_version_is_as_unknown_as_none() -> None:
    files = {"tools.d/w.yaml": TOOLS, "policies.d/p.yaml": HIDDEN}
    async with open_files(files) as runtime:
        for name in ("w.forecast@2.1", "w.forecast@9"):
            end = await runtime.call(name, {})
            assert end.error is not None
            assert end.error.message == f"there is no tool `{name}`"
            assert end.tool == name


@pytest.mark.anyio
async def test_p18_another_way_to_name_a_tool_is_no_way_around_the_count(tmp_path: Path) -> None:
    often = "{id: often, decide: deny, tools: [w.forecast], when: 'history.calls(\"1h\") >= 2'}"
    files = {"tools.d/w.yaml": TOOLS, "policies.d/p.yaml": rules(often)}
    root = write_files(tmp_path, files)
    ends = []
    for name in ("w.forecast", "w.forecast@2.1", "w.forecast@2.1", "w.forecast"):
        async with toolrt.open(root) as runtime:
            end = await runtime.call(name, {})
            ends.append((end.tool, end.error and end.error.code))
    assert ends == [("w.forecast", None)] * 2 + [("w.forecast", "denied")] * 2


@pytest.mark.anyio
async def test_tools_that_name_others_may_name_the_version_that_is_the_latest() -> None:
    more = """
  plan:
    description: Look, and look again.
    steps:
      - {id: a, tool: w.forecast@2.1}
      - {id: b, tool: w.forecast@1}
  weak:
    description: Fails.
    effect: read
    command: ["false"]
    fallback: w.forecast@2.1
"""
    project = {"tools.d/w.yaml": TOOLS + more}
    async with open_files(project) as runtime:
        entry = runtime.snapshot.tools["w.plan"]
        ends = [await runtime.call(f"w.{name}", {}) for name in ("plan", "weak")]
    assert entry.effect == "read"
    assert [end.error for end in ends] == [None, None]
    assert str(ends[1].text).strip() == "new"


def test_versions_that_call_each_other_without_end_are_told(tmp_path: Path) -> None:
    text = """
tools:
  a@1: {description: x, steps: [{id: a, tool: a@2}]}
  a@2: {description: x, steps: [{id: a, tool: a@1}]}
"""
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text}), environ={})
    found = {each.code for each in compiled.diagnostics if each.severity == "error"}
    assert found == {"endless-links"}


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["latest", "explicit"])
async def test_a_toolset_has_and_hides_all_versions_of_a_plain_name(how: str) -> None:
    sets = """
toolsets:
  some: {tools: [w.forecast]}
  none: {tools: ["*"], hide: [w.forecast]}
  new: {tools: ["w.forecast@2.1"]}
  old: {tools: ["w.*"], hide: ["w.forecast@2.1"]}
"""
    files = {"tools.d/w.yaml": TOOLS + sets, "toolrt.yaml": f"default_version: {how}\n"}
    async with open_files(files) as runtime:
        assert {each.fault.code for each in runtime.findings} == {"empty-toolset"}
        tools = runtime.snapshot.tools.values()
        has = {
            name: [each.version for each in tools if toolset.offers(each.name, each.version)]
            for name, toolset in runtime.snapshot.toolsets.items()
        }
    assert {name: sorted(each) for name, each in has.items()} == {
        "some": ["1", "2.1"], "none": [], "new": ["2.1"], "old": ["1"],
    }  # fmt: skip


def test_a_version_of_endless_digits_is_told(tmp_path: Path) -> None:
    digits = "1" * 5000
    text = f"tools:\n  a@{digits}: {{description: x, command: [ls]}}\n"
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text}), environ={})
    assert any(each.severity == "error" for each in compiled.diagnostics)


def test_a_version_that_two_tools_have_is_told(tmp_path: Path) -> None:
    one = "{description: x, command: [ls]}"
    text = f"tools:\n  a: {{description: x, version: '1', command: [ls]}}\n  a@1: {one}\n"
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text}), environ={})
    assert "duplicate-tool" in {each.code for each in compiled.diagnostics}
