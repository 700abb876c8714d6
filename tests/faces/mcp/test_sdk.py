"""The Python SDK as a client: over HTTP and stdio, in both eras."""

import mcp
import pytest
from faces.mcp.projects import project
from faces.mcp.serving import served

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])


@MODES
async def test_a_client_lists_and_calls_over_http(folder, mode):
    async with served(project(folder)) as site, mcp.Client(site.url, mode=mode) as client:
        listed = await client.list_tools()
        called = await client.call_tool("add", {"a": 2, "b": 3})
        failed = await client.call_tool("fails", {})

    assert "point" in [each.name for each in listed.tools]
    assert called.content[0].text == "5"
    assert called.structured_content == ({"result": 5} if mode == "legacy" else 5)
    assert failed.is_error


@MODES
async def test_a_client_is_told_of_progress_over_http(folder, mode):
    told = []

    async def progress(done, total, message):
        told.append((done, total, message))

    async with served(project(folder)) as site, mcp.Client(site.url, mode=mode) as client:
        await client.call_tool("slow", {"seconds": 0.02}, progress_callback=progress)

    assert told == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]


@MODES
async def test_a_client_is_asked_what_a_tool_wants_to_know(folder, mode):
    from mcp import types

    async def elicit(_context, params):
        assert params.message == "Who?"
        return types.ElicitResult(action="accept", content={"name": "Ann"})

    async def sample(_context, params):
        assert params.max_tokens == 20
        said = types.TextContent(type="text", text="roses")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    asked = {"elicitation_callback": elicit, "sampling_callback": sample}
    async with (
        served(project(folder)) as site,
        mcp.Client(site.url, mode=mode, **asked) as client,
    ):
        hello = await client.call_tool("hello", {})
        poem = await client.call_tool("poem", {})

    assert hello.content[0].text == "hello Ann"
    assert poem.content[0].text == "roses"


@MODES
async def test_a_client_lists_and_calls_over_stdio(folder, mode):
    import sys

    from mcp import StdioServerParameters, types

    async def elicit(_context, params):
        fields = {"decision": "approve"} if "pay" in params.message else {"name": "Ann"}
        return types.ElicitResult(action="accept", content=fields)

    arguments = ["-m", "toolrt", "-p", str(project(folder)), "serve", "--stdio"]
    started = StdioServerParameters(command=sys.executable, args=arguments)
    async with mcp.Client(started, mode=mode, elicitation_callback=elicit) as client:
        listed = await client.list_tools()
        called = await client.call_tool("add", {"a": 2, "b": 3})
        hello = await client.call_tool("hello", {})
        paid = await client.call_tool("pay", {})

    assert "point" in [each.name for each in listed.tools]
    assert called.content[0].text == "5"
    assert hello.content[0].text == "hello Ann"
    assert paid.content[0].text.strip() == "paid"
    assert (folder / "paid.txt").read_text() == "paid\n"
