"""Tools that start something long: the answer is that of the poll tool, once it is done."""

from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolrt.core.errors import BindingError, ToolError
from toolrt.testing import ManualClock, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  build:
    description: Builds.
    parameters: {what: string}
    http: {url: http://127.0.0.1:9/b, method: POST, json: {what: "{{ what }}"}}
    timeout: {total: 60s}
    poll: {tool: status, args: {id: "{{ result.id }}"}, every: 5s, until: "result.state != 'running'"}
    result: {select: artifact}
  status:
    description: How it stands.
    parameters: {id: integer}
    effect: read
    http: http://127.0.0.1:9/{{ id }}
    retry: none
"""
RUNNING, DONE = {"state": "running"}, {"state": "done", "artifact": "a.zip"}


class Says:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, arguments: dict[str, Any]) -> Any:
        self.asked.append(dict(arguments))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@asynccontextmanager
async def opened(start: Any, status: Says, rules: str = ""):
    clock = ManualClock()
    files = {"tools.d/t.yaml": TOOLS} | ({"policies.d/p.yaml": rules} if rules else {})
    async with open_files(files, clock=clock) as rt:
        with stubbed(rt, {"build": Says(start), "status": status}):
            yield rt, clock


async def built(start: Any, status: Says, rules: str = ""):
    async with opened(start, status, rules) as (rt, clock):
        began = clock.monotonic()
        return await rt.call("build", {"what": "x"}), clock.monotonic() - began


async def test_the_answer_is_what_the_poll_tool_says_once_it_is_done():
    status = Says(RUNNING, RUNNING, DONE)

    result, took_s = await built({"id": 7}, status)

    assert (result.status, result.data) == ("success", "a.zip")
    assert status.asked == [{"id": 7}] * 3
    assert took_s == 15.0
    assert result.context["polls"] == 3


async def test_when_time_is_up_what_the_start_said_is_the_partial_result():
    result, took_s = await built({"id": 7}, Says(RUNNING))

    assert (result.status, result.data) == ("partial", {"id": 7})
    assert took_s <= 60.0
    assert "time was up" in result.context["notes"][0]


async def test_a_poll_that_fails_for_a_while_is_asked_again():
    down = BindingError("down", sent="never", retryable=True, target_fault=True)

    result, _ = await built({"id": 7}, Says(down, DONE))

    assert result.data == "a.zip"


@pytest.mark.parametrize("said", [ToolError("gone"), {"nothing": 1}, None], ids=["a", "b", "c"])
async def test_where_nobody_can_tell_the_start_is_the_partial_result(said):
    status = Says(said)

    result, _ = await built({"id": 7}, status)

    assert (result.status, result.data) == ("partial", {"id": 7})
    assert len(status.asked) == 1
    assert "status" in result.context["notes"][0]


async def test_a_poll_that_waits_for_people_ends_the_polling():
    rules = "rules:\n  - {id: a, decide: allow, tools: ['*']}\n  - {id: b, decide: ask, tools: [status]}"

    result, _ = await built({"id": 7}, Says(DONE), rules)

    assert result.status == "partial"


async def test_a_start_that_fails_is_not_polled():
    status = Says(DONE)

    result, _ = await built(ToolError("no"), status)

    assert (result.status, status.asked) == ("error", [])


async def test_a_start_without_what_the_poll_needs_is_told():
    status = Says(DONE)

    result, _ = await built({"number": 7}, status)

    assert (result.status, result.data, status.asked) == ("partial", {"number": 7}, [])
