"""Which layer wins: built-in < toolrt.yaml defaults < file defaults < tool; and `null` resets."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from manifest.key_case import (
    PROJECT,
    TOOLS,
    data,
    file,
    found,
    of_result,
    opened,
    placed,
    resolved,
    shown,
    slept,
)

from toolrt.faces.cli.main import cli
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio


def layers(project: str | None, defaults: str | None, tool: str | None) -> dict[str, str]:
    """A tool of kind http that fails, with one key written in some of the layers."""
    written = {TOOLS: "tools:\n  t:\n    description: T.\n    http: $URL/down\n"}
    if tool is not None:
        written[TOOLS] += f"    {tool}\n"
    if defaults is not None:
        written[TOOLS] = f"defaults: {{{defaults}}}\n{written[TOOLS]}"
    if project is not None:
        written[PROJECT] = f"defaults: {{{project}}}\n"
    return written


@pytest.mark.parametrize(
    ("project", "defaults", "tool", "attempts"),
    [
        (None, None, None, 3),
        ("retry: {attempts: 4}", None, None, 4),
        ("retry: {attempts: 4}", "retry: {attempts: 5}", None, 5),
        ("retry: {attempts: 4}", "retry: {attempts: 5}", "retry: {attempts: 6}", 6),
        ("retry: {attempts: 4}", None, "retry: {attempts: 6}", 6),
        (None, "retry: {attempts: 5}", "retry: {initial: 1s}", 5),
        ("retry: {attempts: 4}", "retry: none", None, 1),
        (None, "retry: none", "retry: {attempts: 2}", 2),
        (None, "retry: none", "retry: {initial: 1s}", 1),
        (None, "retry: {attempts: 5}", "retry: null", 3),
        (None, "retry: {attempts: 5}", "retry: {attempts: null}", 3),
        ("retry: {attempts: 4}", "retry: null", None, 3),
        ("retry: {attempts: 4}", "retry: null", "retry: {attempts: 2}", 2),
        ("retry: {attempts: 4}", "retry: {attempts: null}", None, 3),
    ],
)
async def test_the_highest_layer_wins_in_a_real_call(project, defaults, tool, attempts) -> None:
    async with opened(layers(project, defaults, tool), held=True) as bench:
        assert await of_result("attempts")(bench) == attempts


async def test_mappings_merge_over_all_layers() -> None:
    files = layers("retry: {initial: 1s}", "retry: {max: 3s}", "retry: {attempts: 4}")

    async with opened(files, held=True) as bench:
        assert await slept()(bench) == [1, 2, 3]


async def test_lists_and_scalars_replace() -> None:
    async with opened(layers("tags: [a, b], title: A", "title: B", "tags: [c]")) as bench:
        assert await shown("tags")(bench) == ["c"]
        assert await shown("title")(bench) == "B"


@pytest.mark.parametrize("tool", ["title: null", "title:"])
async def test_null_resets_to_the_built_in(tool) -> None:
    async with opened(layers("title: A", "title: B", tool)) as bench:
        assert await shown("title")(bench) is None
        assert await resolved("title")(bench) is None


async def test_null_inside_data_stays() -> None:
    files = file("""
        tools:
          t:
            description: T.
            input_schema: {properties: {a: {enum: [null, 1], default: null}}}
            python: kit:echo
        """)

    async with opened(files) as bench:
        assert await data(a=None)(bench) == {"a": None}


KINDS = file("""
    defaults:
      http: {headers: {X-Key: file}, output: text}
      command: {output: lines, env: {PLACE: file}}
    tools:
      t: {description: T., http: {url: $URL/echo, output: null}}
      c: {description: C., command: [printenv, PLACE]}
      s: {description: S., shell: "printenv PLACE || echo nowhere"}
      own: {description: O., command: {argv: [printenv, PLACE], env: {PLACE: tool}, output: text}}
    """) | {PROJECT: "defaults: {http: {headers: {X-Other: project}}, shell: {output: lines}}\n"}


async def test_options_of_a_kind_reach_tools_of_that_kind_only() -> None:
    async with opened(KINDS) as bench:
        assert [(await bench.call({}, name)).data for name in ("c", "s", "own")] == [
            ["file"],
            ["nowhere"],
            "tool\n",
        ]
        sent = (await bench.call({})).data["headers"]
        assert (sent["x-key"], sent["x-other"]) == ("file", "project")


async def test_a_default_is_a_short_form_too() -> None:
    async with opened(layers(None, "timeout: 7s, cache: 5m", "timeout: {attempt: 2s}")) as bench:
        timeout = await shown("timeout_s")(bench)

    assert timeout == {"connect": 5.0, "attempt": 2.0, "total": 7.0}


async def test_each_value_knows_its_layer() -> None:
    files = layers("retry: {initial: 1s}, title: A", "retry: {max: 3s}", "retry: {attempts: 4}")

    async with opened(files) as bench:
        origins = {
            key: await resolved(f"retry.{key}")(bench) for key in ("initial", "max", "attempts")
        }
        title = await resolved("title")(bench)

    assert origins == {
        "initial": "toolrt.yaml project defaults",
        "max": "tools.d/t.yaml file defaults",
        "attempts": "tools.d/t.yaml tool",
    }
    assert title == "toolrt.yaml project defaults"


def test_show_resolved_names_the_origin_of_each_value(tmp_path: Path) -> None:
    files = layers("retry: {initial: 1s}", "retry: {max: 3s}", "retry: {attempts: 4}")
    write_files(tmp_path, placed(files, "http://127.0.0.1:9"))

    done = CliRunner().invoke(cli, ["-p", str(tmp_path), "show", "t", "--resolved"])

    assert {" ".join(line.split()) for line in done.stdout.splitlines()} >= {
        "initial: 1s # toolrt.yaml project defaults",
        "max: 3s # tools.d/t.yaml file defaults",
        "attempts: 4 # tools.d/t.yaml tool",
        "total: 1m # built-in",
    }


MANY = file("""
    defaults: {retry: {attempts: 99}}
    tools:
      a: {description: A., command: [echo]}
      b: {description: B., command: [echo]}
    """)


def test_what_is_wrong_in_a_layer_is_told_once_and_there() -> None:
    assert found(MANY) == [("error", "out-of-range", TOOLS, 1, 30)]
    assert found(MANY | {PROJECT: "defaults: {timeout: soon}"}) == [
        ("error", "invalid-duration", PROJECT, 1, 21),
        ("error", "out-of-range", TOOLS, 1, 30),
    ]


def test_what_is_wrong_in_a_layer_is_told_though_every_tool_overrides_it() -> None:
    files = layers("title: [a]", None, "title: B")

    assert found(files) == [("error", "wrong-type", PROJECT, 1, 19)]


def test_what_only_some_tools_bring_is_not_missing_in_defaults() -> None:
    files = layers("http: {method: POST}, python: {run_in: process}, shell: {cwd: .}", None, None)

    assert found(files) == []
