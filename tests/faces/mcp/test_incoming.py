"""Lines as they come in: what is too long is known by its id, if by nothing else."""

import json
import sys

import pytest
from faces.mcp.projects import project

from toolrt.faces.mcp.incoming import Incoming, TooLong
from toolrt.faces.mcp.messages import Wrong, id_of, read
from toolrt.schemas.text import MAX_BYTES

LONG = "x" * (MAX_BYTES + 1)
TRICK = '","id":5,"method":"m"}'


def lines(raw, step):
    incoming = Incoming()
    pieces = [raw[at : at + step] for at in range(0, len(raw), step)]
    return [*(line for each in pieces for line in incoming.take(each)), *incoming.rest()]


@pytest.mark.parametrize("step", [1000, 256 * 1024, 10 << 20])
@pytest.mark.parametrize(
    ("message", "id_"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"a": LONG}}, 7),
        ({"jsonrpc": "2.0", "method": "tools/call", "id": "seven", "params": {"a": LONG}}, "seven"),
        ({"method": "tools/call", "params": {"a": LONG}, "jsonrpc": "2.0", "id": 7}, 7),
        ({"params": {"a": LONG}, "id": 7, "method": "tools/call", "jsonrpc": "2.0"}, 7),
        ({"method": "tools/call", "params": {"a": LONG + TRICK}, "jsonrpc": "2.0"}, None),
        ({"method": "tools/call", "params": {"id": 5, "a": LONG}}, None),
        ({"method": "tools/call", "params": {"a": LONG, "b": {"c": 1, "id": 5}}}, None),
        ({"jsonrpc": "2.0", "id": "ours", "result": {"a": LONG}}, None),
        ({"result": {"a": LONG}, "jsonrpc": "2.0", "id": "ours"}, None),
        ({"jsonrpc": "2.0", "id": 10**40, "method": "m", "params": {"a": LONG}}, None),
    ],
)  # fmt: skip
def test_a_line_that_is_too_long_is_known_by_its_id(message, id_, step):
    raw = json.dumps(message).encode()

    before, found, after = lines(b'{"a": 1}\n' + raw + b"\n\n  \n[]", step)

    assert (before, after) == (b'{"a": 1}', b"[]")
    assert found == TooLong(id_) or (step > len(raw) and found == raw)
    with pytest.raises(Wrong) as wrong:
        read(raw)
    assert id_of(wrong.value) == id_


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_is_told_that_its_message_is_too_long_and_lives_on(folder, mode):
    mcp = pytest.importorskip("mcp")
    arguments = ["-m", "toolrt", "-p", str(project(folder)), "serve", "--stdio"]
    started = mcp.StdioServerParameters(command=sys.executable, args=arguments)

    async with mcp.Client(started, mode=mode, read_timeout_seconds=20) as client:
        with pytest.raises(mcp.MCPError, match="longer than 4194304 bytes"):
            await client.call_tool("add", {"a": LONG})
        called = await client.call_tool("add", {"a": 2, "b": 3})

    assert called.content[0].text == "5"
