"""The first answers of a second start: from what the first one kept, before anything is opened."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import META, MODERN
from faces.mcp.test_stdio import Process
from until import until

from toolrt.faces.mcp.early import FILE

pytestmark = pytest.mark.anyio
MODERN_META = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}


@asynccontextmanager
async def started(folder):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolrt", "-p", folder, "serve", "--stdio"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def listed(server, id_=2):
    answer = await server.ask("tools/list", id_=id_)
    return answer["result"]["tools"]


async def kept(folder):
    """What the first start leaves for the second."""
    async with started(project(folder)) as server:
        await server.greet()
        tools = await listed(server)
        await until((folder / FILE).exists)
        await server.ended()
    return tools


async def test_a_second_start_tells_the_same_and_goes_on(folder):
    before = await kept(folder)
    async with started(folder) as server:
        greeted = await server.greet({"elicitation": {}})
        server.send("notifications/initialized")
        again = await listed(server)
        called = await server.ask("tools/call", {"name": "add", "arguments": {"a": 1}}, id_=3)
        status, rest = await server.ended()

    assert again == before
    assert greeted["result"]["serverInfo"]["name"] == "toolrt"
    assert called["result"]["structuredContent"] == {"result": 2}
    assert (status, rest) == (0, [])


async def test_it_is_told_without_the_project_being_opened(folder):
    await kept(folder)
    (folder / "tools.d" / "tools.yaml").chmod(0)
    (folder / "more.py").write_text("raise SystemExit")
    async with started(folder) as server:
        greeted = await server.greet()
        status, rest = await server.ended()

    assert "result" in greeted
    assert (status, rest) == (0, [])


async def test_a_changed_file_is_told_of(folder):
    before = await kept(folder)
    more = "tools: {more: {description: More., command: [/bin/true]}}"
    (folder / "tools.d" / "more.yaml").write_text(more)
    async with started(folder) as server:
        await server.greet()
        after = await listed(server)

    assert {each["name"] for each in after} - {each["name"] for each in before} == {"more"}


async def test_what_was_told_and_is_not_so_is_corrected(folder):
    await kept(folder)
    file = folder / FILE
    document = json.loads(file.read_text())
    document["tools"] = dict.fromkeys(document["tools"], '{"tools":[]}')
    file.write_text(json.dumps(document))
    async with started(folder) as server:
        await server.greet()
        wrong = await listed(server)
        line = await asyncio.wait_for(server.process.stdout.readline(), 20)
        right = await listed(server, 3)

    assert wrong == []
    assert json.loads(line)["method"] == "notifications/tools/list_changed"
    assert right


async def test_a_file_that_others_may_write_is_not_believed(folder):
    await kept(folder)
    file = folder / FILE
    file.write_text(file.read_text().replace("Adds", "Steals"))
    file.chmod(0o666)
    async with started(folder) as server:
        await server.greet()
        tools = await listed(server)

    assert "Steals" not in json.dumps(tools)


async def test_a_modern_client_is_answered_early_too(folder):
    await kept(folder)
    async with started(folder) as server:
        found = await server.ask("server/discover", {"_meta": MODERN_META})
        tools = await server.ask("tools/list", {"_meta": MODERN_META}, id_=2)
        params = {"name": "add", "arguments": {"a": 1}, "_meta": MODERN_META}
        called = await server.ask("tools/call", params, id_=3)

    assert found["result"]["supportedVersions"] == [MODERN]
    assert tools["result"]["resultType"] == "complete"
    assert called["result"]["structuredContent"] == 2


async def test_broken_input_is_left_to_the_server(folder):
    await kept(folder)
    async with started(folder) as server:
        server.write(b"{")
        server.write(b"[]")
        answer = await server.ask("ping", id_=9)

    assert [each["error"]["code"] for each in server.seen if "error" in each] == [-32700, -32600]
    assert answer["result"] == {}
