"""MCP over stdio: a real process, a line for each message."""

import asyncio
import json
import os
import signal
import sys

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import META, MODERN
from until import is_running, until

pytestmark = pytest.mark.anyio
MODERN_META = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}


class Process:
    """A server at the other end of two pipes."""

    def __init__(self, process):
        self.process = process
        self.seen = []

    def send(self, method, params=None, id_=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.write(message if id_ is None else {**message, "id": id_})

    def write(self, message):
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(raw + b"\n")

    async def answer(self, id_):
        while True:
            line = await asyncio.wait_for(self.process.stdout.readline(), 20)
            assert line, (await self.process.stderr.read()).decode()
            message = json.loads(line)
            self.seen.append(message)
            if message.get("id") == id_ and "method" not in message:
                return message

    async def ask(self, method, params=None, id_=1):
        self.send(method, params, id_)
        return await self.answer(id_)

    async def greet(self, capabilities=None):
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}}
        return await self.ask("initialize", {**params, "clientInfo": {"name": "x", "version": "1"}})

    async def ended(self):
        self.process.stdin.close()
        rest = await asyncio.wait_for(self.process.stdout.read(), 20)
        return await self.process.wait(), [json.loads(line) for line in rest.splitlines()]


@pytest.fixture
async def server(folder):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolrt", "-p", project(folder), "serve", "--stdio"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=16 * 1024 * 1024,
    )
    yield Process(process)
    if process.returncode is None:
        process.kill()
    await process.wait()


async def test_a_client_of_old_lists_and_calls(server):
    greeted = await server.greet()
    listed = await server.ask("tools/list", id_=2)
    called = await server.ask("tools/call", {"name": "add", "arguments": {"a": 2}}, id_="three")
    status, rest = await server.ended()

    assert greeted["result"]["protocolVersion"] == "2025-11-25"
    assert "add" in [each["name"] for each in listed["result"]["tools"]]
    assert called["result"]["structuredContent"] == {"result": 3}
    assert (status, rest) == (0, [])


async def test_a_modern_client_needs_no_handshake(server):
    found = await server.ask("server/discover", {"_meta": MODERN_META})
    params = {"name": "add", "arguments": {"a": 2}, "_meta": MODERN_META}
    called = await server.ask("tools/call", params, id_=2)
    strange = {**MODERN_META, f"{META}protocolVersion": "2099-01-01"}
    refused = await server.ask("server/discover", {"_meta": strange}, id_=3)

    assert found["result"]["supportedVersions"] == [MODERN]
    assert called["result"]["structuredContent"] == 3
    assert refused["error"]["code"] == -32022


async def test_stdout_carries_only_messages_whatever_tools_print(server):
    await server.greet()
    called = await server.ask("tools/call", {"name": "noisy"}, id_=2)
    status, rest = await server.ended()

    assert called["result"]["content"][0]["text"] == "quiet"
    assert (status, rest) == (0, [])
    assert b"to stdout" in await server.process.stderr.read()


async def test_what_was_read_before_the_end_is_answered(server):
    await server.greet()
    for number in range(20):
        params = {"name": "slow", "arguments": {"seconds": 0.05}}
        server.send("tools/call", params, 100 + number)
    server.process.stdin.write(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')  # no end of line
    status, rest = await server.ended()

    answered = {each["id"] for each in rest if "id" in each}
    assert status == 0
    assert answered == {7, *range(100, 120)}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_with_its_children(server, number):
    await server.greet()
    seconds = f"40.{os.getpid()}{number:d}"
    server.send("tools/call", {"name": "wait", "arguments": {"seconds": float(seconds)}}, 2)
    await until(lambda: _running(seconds))
    server.process.send_signal(number)
    status = await asyncio.wait_for(server.process.wait(), 10)

    assert status == 0
    assert not _running(seconds)


async def test_a_call_that_is_called_off_ends_with_its_children(server):
    await server.greet()
    seconds = f"41.{os.getpid()}"
    server.send("tools/call", {"name": "wait", "arguments": {"seconds": float(seconds)}}, 2)
    await until(lambda: _running(seconds))
    server.send("notifications/cancelled", {"requestId": 2})
    answer = await server.answer(2)

    assert answer["error"]["code"] == -32800
    await until(lambda: not _running(seconds))


async def test_what_is_no_message_is_answered_and_the_next_one_heard(server):
    await server.greet()
    server.write(b"{")
    server.write(b"[" * 5_000_000)
    server.write(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"\\ud800"}}')
    server.write(b"\x00\xff")
    answer = await server.ask("ping", id_=6)

    codes = [each["error"]["code"] for each in server.seen if "error" in each]
    assert codes == [-32700, -32600, -32700, -32700]
    assert answer["result"] == {}


async def test_a_tool_asks_the_client_and_goes_on_with_its_answer(server):
    await server.greet({"elicitation": {}})
    server.send("tools/call", {"name": "hello"}, 2)
    asked = None
    while asked is None:
        message = json.loads(await asyncio.wait_for(server.process.stdout.readline(), 20))
        asked = message if message.get("method") == "elicitation/create" else None
    result = {"action": "accept", "content": {"name": "Eve"}}
    server.write({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    assert (await server.answer(2))["result"]["content"][0]["text"] == "hello Eve"


async def test_a_tool_that_waits_for_a_client_that_has_gone_is_answered(server):
    await server.greet({"elicitation": {}})
    server.send("tools/call", {"name": "hello"}, 2)
    await asyncio.wait_for(server.process.stdout.readline(), 20)
    status, rest = await server.ended()

    assert status == 0
    assert rest[-1]["result"]["isError"] is True


async def test_lists_that_change_are_told(server, folder):
    await server.greet()
    more = "tools: {more: {description: More., command: [/bin/true]}}"
    (folder / "tools.d" / "more.yaml").write_text(more)
    line = await asyncio.wait_for(server.process.stdout.readline(), 20)

    assert json.loads(line)["method"] == "notifications/tools/list_changed"


def _running(word):
    return is_running("sleep", word)
