"""docs/errors.md says which codes there are, who can act on them, and what may be tried again."""

import ast
import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pages
import pytest

from toolrt.core.errors import CODES
from toolrt.faces.exits import MEANING
from toolrt.testing import ManualClock, open_files

PAGE = "errors.md"
NOW = pages.rows(PAGE, "Codes of calls")
SOURCES = [path for path in (pages.ROOT / "toolrt").rglob("*.py") if path.parts[-2:] != ("core", "errors.py")]  # fmt: skip

pytestmark = pytest.mark.anyio


def nodes() -> Iterator[ast.AST]:
    """Everything that stands in the code, but the table of codes itself."""
    return (node for path in SOURCES for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def test_every_code_is_told_with_its_exit_status() -> None:
    assert {row[0]: int(row[1]) for row in NOW} == CODES


def test_every_code_is_named_in_the_code() -> None:
    named = {node.value for node in nodes() if isinstance(node, ast.Constant)}

    assert CODES.keys() - named == set()


def test_somebody_can_act_on_every_code() -> None:
    told = {who for row in NOW for who in row[2].split(", ")}

    assert told == {"model", "caller", "operator", "nobody: wait"}


def test_every_exit_status_is_told() -> None:
    told = {int(status): meaning for status, meaning in pages.rows(PAGE, "Exit statuses")}

    assert told == {int(status): meaning for status, meaning in MEANING.items()}


def answering(status: int) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(status, json={})


def garbage(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, text="{", headers={"Content-Type": "application/json"})


def breaking_off(_: httpx.Request) -> httpx.Response:
    raise httpx.RemoteProtocolError("the answer is not valid HTTP")


def refusing(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


def losing(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("lost")


SLEEPS = {"command": ["sleep", "5"], "timeout": {"attempt": "60ms"}}
GET, POST = {"http": "https://a.example"}, {"http": {"url": "https://a.example", "method": "POST"}}
TRIALS: list[tuple[str, bool, dict[str, Any], Callable[[httpx.Request], httpx.Response]]] = [
    ("bad-response", True, GET, breaking_off),
    ("bad-response", False, GET, garbage),
    ("conflict", False, GET, answering(409)),
    ("execution-failed", True, GET, answering(500)),
    ("execution-failed", True, POST, refusing),
    ("execution-failed", False, GET, answering(400)),
    ("rate-limited", True, GET, answering(429)),
    ("timeout", True, {**SLEEPS, "effect": "read"}, answering(200)),
    ("timeout", False, {**SLEEPS, "effect": "write"}, answering(200)),
    ("unavailable", False, {"command": ["no-such-program"]}, answering(200)),
    ("unknown-outcome", False, POST, losing),
]


@pytest.mark.parametrize(("code", "may_retry", "kind", "answer"), TRIALS)
async def test_a_failure_is_retryable_as_told(
    code: str, may_retry: bool, kind: dict[str, Any], answer: Callable[[httpx.Request], Any]
) -> None:
    data = {"tools": {"a": {"description": "A tool.", "retry": "none", **kind}}}
    files = {"tools.d/t.yaml": json.dumps(data)}
    async with open_files(files, transport=httpx.MockTransport(answer)) as rt:
        result = await rt.call("a", {})

    assert (result.error.code, result.error.retryable) == (code, may_retry)


ASKED = ("rate-limited", False)
"""A question too many, which is told in the same way as a call too many."""


async def test_a_question_too_many_is_not_retryable() -> None:
    tool = {"description": "A tool.", "parameters": {"x": "integer"}, "command": ["true"]}
    files = {
        "tools.d/t.yaml": json.dumps({"tools": {"a": {**tool, "hitl": "confirm"}}}),
        "policies.d/p.yaml": json.dumps({"default": "allow", "limits": {"pending": 1}}),
    }
    async with open_files(files) as rt:
        results = [await rt.call("a", {"x": number}) for number in range(2)]

    assert [each.status for each in results] == ["paused", "error"]
    assert (results[1].error.code, results[1].error.retryable) == ASKED


REFUSED = ("circuit-open", True)
"""What becomes of a call while the breaker of its tool is open."""


async def test_a_call_that_a_breaker_refuses_is_retryable() -> None:
    tool = {"description": "A tool.", "command": ["false"], "breaker": {"failures": 1}}
    async with open_files({"tools.d/t.yaml": json.dumps({"tools": {"a": tool}})}) as rt:
        results = [await rt.call("a", {}) for _ in range(2)]

    assert (results[1].error.code, results[1].error.retryable) == REFUSED


RUNNING = ("conflict", True)
"""What becomes of a call while the same one is still under way."""


async def test_a_call_that_another_one_stands_in_the_way_of_is_retryable() -> None:
    asked, is_let_go = asyncio.Event(), asyncio.Event()

    async def answer(_: httpx.Request) -> httpx.Response:
        asked.set()
        await is_let_go.wait()
        return httpx.Response(200, json={})

    keyed = {"parameters": {"invoice": "string"}, "idempotency_key": "{{ invoice }}"}
    tool = {"description": "A tool.", **POST, **keyed}
    files = {"tools.d/t.yaml": json.dumps({"tools": {"a": tool}})}
    options = {"transport": httpx.MockTransport(answer), "clock": ManualClock()}
    async with open_files(files, **options) as rt:
        first = asyncio.create_task(rt.call("a", {"invoice": "A1"}))
        await asked.wait()
        result = await rt.call("a", {"invoice": "A1"})
        is_let_go.set()
        await first

    assert (result.error.code, result.error.retryable) == RUNNING


DOWN = ("unavailable", True)
"""What becomes of a call while the server of its tool cannot be reached."""


async def test_a_call_of_a_server_that_is_down_is_retryable() -> None:
    source = {"mcp": {"command": [sys.executable, "server.py"]}}
    tool = {"description": "A tool.", "effect": "read", "retry": "none"}
    tool["mcp"] = {"server": "s", "tool": "b"}
    written = json.dumps({"sources": {"s": source}, "tools": {"a": tool}})
    async with open_files({"tools.d/t.yaml": written, "server.py": "raise SystemExit(1)"}) as rt:
        result = await rt.call("a", {})

    assert (result.error.code, result.error.retryable) == DOWN


MORE = (ASKED, REFUSED, RUNNING, DOWN)


def test_yes_no_and_sometimes_are_what_the_trials_show() -> None:
    shown: dict[str, set[bool]] = {}
    for code, may_retry, *_ in [*TRIALS, *MORE]:
        shown.setdefault(code, set()).add(may_retry)
    words = {frozenset({True}): "yes", frozenset({False}): "no"}

    told = {row[0]: row[3] for row in NOW}
    tried = {code: words.get(frozenset(each), "sometimes") for code, each in shown.items()}
    assert told == dict.fromkeys(told, "no") | tried


def test_no_other_code_is_raised_as_retryable() -> None:
    calls = (node for node in nodes() if isinstance(node, ast.Call))
    keywords = ({each.arg: ast.unparse(each.value) for each in call.keywords} for call in calls)
    raised = {each["code"].strip("'") for each in keywords if each.keys() >= {"code", "retryable"}}

    tried = {code for code, may_retry, *_ in [*TRIALS, *MORE] if may_retry}
    assert raised & CODES.keys() <= tried


async def test_every_http_status_is_told() -> None:
    told: dict[int | str, tuple[str, bool]] = {}
    for statuses, code, may_retry in pages.rows(PAGE, "HTTP statuses"):
        for status in re.findall(r"\d+", statuses) or [0]:
            told[int(status)] = (code, may_retry == "yes")
    tool = {"description": "A tool.", "parameters": {"status": "integer"}, "retry": "none",
            "http": "https://a.example/{{ status }}"}  # fmt: skip
    files = {"tools.d/t.yaml": json.dumps({"tools": {"a": tool}})}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(int(request.url.path[1:]), json={"what": "happened"})

    async with open_files(files, transport=httpx.MockTransport(answer)) as rt:
        for status in range(300, 600):
            error = (await rt.call("a", {"status": status})).error
            assert (error.code, error.retryable) == told.get(status, told[0]), status
            assert error.details["status"] == status
            assert "happened" in error.details["body"]
