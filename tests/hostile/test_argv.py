"""Hostile arguments for commands and scripts: one datum each, or refused before anything runs."""

import time

import pytest

from tests.children import Workbench
from tests.limits import Memory
from toolrt.core.errors import CallError, ProjectError, RefusedError
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

TEXT = {"type": "string"}
GREP_BARE = ("grep", "{{ q }}", "notes.txt")
GREP_GUARDED = ("grep", "--", "{{ q }}", "notes.txt")
ECHO = ("printf", "--", "%s", "{{ q }}")
CLONE = ("git", "clone", "{{ q }}")

PROJECT = """
tools:
  bare:
    description: Lines that match.
    parameters: {q: string}
    command: {argv: [grep, "{{ q }}", tools.d/t.yaml], success: [0, 1]}
  guarded:
    description: Lines that match.
    parameters: {q: string}
    command: {argv: [grep, --, "{{ q }}", tools.d/t.yaml], success: [0, 1]}
  clone:
    description: Copies a repository.
    parameters: {q: {type: string, pattern: "^https://"}}
    command: [git, clone, --, "{{ q }}", copy]
  fetch:
    description: Reads what an address gives.
    parameters: {q: {type: string, pattern: "^[^@]"}}
    command: [curl, --data, "{{ q }}", "http://127.0.0.1:9/"]
  many:
    description: Says them all.
    parameters: {q: {type: array, items: {type: string}}}
    command: [echo, --, "{{ q }}"]
"""

LITERAL = {
    1: "; id",
    2: "$(id)",
    3: "`id`",
    5: "a\nid",
    6: "a\rid",
    7: "$IFS$9id",
    "9 star": "*",
    "9 tilde": "~root",
    21: "\u2010rf",
}
DASHES = {10: "--output=/etc/passwd", 11: "-rf", 13: "--upload-pack=id"}
NO_ARGUMENT = {17: "\ud800", 18: "x" * 131_072, "nul": "a\0b"}


@pytest.fixture
async def bench(tmp_path):
    (tmp_path / "notes.txt").write_text("".join(f"{q}\n" for q in LITERAL.values()))
    (tmp_path / "other.txt").write_text("never listed\n")
    bench = Workbench(tmp_path)
    started, memory = time.process_time(), Memory()
    yield bench
    assert time.process_time() - started < 2
    assert memory.grown() < 64 * 1024 * 1024
    await bench.close()


def shown(text):
    """The text as results show it: a bare carriage return would act on terminals (O3)."""
    return text.replace("\r", "\\r")


def cases(table):
    return pytest.mark.parametrize("value", table.values(), ids=map(str, table))


@cases(LITERAL)
async def test_text_reaches_the_program_as_it_is(bench, value):
    assert await bench.command(*ECHO, q=TEXT).value(q=value) == value


@cases(LITERAL)
async def test_text_reaches_a_script_as_it_is(bench, value):
    options = {"argv": ["{{ q }}"], "env": {"Q": "{{ q }}"}, "stdin": "{{ q }}"}
    tool = bench.shell('printf "%s\\0%s\\0" "$1" "$Q"; cat', options, q=TEXT)
    assert (await tool.value(q=value)).split("\0") == [value, value, value]


@pytest.mark.parametrize("argv", [GREP_BARE, GREP_GUARDED], ids=["bare", "guarded"])
@cases({k: v for k, v in LITERAL.items() if k not in {5, 6, "9 star"}})
async def test_grep_finds_the_text_itself(bench, argv, value):
    tool = bench.command(*argv, q=TEXT, options={"success": [0, 1]})
    found = await tool.value(q=value)
    assert "never listed" not in found
    assert "uid=" not in found


@cases(DASHES)
async def test_option_in_a_positional_slot_is_refused(bench, value):
    for argv in (GREP_BARE, CLONE):
        tool = bench.command(*argv, q=TEXT)
        with pytest.raises(RefusedError, match="must not start with `-`") as caught:
            await tool.call(q=value)
        assert caught.value.code == "invalid-arguments"


@cases(DASHES)
async def test_option_after_double_dash_is_text(bench, value):
    tool = bench.command(*GREP_GUARDED, q=TEXT, options={"success": [0, 1]})
    assert await tool.value(q=value) == ""
    assert await bench.command(*ECHO, q=TEXT).value(q=value) == value


@cases(DASHES)
async def test_option_joined_to_a_key_stays_its_value(bench, value):
    tool = bench.command("printf", "--", "%s", {"--k=": "{{ q }}"}, q=TEXT)
    assert await tool.value(q=value) == f"--k={value}"


@cases(NO_ARGUMENT)
async def test_what_no_argument_can_hold_is_refused_everywhere(bench, value):
    places = [
        bench.command("touch", "ran", "{{ q }}", q=TEXT),
        bench.command("touch", "ran", {"--k=": "{{ q }}"}, q=TEXT),
        bench.shell("touch ran", {"argv": ["{{ q }}"]}, q=TEXT),
    ]
    for tool in places:
        with pytest.raises(RefusedError) as caught:
            await tool.call(q=value)
        assert caught.value.code == "invalid-arguments"
    assert not ran(bench)


@cases({17: "\ud800", "nul": "a\0b"})
async def test_what_no_variable_can_hold_is_refused(bench, value):
    tool = bench.command("touch", "ran", options={"env": {"Q": "{{ q }}"}}, q=TEXT)
    with pytest.raises(RefusedError) as caught:
        await tool.call(q=value)
    assert caught.value.code == "invalid-arguments"
    assert not ran(bench)


async def test_two_mebibytes_in_all_are_refused(bench):
    items = {"type": "array", "items": TEXT}
    argv = bench.command("touch", "ran", "--", "{{ q }}", q=items)
    with pytest.raises(CallError, match="1 MiB") as caught:
        await argv.call(q=["x" * 131_000] * 16)
    assert caught.value.code == "invalid-arguments"
    env = {f"V{number}": "{{ q }}" for number in range(16)}
    environment = bench.command("touch", "ran", options={"env": env}, q=TEXT)
    with pytest.raises(CallError, match="1 MiB") as caught:
        await environment.call(q="x" * 131_000)
    assert caught.value.code == "invalid-arguments"
    assert not ran(bench)


async def test_caller_value_in_ld_preload_is_refused_at_load(bench):
    tool = bench.command("ls", options={"env": {"LD_PRELOAD": "{{ q }}"}}, q=TEXT)
    assert tool.faults == [("caller-value-in-env", ("env", "LD_PRELOAD"), "error")]


@pytest.mark.parametrize(
    ("case", "tool", "value"),
    [
        (10, "bare", DASHES[10]),
        (11, "bare", DASHES[11]),
        (13, "bare", DASHES[13]),
        (14, "clone", "ext::sh -c id"),
        (15, "fetch", "@/etc/passwd"),
        (17, "guarded", NO_ARGUMENT[17]),
        (18, "guarded", NO_ARGUMENT[18]),
        (19, "many", ["x" * 131_000] * 16),
        ("nul", "guarded", "a\0b"),
    ],
    ids=lambda value: str(value)[:12],
)
async def test_the_pipeline_refuses_it_as_invalid_arguments(case, tool, value):
    async with open_files({"tools.d/t.yaml": PROJECT}) as rt:
        result = await rt.call(tool, {"q": value})
    assert result.status == "error"
    assert result.error.code == "invalid-arguments"
    assert not result.error.retryable
    assert len(str(result.document())) < 2000
    assert "Traceback" not in str(result.document())


@cases({**LITERAL, **DASHES})
async def test_the_pipeline_hands_it_on_as_one_argument(value):
    async with open_files({"tools.d/t.yaml": PROJECT}) as rt:
        result = await rt.call("many", {"q": [value]})
    assert (result.status, result.data) == ("success", f"-- {shown(value)}\n")


async def test_a_caller_value_in_ld_preload_refuses_the_project():
    tools = """
    tools:
      t:
        description: Lists.
        parameters: {x: string}
        command: {argv: [ls], env: {LD_PRELOAD: "{{ x }}"}}
    """
    with pytest.raises(ProjectError) as caught:
        async with open_files({"tools.d/t.yaml": tools}):
            pass
    assert "LD_PRELOAD" in caught.value.report


def ran(bench):
    return (bench.project / "ran").exists()
