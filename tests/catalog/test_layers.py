"""Where a tool's keys come from, lowest first: code, project, file, tool."""

import textwrap
from copy import deepcopy

import pytest

from toolrt.core.faults import Fault
from toolrt.loading.layers import merge
from toolrt.runtime import load
from toolrt.testing import open_files, write_files

CODE = """
import toolrt

@toolrt.tool(effect="read", timeout="7s", retry={"attempts": 9}, title="From the code")
def marked(city: str) -> str:
    '''Says a city.'''
    return city
"""


def layers(tool="{}", defaults="{}", project="{}"):
    return {
        "kit.py": CODE,
        "toolrt.yaml": f"defaults: {project}\n",
        "tools.d/t.yaml": f"defaults: {defaults}\ntools:\n  t: {tool}\n",
    }


async def resolved(**texts):
    async with open_files(layers(**texts)) as rt:
        return rt.snapshot.tools["t"]


def test_what_is_laid_over_nothing_is_shared():
    tool = {"http": {"url": "a", "query": {"n": None}}, "reject": [{"when": None}]}

    assert merge({}, tool) is tool
    assert merge({"effect": "read"}, tool)["http"] is tool["http"]


@pytest.mark.parametrize(
    ("low", "high", "merged"),
    [
        ({}, {"a": None}, {}),
        ({}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {"c": None}}}),
        ({}, {"input_schema": {"default": None}}, {"input_schema": {"default": None}}),
        ({"a": {"b": 1}}, {"a": {"b": None, "c": {"d": None}}}, {"a": {"c": {"d": None}}}),
    ],
)
def test_null_resets_at_the_first_two_levels_whatever_lies_below(low, high, merged):
    before = deepcopy((low, high))

    assert merge(low, high) == merged
    assert (low, high) == before


pytestmark = pytest.mark.anyio
PYTHON = '{python: "kit:marked"}'


async def test_what_the_code_says_lies_below_all_files():
    entry = await resolved(tool=PYTHON)
    assert (entry.effect, entry.manifest.timeout.total, entry.title) == (
        "read",
        7.0,
        "From the code",
    )
    assert entry.description == "Says a city."
    assert entry.origins["timeout.total"].endswith("@tool")


async def test_project_then_file_then_tool():
    texts = {
        "project": "{timeout: {total: 1s, attempt: 1s, connect: 1s}}",
        "defaults": "{timeout: {attempt: 2s, connect: 2s}}",
        "tool": '{python: "kit:marked", timeout: {connect: 3s}}',
    }
    entry = await resolved(**texts)
    timeout = entry.manifest.timeout
    assert (timeout.total, timeout.attempt, timeout.connect) == (1.0, 2.0, 3.0)
    assert entry.origins["timeout.total"] == "toolrt.yaml project defaults"
    assert entry.origins["timeout.attempt"] == "tools.d/t.yaml file defaults"
    assert entry.origins["timeout.connect"] == "tools.d/t.yaml tool"


async def test_null_resets_to_the_built_in():
    entry = await resolved(
        tool='{python: "kit:marked", timeout: null, retry: {attempts: null}}',
        project="{timeout: 1s, retry: {attempts: 2, initial: 2s}}",
    )
    assert entry.manifest.timeout.total == 60.0
    assert (entry.manifest.retry.attempts, entry.manifest.retry.initial) == (3, 2.0)


async def test_a_kind_of_the_defaults_reaches_tools_of_that_kind_only():
    entry = await resolved(
        tool='{python: "kit:marked"}', defaults="{http: {redirects: true}, command: [x]}"
    )
    assert entry.kind == "python"


def test_a_wrong_default_is_reported_once_where_it_stands(tmp_path):
    files = {
        "tools.d/t.yaml": """
            defaults: {timeout: soon}
            tools:
              a: {description: A., command: [/bin/true]}
              b: {description: B., command: [/bin/true]}
            """
    }
    compiled = load(write_files(tmp_path, files))
    [only] = compiled.diagnostics
    assert (only.code, only.line, only.column) == ("invalid-duration", 2, 21)


def test_one_fault_hides_no_other(tmp_path):
    files = {
        "tools.d/t.yaml": """
            targets:
              api: {url: "https://a.example", allow_privat: true}
            tools:
              a:
                description: A.
                timeout: soon
                parameters: {city: string}
                http: {target: api, url: "/x/{{ citty }}"}
                reject: [{when: args.citi == "x", reason: no}]
            """
    }
    found = load(write_files(tmp_path, files)).diagnostics
    assert [one.code for one in found] == [
        "unknown-key",
        "invalid-duration",
        "unknown-name",
        "unknown-name",
    ]


def test_a_misspelt_key_casts_no_shadow(tmp_path):
    text = """
        tools:
          a:
            description: A.
            paramters: {city: string}
            http: {methd: POST, url: "https://a.example/{{ city }}/{{ ctiy }}"}
          b:
            descripton: B.
            comand: [echo, "{{ x }}"]
        """
    found = load(write_files(tmp_path, {"tools.d/t.yaml": text})).diagnostics
    assert [(one.code, one.line) for one in found] == [
        ("unknown-key", 5),
        ("unknown-key", 6),
        ("unknown-name", 6),
        ("unknown-key", 8),
        ("unknown-key", 9),
    ]


def test_a_wrong_entry_of_a_list_hides_no_other(tmp_path):
    text = """
        targets:
          api: {url: "https://a.example", auth: {basic: {username: me}}, headers: {X: "${TOKEN}"}}
        tools:
          a:
            description: A.
            parameters: {n: integer}
            http: {target: api, url: "/{{ n }}"}
            reject: [{when: args.n > 1}, {when: args.m > 1, reason: No.}]
        """
    found = load(write_files(tmp_path, {"tools.d/t.yaml": text})).diagnostics
    assert [(one.code, one.line) for one in found] == [
        ("missing-key", 3),
        ("bad-reference", 3),
        ("missing-key", 9),
        ("unknown-name", 9),
    ]


def test_a_scalar_has_no_keys(tmp_path):
    text = """
        tools:
          a:
            description: A.
            parameters: {city: string, place: {type: object}}
            command: [echo, "{{ city.name }}", "{{ place.name }}", "{{ args.city }}"]
        """
    found = load(write_files(tmp_path, {"tools.d/t.yaml": text})).diagnostics
    assert [(one.code, one.hint) for one in found] == [
        ("unknown-name", "write `city`"),
        ("unknown-name", "write `city`"),
    ]


def test_a_misspelt_required_key_is_one_fault(tmp_path):
    text = "rules:\n  - {id: a, decied: deny, tools: ['*']}\n"
    found = load(
        write_files(tmp_path, {"tools.d/.keep": "", "policies.d/p.yaml": text})
    ).diagnostics
    assert [one.code for one in found if one.severity == "error"] == ["unknown-key"]


def test_a_tool_is_declared_once_over_all_files(tmp_path):
    tool = "tools:\n  a: {description: A., command: [/bin/true]}\n"
    found = load(
        write_files(tmp_path, {"tools.d/1.yaml": tool, "tools.d/2.yaml": tool})
    ).diagnostics
    [twin] = found
    assert (twin.code, twin.file) == ("duplicate-tool", "tools.d/2.yaml")
    assert "tools.d/1.yaml:2" in twin.message


def test_a_duplicate_key_hides_nothing_inside_either_value(tmp_path):
    text = """
        tools:
          a: {description: A., command: [/bin/true], timeout: soon}
          a: {description: A., command: [/bin/true], retry: {attempts: 99}}
        """
    found = load(write_files(tmp_path, {"tools.d/t.yaml": text})).diagnostics
    assert {one.code for one in found} == {"duplicate-key", "invalid-duration", "out-of-range"}


def test_merging_keeps_nulls_that_are_data():
    low = {"http": {"json": {"a": 1}}, "parameters": {"x": {"default": 1}}}
    high = {"http": {"json": {"a": None}}, "parameters": {"x": {"default": None}}}
    assert merge(low, high) == high


def test_a_fault_knows_its_way_out():
    assert Fault("c", "m", ("x",)).under("http", "query").path == ("http", "query", "x")


@pytest.mark.parametrize(
    ("when", "message", "hint"),
    [
        ('args.cur == "EURO"', "`args.cur` is never `EURO`", "did you mean `EUR`?"),
        ('glob(args.cur, "e*")', "`args.cur` never fits `e*`", "known: `EUR`, `USD`"),
        ('"EUR" == args.cur && args.cur in ["GBP"]', "`args.cur` is never `GBP`",
         "known: `EUR`, `USD`"),
    ],
)  # fmt: skip
def test_a_rejection_of_what_nobody_can_send_is_an_error(tmp_path, when, message, hint):
    tool = f"""
    tools:
      pay:
        description: Pay.
        parameters: {{cur: {{enum: [EUR, USD]}}}}
        command: [echo, "{{{{ cur }}}}"]
        reject: [{{when: '{when}', reason: No.}}]
    """
    files = {"tools.d/t.yaml": textwrap.dedent(tool)}
    found = load(write_files(tmp_path, files)).diagnostics
    assert [(each.severity, each.code, each.message, each.hint) for each in found] == [
        ("error", "unknown-value", message, hint)
    ]
