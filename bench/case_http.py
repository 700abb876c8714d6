"""An HTTP tool against the client that it uses, bare, and 64 at once against plain aiohttp."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
from project_copy import ARGUMENTS, caller, opened
from rounds import Call, Figure, in_turns, show, wall_ratio

from toolrt.bindings.network import Client, Endpoint, Network, Origin, Request
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock

ROUNDS, AT_ONCE = 15, 64
SERVER = Path(__file__).parent / "echo_server.py"


@contextmanager
def echo_server() -> Iterator[int]:
    """The port of the server, in a process of its own."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE) as server:
        try:
            yield int(server.stdout.readline())  # type: ignore[union-attr] - it is a pipe
        finally:
            server.kill()


def bare_client(network: Network, port: int) -> Call:
    """A request of the client that http tools use, with nothing of toolrt around it."""
    client = Client(network, Endpoint(Origin("http", "127.0.0.1", port)))
    request = Request("GET", f"/echo?{urlencode(ARGUMENTS)}", {"Accept": "application/json"})
    clock = SystemClock()
    now = time.monotonic()
    invocation = Invocation("1", "bench", {}, Caller(), clock, now, now + 3600)

    async def get() -> Any:
        return json.loads((await client.send(request, invocation)).body)

    return get


def bare_aiohttp(session: aiohttp.ClientSession, port: int) -> Call:
    """The limit with many at once."""
    url = f"http://127.0.0.1:{port}/echo"
    query = {name: str(value) for name, value in ARGUMENTS.items()}

    async def get() -> Any:
        async with session.get(url, params=query) as response:
            response.raise_for_status()
            return await response.json()

    return get


def at_once(call: Call) -> Call:
    """`AT_ONCE` calls, together."""

    async def together() -> None:
        await asyncio.gather(*[call() for _ in range(AT_ONCE)])

    return together


async def main() -> None:
    network = Network()
    connector = aiohttp.TCPConnector(limit=100)
    with echo_server() as port:
        async with opened(port) as runtime, aiohttp.ClientSession(connector=connector) as session:
            calls = {
                "tool": caller(runtime, "bench.echo", ARGUMENTS),
                "client": bare_client(network, port),
                "aiohttp": bare_aiohttp(session, port),
            }
            one = await in_turns(calls, rounds=ROUNDS, batch=400)
            many = {name: at_once(call) for name, call in calls.items()}
            all_ = await in_turns(many, rounds=ROUNDS, batch=4)
    await network.close()
    show(
        Figure("http tool, wall", "its client", wall_ratio(one, "tool", "client"), 1.3, 1.2),
        Figure("http tool, 64 at once", "aiohttp", wall_ratio(all_, "tool", "aiohttp"), 3.5, 1.3),
    )


asyncio.run(main())
