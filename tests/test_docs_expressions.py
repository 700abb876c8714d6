"""docs/expressions.md says which names may be used where, and what they are."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pages
import pytest
import transcripts

import toolrt
from toolrt import runtime
from toolrt.expressions.filters import FILTERS
from toolrt.expressions.references import _KINDS
from toolrt.testing import open_files, write_files

PAGE = "expressions.md"
PROJECT = {
    "toolrt.yaml": "vars: {most: 20}",
    "kit.py": "class Kit:\n  def __init__(self, a): ...\n  def run(self): ...\n",
}
EVERY = ("args", "call", "caller", "exit_code", "headers", "item", "part", "result", "status",
         "stderr", "steps", "tool", "vars")  # fmt: skip
"""Every name that has a meaning somewhere; `part` is a parameter."""

TOOL = {"description": "A tool.", "parameters": {"part": "string"}, "effect": "read"}
HTTP = {"url": "https://api.example.com/{{ part }}", "method": "POST"}
COMMAND = {"argv": ["echo", "{{ part }}"]}
SHELL = {"script": "true", "argv": ["{{ part }}"]}
BY_TARGET = {**TOOL, "http": {"url": "/{{ part }}", "target": "api"}}
KIT = {"description": "A tool.", "effect": "read"}


def project(tool: dict[str, Any], **target: Any) -> dict[str, Any]:
    """The data of a tools file with one tool and one target."""
    target = {"url": "https://api.example.com", **target}
    return {"namespace": "t", "targets": {"api": target}, "tools": {"a": tool}}


def linked(**keys: Any) -> dict[str, Any]:
    """A tools file with a tool of these keys, and `t.b` beside, which it may call."""
    data = project({**TOOL, "effect": "write", "command": COMMAND, **keys})
    request = {"url": "https://api.example.com", "args_in": "query"}
    data["tools"]["b"] = {**TOOL, "parameters": {"x": {"required": False}}, "http": request}
    return data


def place(name: str, text: str) -> dict[str, Any]:
    """A tools file that has `text` in a place of the table."""
    http = {**TOOL, "http": {**HTTP, name.rpartition(".")[2]: {"key": text}}}
    return {
        "reject[].when": lambda: project({**TOOL, "command": COMMAND, "reject": [{"when": text, "reason": "r"}]}),
        "retry.when": lambda: project({**TOOL, "command": COMMAND, "retry": {"when": text}}),
        "result.failed_when": lambda: project({**TOOL, "command": COMMAND, "result": {"failed_when": text}}),
        "result.error": lambda: project({**TOOL, "command": COMMAND, "result": {"error": text}}),
        "result.select": lambda: project({**TOOL, "command": COMMAND, "result": {"select": text}}),
        "result.text": lambda: project({**TOOL, "command": COMMAND, "result": {"text": text}}),
        "verify.applied_when": lambda: linked(verify={"tool": "t.b", "applied_when": text}),
        "verify.args": lambda: linked(verify={"tool": "t.b", "args": {"x": text}, "applied_when": "true"}),
        "poll.until": lambda: linked(poll={"tool": "t.b", "every": "1s", "until": text}),
        "poll.args": lambda: linked(poll={"tool": "t.b", "args": {"x": text}, "every": "1s", "until": "true"}),
        "fallback.value": lambda: linked(fallback={"value": text}),
        "idempotency_key": lambda: project({**TOOL, "http": HTTP, "idempotency_key": text}),
        "http.url after the host": lambda: project({**TOOL, "http": f"https://api.example.com/{{{{ part }}}}/{text}"}),
        "http.url scheme and host": lambda: project({**TOOL, "http": f"https://{text}.example.com/{{{{ part }}}}"}),
        "http.query": lambda: project(http),
        "http.headers": lambda: project(http),
        "http.json": lambda: project(http),
        "http.form": lambda: project(http),
        "http.body": lambda: project({**TOOL, "http": {**HTTP, "body": {"type": "text/plain", "text": text}}}),
        "targets.*.url after the host": lambda: project(BY_TARGET, url=f"https://api.example.com/{text}"),
        "targets.*.url scheme and host": lambda: project(BY_TARGET, url=f"https://{text}.example.com"),
        "targets.*.headers": lambda: project(BY_TARGET, headers={"X-Key": text}),
        "targets.*.auth": lambda: project(BY_TARGET, auth={"bearer": text}),
        "command.argv after the program": lambda: project({**TOOL, "command": ["echo", "{{ part }}", text]}),
        "command.argv the program": lambda: project({**TOOL, "command": [text, "{{ part }}"]}),
        "command.stdin": lambda: project({**TOOL, "command": {**COMMAND, "stdin": text}}),
        "command.env": lambda: project({**TOOL, "command": {**COMMAND, "env": {"KEY": text}}}),
        "command.cwd": lambda: project({**TOOL, "command": {**COMMAND, "cwd": text}}),
        "shell.argv": lambda: project({**TOOL, "shell": {"script": "true", "argv": ["{{ part }}", text]}}),
        "shell.stdin": lambda: project({**TOOL, "shell": {**SHELL, "stdin": text}}),
        "shell.env": lambda: project({**TOOL, "shell": {**SHELL, "env": {"KEY": text}}}),
        "shell.cwd": lambda: project({**TOOL, "shell": {**SHELL, "cwd": text}}),
        "shell.script": lambda: project({**TOOL, "shell": {**SHELL, "script": f"echo {text}"}}),
        "shell.interpreter": lambda: project({**TOOL, "shell": {**SHELL, "interpreter": ["bash", text]}}),
        "python.init": lambda: project({**KIT, "python": {"object": "kit:Kit", "call": "run", "init": {"a": text}}}),
    }[name]()  # fmt: skip


def places() -> list[tuple[str, str, str, str]]:
    """Each place of the table with its language, its names, and what any other name gives."""
    return [
        (f"{name} {more.strip()}".strip(), language, names, other)
        for cell, language, names, other in pages.tables(PAGE, "Which names where")[0]
        for name, more in re.findall(r"`([^`]+)`([^`,]*)", cell)
    ]


def codes(data: dict[str, Any], folder: Path) -> set[str]:
    """The codes of the errors that `check` finds."""
    write_files(folder, {**PROJECT, "tools.d/t.yaml": json.dumps(data)})
    found = runtime.load(folder).diagnostics
    return {each.code for each in found if each.severity == "error"}


def written(language: str, name: str) -> str:
    """An expression that reads a name, whatever it is."""
    return f"{name} == {name}" if language == "condition" else f"{{{{ {name} | json }}}}"


@pytest.mark.parametrize(
    ("where", "language", "names", "other"), places(), ids=[row[0] for row in places()]
)
def test_a_place_has_the_names_of_the_table_and_no_other(
    where: str, language: str, names: str, other: str, tmp_path: Path
) -> None:
    if language == "selection":
        assert codes(place(where, "[item, nonsense, status]"), tmp_path) == set()
        assert codes(place(where, "nonsense("), tmp_path) == {"invalid-select"}
        return
    told = set(pages.code(names)) - {"format: path"}
    told |= {"part"} if "the parameters" in names else set()
    found = {name: codes(place(where, written(language, name)), tmp_path) for name in EVERY}

    assert {name for name, faults in found.items() if not faults} == told
    assert {each for faults in found.values() for each in faults} == set(pages.code(other)) - {
        "call"
    }


@pytest.mark.parametrize("kind", ["command", "shell"])
def test_a_folder_may_be_one_parameter_of_format_path(kind: str, tmp_path: Path) -> None:
    data = place(f"{kind}.cwd", "{{ part }}")
    data["tools"]["a"]["parameters"] = {"part": {"type": "string", "format": "path"}}

    assert codes(data, tmp_path) == set()


CALLER = toolrt.Caller(principal="ann", roles=("ops",), tenant="acme", claims={"level": 3})
CONDITIONS = [row[2] for row in pages.rows(PAGE, "The names")]


@pytest.mark.anyio
@pytest.mark.parametrize("condition", CONDITIONS)
async def test_a_name_is_what_the_table_says(condition: str) -> None:
    tool = {
        "description": "A tool.", "effect": "read", "version": "1.10", "tags": ["stock"],
        "parameters": {"part": "string", "note": {"type": "string", "required": False}},
        "result": {"failed_when": condition, "error": "why"},
    }  # fmt: skip
    script = """echo '{"left": 12, "why": "it holds"}'; echo slow >&2; exit 3"""
    shell = {
        "script": script,
        "success": [3],
        "output": "json",
        "argv": ["{{ part }}", "{{ note }}"],
    }
    http = {"url": "https://api.example.com", "args_in": "query"}
    is_of_shell = any(word in condition for word in ("exit_code", "stderr", "status == 0"))
    kind = {"shell": shell} if is_of_shell else {"http": http}
    data = {"namespace": "stock", "tools": {"reserve": {**tool, **kind}}}
    answer = httpx.Response(200, json={"left": 12, "why": "it holds"}, headers={"X-Kind": "stock"})

    files = {**PROJECT, "tools.d/t.yaml": json.dumps(data)}
    async with open_files(files, transport=httpx.MockTransport(lambda _: answer)) as rt:
        result = await rt.call("stock.reserve", {"part": "bolts"}, CALLER)

    assert (result.status, result.text) == ("error", "it holds")


ERRS = "caller.claims.nothing == 1"
CLOSED = [
    ("reject[].when", {"reject": [{"when": ERRS, "reason": "r"}]}, 200, ("invalid-arguments", 0)),
    ("result.failed_when", {"result": {"failed_when": ERRS}}, 200, ("bad-response", 1)),
    ("retry.when", {"retry": {"when": ERRS}}, 503, ("execution-failed", 1)),
]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("where", "keys", "status", "expected"), CLOSED, ids=[c[0] for c in CLOSED]
)
async def test_a_condition_that_cannot_be_evaluated_fails_closed(
    where: str, keys: dict[str, Any], status: int, expected: tuple[str, int]
) -> None:
    tool = {"description": "A tool.", "http": "https://api.example.com", **keys}
    files = {"tools.d/t.yaml": json.dumps({"tools": {"a": tool}})}
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json={}))
    async with open_files(files, transport=transport) as rt:
        result = await rt.call("a", {})

    assert where in {row[0] for row in pages.rows(PAGE, "Conditions")}
    assert (result.error.code, result.attempts) == expected


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("when", "attempts"),
    [
        ("status == 503 && result.why == 'busy'", 2),
        ("headers.size() == 0 && exit_code == 0 && stderr == ''", 2),
        ("status == 500", 1),
    ],
)
async def test_a_retry_sees_status_and_body_of_the_failed_attempt(when: str, attempts: int) -> None:
    retry = {"attempts": 2, "initial": "1ms", "when": when}
    tool = {"description": "A tool.", "http": "https://api.example.com", "retry": retry}
    transport = httpx.MockTransport(lambda _: httpx.Response(503, json={"why": "busy"}))
    files = {"tools.d/t.yaml": json.dumps({"tools": {"a": tool}})}
    async with open_files(files, transport=transport) as rt:
        assert (await rt.call("a", {})).attempts == attempts


@pytest.mark.anyio
async def test_a_condition_may_match_a_glob() -> None:
    glob = next(code for code in pages.code(pages.prose(PAGE)) if code.startswith("glob(args"))
    tool = {
        "description": "A tool.", "parameters": {"path": "string"}, "command": ["echo", "{{ path }}"],
        "effect": "read", "reject": [{"when": glob, "reason": "it matches"}],
    }  # fmt: skip
    async with open_files({"tools.d/t.yaml": json.dumps({"tools": {"a": tool}})}) as rt:
        found = [(await rt.call("a", {"path": path})).status for path in ("notes/a.txt", "a.txt")]

    assert found == ["error", "success"]


def test_every_filter_is_told() -> None:
    told = pages.section(PAGE, "Templates").partition("Filters:")[2].partition(".")[0]

    assert pages.code(told) == sorted(FILTERS)


def test_every_reference_is_told() -> None:
    told = [row[0] for row in pages.tables(PAGE, "References")[0]]

    assert [re.match(r"`\$\{(\w+):", cell)[1] for cell in told] == [
        "env", "file", "secret", "tenant", "caller",
    ]  # fmt: skip
    assert {re.match(r"`\$\{(\w+):", cell)[1] for cell in told} == set(_KINDS)


def test_no_reference_stands_in_arguments_or_folders(tmp_path: Path) -> None:
    found = {
        name: codes(place(name, "${env:HOME}"), tmp_path)
        for name, language, *_ in places()
        if language == "template"
    }

    refusing = {name for name, faults in found.items() if faults}
    assert refusing == {
        "command.argv after the program", "shell.argv", "command.cwd", "shell.cwd",
        "fallback.value", "idempotency_key", "poll.args", "verify.args",
    }  # fmt: skip
    assert transcripts.steps(pages.text(PAGE))
