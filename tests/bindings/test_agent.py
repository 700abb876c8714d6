"""Tools that ask another agent (U40): an object of Python, a service, a tool of a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from loopback import Heard, json_reply, loopback

from toolrt.runtime import load
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

AGENTS = '''
class Researcher:
    """Finds things out."""

    name = "Researcher"
    role = "a patient librarian"
    goal = "find sources"

    def do(self, task: str) -> str:
        return f"done: {task}"


class Both:
    """Does it later."""

    def do(self, request: str) -> str:
        return "do"

    async def do_async(self, request: str, depth: int = 1) -> str:
        return f"async {request} {depth}"


one = Researcher()
NOTHING = 3
'''


def files(agent: str, more: str = "") -> dict[str, str]:
    return {
        "agents.py": AGENTS,
        "tools.d/t.yaml": f"tools:\n  ask_one:\n    agent: {agent}\n{more}",
    }


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("{python: 'agents:one'}", "done: sources of tea"),
        ("{python: 'agents:Researcher'}", "done: sources of tea"),
        ("{python: 'agents:Both'}", "async sources of tea 1"),
        (
            "{python: 'agents:Both', input: {request: 'Please: {{ request }}', depth: 2}}",
            "async Please: sources of tea 2",
        ),
    ],
)
async def test_u40_an_object_is_asked(agent: str, says: str) -> None:
    async with open_files(files(agent)) as runtime:
        entry = runtime.snapshot.tools["ask_one"]
        result = await runtime.call("ask_one", {"request": "sources of tea"})
    assert result.text == says
    assert entry.input_schema["required"] == ["request"]


async def test_u40_role_and_goal_are_told() -> None:
    async with open_files(files("{python: 'agents:one'}")) as runtime:
        [entry] = await runtime.listed()
    assert entry.description == ("Finds things out. Role: a patient librarian. Goal: find sources.")


async def test_u40_a_service_is_asked() -> None:
    heard: list[Any] = []

    def answer(request: Heard) -> bytes:
        heard.append((request.method, json.loads(request.body)))
        return json_reply('{"answer": "found"}')

    described = "    description: Ask.\n    result: {select: answer}\n"
    async with loopback(answer) as server:
        agent = f"{{http: {{url: {server.url}/ask, allow_private: true}}}}"
        async with open_files(files(agent, described)) as runtime:
            plain = await runtime.call("ask_one", {"request": "tea"})
        agent = f"{agent[:-1]}, input: {{q: '{{{{ request }}}}', k: 3}}}}"
        async with open_files(files(agent, described)) as runtime:
            await runtime.call("ask_one", {"request": "tea"})
    assert plain.data == "found"
    assert heard == [("POST", {"request": "tea"}), ("POST", {"q": "tea", "k": 3})]


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        ("{python: 'agents:NOTHING'}", "not-callable"),
        ("{python: 'agents:nowhere'}", "import-failed"),
        ("{python: 'agents:one', http: https://example.com/}", "one-of"),
        ("{}", "one-of"),
        ("{http: {uri: https://example.com/}}", "unknown-key"),
        ("{mcp: {server: nowhere, tool: x}}", "unknown-server"),
        ("{python: 'agents:one', input: {tusk: x}}", "signature-drift"),
    ],
)
def test_what_is_wrong_with_an_agent_is_told(tmp_path: Path, agent: str, code: str) -> None:
    more = "    description: Ask.\n"
    write_files(tmp_path, files(agent, more))
    found = load(tmp_path, environ={}).diagnostics
    assert [each.code for each in found if each.severity == "error"] == [code]
