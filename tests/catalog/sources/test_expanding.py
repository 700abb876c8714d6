"""Sources to tools: what is in, what it is called, what lies over it; the origin is a stand-in."""

import sys
import types

import pytest

from toolrt.catalog.sources import base
from toolrt.catalog.sources.base import SourceTool, Yielded
from toolrt.core.faults import Fault
from toolrt.runtime import load
from toolrt.testing import write_files

TOOLS = ("read", "read_all", "write")


def tool(name, **more):
    return SourceTool(name, {"description": f"{name}.", "command": {"argv": ["/bin/true"]}, **more})


@pytest.fixture
def origin(monkeypatch):
    """An origin `mcp` that gives what `origin.gives` holds."""
    module = types.ModuleType("stand_in_origin")
    module.gives = Yielded([tool(name) for name in TOOLS])
    module.yielded = lambda _source, _workshop: module.gives
    monkeypatch.setitem(sys.modules, "stand_in_origin", module)
    monkeypatch.setattr(base, "ORIGINS", {"mcp": "stand_in_origin"})
    monkeypatch.setattr("toolrt.manifest.planned.TOOLS_FILE", ())
    return module


def compiled(folder, *options, **files):
    sources = "\n".join(["sources:", "  s:", "    mcp: {url: http://a.b/}", *options])
    texts = {f"tools.d/{name}.yaml": text for name, text in files.items()}
    return load(write_files(folder, {"tools.d/a.yaml": sources, **texts}))


def names(folder, *options):
    made = compiled(folder, *(f"    {each}" for each in options))
    assert made.ok, made.diagnostics
    return list(made.snapshot.tools)


def faults(made):
    return [(one.code, one.line, one.severity) for one in made.diagnostics]


@pytest.mark.usefixtures("origin")
def test_tools_have_the_name_of_their_source_before_a_dot(folder):
    assert names(folder) == ["s.read", "s.read_all", "s.write"]


@pytest.mark.usefixtures("origin")
def test_a_tool_says_which_source_it_is_of(folder):
    entry = compiled(folder).snapshot.tools["s.read"]

    assert (entry.namespace, entry.source, entry.root()["source"]) == ("s", "s", "s")
    assert entry.is_foreign
    assert entry.line == 2


@pytest.mark.usefixtures("origin")
def test_include_says_which_are_in_and_exclude_is_above_it(folder):
    assert names(folder, 'include: ["read*"]') == ["s.read", "s.read_all"]
    assert names(folder, 'include: ["read*"]', "exclude: [read_all]") == ["s.read"]
    assert names(folder, 'exclude: ["read*"]') == ["s.write"]


def test_include_adds_to_what_an_author_has_chosen(folder, origin):
    origin.gives = Yielded([tool("read")], more=[tool("write"), tool("wipe")])

    assert names(folder) == ["s.read"]
    assert names(folder, "include: [write]") == ["s.read", "s.write"]
    assert names(folder, "include: [write]", 'exclude: ["*"]') == []


@pytest.mark.usefixtures("origin")
def test_a_prefix_stands_between_the_source_and_the_name(folder):
    assert names(folder, "prefix: f_", "include: [read]") == ["s.f_read"]


@pytest.mark.usefixtures("origin")
@pytest.mark.parametrize("key", ["include", "exclude"])
def test_a_pattern_that_fits_nothing_is_told_with_the_nearest_name(folder, key):
    made = compiled(folder, f"    {key}: [read, raed, 'w*e', 'x*']")

    assert [(each.message, each.hint) for each in made.diagnostics] == [
        ("`raed` is no tool of source `s`", "did you mean `read`?"),
        ("`x*` is no tool of source `s`", "it has read, read_all, write"),
    ]
    assert not made.ok


@pytest.mark.usefixtures("origin")
def test_an_override_lies_over_its_tool_and_null_resets(folder):
    made = compiled(
        folder,
        "    overrides:",
        "      read: {effect: read, description: Mine., timeout: null}",
        "defaults: {timeout: {total: 7s, attempt: 7s}}",
    )
    read, write = made.snapshot.tools["s.read"], made.snapshot.tools["s.write"]

    assert (read.effect, read.description) == ("read", "Mine.")
    assert (read.manifest.timeout.total, write.manifest.timeout.total) == (60, 7)


@pytest.mark.usefixtures("origin")
def test_an_override_of_no_tool_is_an_error_with_the_nearest_name(folder):
    made = compiled(folder, "    overrides:", "      raed: {effect: read}")

    assert faults(made) == [("no-such-tool", 5, "error")]
    assert made.diagnostics[0].hint == "did you mean `read`?"


@pytest.mark.usefixtures("origin")
def test_an_override_of_a_tool_that_is_taken_out_does_nothing_and_says_so(folder):
    made = compiled(folder, "    exclude: [read]", "    overrides:", "      read: {effect: read}")

    assert faults(made) == [("no-effect", 6, "warning")]


@pytest.mark.usefixtures("origin")
def test_a_key_of_an_override_that_is_misspelt_stands_at_its_place(folder):
    made = compiled(folder, "    overrides:", "      read: {effekt: read}")

    assert faults(made) == [("unknown-key", 5, "error")]
    assert made.diagnostics[0].hint == "did you mean `effect`?"


def test_what_a_source_cannot_say_for_now_is_no_fault_of_those_who_name_it(folder, origin):
    origin.gives = Yielded(unavailable="nobody answers")
    rules = "rules: [{id: r, decide: allow, tools: [s.read]}]"
    files = {"tools.d/a.yaml": SOURCE, "policies.d/p.yaml": rules}

    assert load(write_files(folder, files)).diagnostics == []


SOURCE = (
    "sources: {s: {mcp: {url: http://a.b/}, include: [read], overrides: {read: {effect: read}}}}"
)


def test_a_fault_of_a_source_stands_at_its_key(folder, origin):
    origin.gives = Yielded(faults=[Fault("import-failed", "no", ("mcp", "url"))])

    assert faults(compiled(folder)) == [("import-failed", 3, "error")]


def test_a_tool_may_be_known_and_yet_not_callable(folder, origin):
    blocked = SourceTool("b", tool("b").written, blocked="it has changed")
    origin.gives = Yielded([tool("a"), blocked])
    tools = compiled(folder).snapshot.tools

    assert tools["s.a"].unavailable is None
    assert tools["s.b"].unavailable == "it has changed (tools.d/a.yaml:2)"


def test_hostile_126_a_name_that_looks_like_another_is_left_out_with_a_warning(folder, origin):
    cyrillic = "re\N{CYRILLIC SMALL LETTER A}d"
    odd = [cyrillic, "a\u200bb", "", "x" * 129, "semi;colon"]
    origin.gives = Yielded([tool(name) for name in ("read", *odd)])
    made = compiled(folder)

    assert list(made.snapshot.tools) == ["s.read"]
    assert [one.code for one in made.diagnostics] == ["bad-name"] * len(odd)
    assert any("U+0430, cyrillic small letter a" in one.message for one in made.diagnostics)
    assert all("\u200b" not in one.message for one in made.diagnostics)


def test_x2_twins_of_a_foreign_source_are_all_left_out(folder, origin):
    twins = [("delete", "de1ete"), ("Get", "get"), ("a-b", "a_b"), ("same", "same")]
    origin.gives = Yielded([tool(name) for pair in twins for name in pair] + [tool("fine")])
    made = compiled(folder)

    assert list(made.snapshot.tools) == ["s.fine"]
    assert {one.code for one in made.diagnostics} == {"bad-name"}


def test_foreign_tools_keep_their_spelling(folder, origin):
    origin.gives = Yielded([tool("listFiles-v2"), tool("2_go"), tool("_x")])

    assert names(folder) == ["s.2_go", "s._x", "s.listFiles-v2"]


@pytest.mark.usefixtures("origin")
def test_two_sources_of_one_name_are_told_with_both_places(folder):
    made = compiled(folder, b="sources: {s: {mcp: {url: http://a.b/}}}")

    assert faults(made) == [("duplicate-source", 1, "error")]
    assert "declared at tools.d/a.yaml:2 already" in made.diagnostics[0].message


@pytest.mark.usefixtures("origin")
def test_a_tool_of_a_server_that_meets_one_of_a_file_is_left_out(folder):
    text = "{namespace: s, tools: {read: {description: R., command: [/bin/true]}}}"
    made = compiled(folder, b=text)

    assert [(one.code, one.severity) for one in made.diagnostics] == [("names-meet", "warning")]
    assert "tools.d/b.yaml:1" in made.diagnostics[0].message
    assert made.snapshot.tools["s.read"].description == "R."


@pytest.mark.usefixtures("origin")
def test_settings_of_operators_lie_over_tools_of_sources(folder):
    settings = "settings: [{tools: [s.write], timeout: 3s}]"
    root = write_files(folder, {"tools.d/a.yaml": MCP, "policies.d/p.yaml": settings})

    assert load(root).snapshot.tools["s.write"].manifest.timeout.total == 3


@pytest.mark.usefixtures("origin")
def test_tool_source_is_a_word_of_rules(folder):
    rule = "rules: [{id: r, decide: deny, tools: ['*'], when: tool.source == 's'}]"
    root = write_files(folder, {"tools.d/a.yaml": MCP, "policies.d/p.yaml": rule})
    made = load(root)

    assert made.diagnostics == []
    assert made.ok


MCP = "sources: {s: {mcp: {url: http://a.b/}}}"


@pytest.mark.usefixtures("origin")
def test_a_broken_source_leaves_the_others_to_be_looked_at(folder):
    made = compiled(folder, "    include: [raed]", "  t: {mcp: {url: http://a.b/}, prefx: a}")

    assert [one.code for one in made.diagnostics] == ["no-such-tool", "unknown-key"]


@pytest.mark.usefixtures("origin")
def test_the_name_of_a_source_is_a_name_of_ours(folder):
    made = compiled(folder, "  Bad-One: {mcp: {url: http://a.b/}}")

    assert faults(made) == [("bad-name", 4, "error")]


@pytest.mark.usefixtures("origin")
def test_a_prefix_is_of_the_letters_of_names(folder):
    made = compiled(folder, "    prefix: 'a.b'")

    assert faults(made) == [("bad-name", 4, "error")]
