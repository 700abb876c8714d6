"""fastmcp's client against the server, in both eras and over both transports.

It needs versions of libraries of its own, so it stands in an environment of its own, which
`make check` builds; elsewhere these tests are skipped.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from served import FILES, served

from toolrt.testing import write_files

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("FASTMCP", ROOT / ".venv" / "fastmcp" / "bin" / "python"))
CLIENT = """
import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult


async def approve(message, response_type, params, context):
    if getattr(params, "mode", "form") == "url":
        return ElicitResult(action="decline")
    return ElicitResult(action="accept", content={"decision": "approve"})


async def main(where, mode):
    async with Client(json.loads(where), mode=mode, elicitation_handler=approve) as client:
        listed = [tool.name for tool in await client.list_tools()]
        added = await client.call_tool("t_add", {"a": 2})
        failed = await client.call_tool("t_fails", {}, raise_on_error=False)
        paid = await client.call_tool("t_pay", {"to": "ann", "amount": 5}, raise_on_error=False)
        many = await asyncio.gather(*(client.call_tool("t_add", {"a": n}) for n in range(20)))
    told = [each.content[0].text for each in (added, failed, paid)]
    print(json.dumps([listed, told, [int(each.content[0].text) for each in many]]))


asyncio.run(main(*sys.argv[1:]))
"""

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.conformance,
    pytest.mark.skipif(
        "FASTMCP" not in os.environ and not PYTHON.exists(), reason="there is no fastmcp here"
    ),
]


async def said(where: object, mode: str) -> list[object]:
    """What the client prints."""
    client = await asyncio.create_subprocess_exec(
        PYTHON, "-c", CLIENT, json.dumps(where), mode,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, errors = await client.communicate()
    assert client.returncode == 0, errors.decode()[-3000:]
    found: list[object] = json.loads(out.splitlines()[-1])
    return found


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_fastmcp_lists_and_calls_over_http(mode: str) -> None:
    async with served(FILES) as server:
        listed, told, many = await said(f"http://127.0.0.1:{server.port}/mcp", mode)
    assert listed == ["t_add", "t_fails", "t_nap", "t_pay"]
    assert told[:2] == ["4", "ValueError: no luck"]
    assert "waits for a person" in told[2]
    assert many == [number + 2 for number in range(20)]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_fastmcp_starts_a_server_and_its_user_approves_in_a_form(
    tmp_path: Path, mode: str
) -> None:
    write_files(tmp_path, FILES)
    toolrt = str(Path(sys.executable).parent / "toolrt")
    server = {"command": toolrt, "args": ["-p", str(tmp_path), "serve", "--stdio"]}
    listed, told, _ = await said({"mcpServers": {"shop": server}}, mode)
    assert "t_pay" in listed
    assert told == ["4", "ValueError: no luck", "paid ann 5"]
