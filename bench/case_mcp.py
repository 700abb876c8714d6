"""A tool of an MCP server against the client of the SDK, bare, with the same server behind both."""

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters
from project_copy import ARGUMENTS, caller
from rounds import Figure, in_turns, own_cpu_ratio, show, wall_ratio

import toolrt

ROUNDS, BATCH = 15, 200
SERVER = Path(__file__).parent / "mcp_server.py"
PROJECT = """
defaults: {{effect: read}}
sources:
  bench: {{mcp: {{command: ["{python}", "{server}"]}}}}
"""


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="toolrt-bench-") as folder:
        tools = Path(folder) / "tools.d"
        tools.mkdir()
        (tools / "a.yaml").write_text(PROJECT.format(python=sys.executable, server=SERVER))
        parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
        async with Client(parameters) as client, toolrt.open(folder) as runtime:

            async def bare() -> None:
                result = await client.call_tool("echo", ARGUMENTS)
                if result.is_error:
                    raise SystemExit("the server is at fault")

            ours = caller(runtime, "bench.echo", ARGUMENTS)
            costs = await in_turns({"bare": bare, "ours": ours}, rounds=ROUNDS, batch=BATCH)
    cpu, wall = (each(costs, "ours", "bare") for each in (own_cpu_ratio, wall_ratio))
    show(
        Figure("CPU of an MCP call", "the SDK client bare", cpu, 1.2),
        Figure("wall time of an MCP call", "the SDK client bare", wall, 1.2),
    )


asyncio.run(main())
