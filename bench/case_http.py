"""An HTTP tool against the client that it uses, bare, and 64 at once against plain aiohttp."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx
from project_copy import ARGUMENTS, caller, opened
from rounds import Call, Figure, in_turns, show, wall_ratio

from toolrt.bindings.network import Guard
from toolrt.bindings.network.transport import Transport

ROUNDS, AT_ONCE = 15, 64
SERVER = Path(__file__).parent / "echo_server.py"
QUERY = {name: str(value) for name, value in ARGUMENTS.items()}


@contextmanager
def echo_server() -> Iterator[int]:
    """The port of the server, in a process of its own."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE) as server:
        try:
            yield int(server.stdout.readline())  # type: ignore[union-attr] - it is a pipe
        finally:
            server.kill()


def bare_client(client: httpx.AsyncClient, port: int) -> Call:
    """The client that http tools use, with nothing of toolrt around it."""
    url = f"http://127.0.0.1:{port}/echo"

    async def get() -> Any:
        response = await client.get(url, params=QUERY)
        response.raise_for_status()
        return response.json()

    return get


def bare_aiohttp(session: aiohttp.ClientSession, port: int) -> Call:
    """The limit with many at once."""
    url = f"http://127.0.0.1:{port}/echo"

    async def get() -> Any:
        async with session.get(url, params=QUERY) as response:
            response.raise_for_status()
            return await response.json()

    return get


def at_once(call: Call) -> Call:
    """`AT_ONCE` calls, together."""

    async def together() -> None:
        await asyncio.gather(*[call() for _ in range(AT_ONCE)])

    return together


async def main() -> None:
    async with (
        httpx.AsyncClient(transport=Transport(Guard.of(True)), trust_env=False) as client,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=100)) as session,
    ):
        with echo_server() as port:
            await measure(client, session, port)


async def measure(client: httpx.AsyncClient, session: aiohttp.ClientSession, port: int) -> None:
    async with opened(port) as runtime:
        calls = {
            "tool": caller(runtime, "bench.echo", ARGUMENTS),
            "client": bare_client(client, port),
            "aiohttp": bare_aiohttp(session, port),
        }
        one = await in_turns(calls, rounds=ROUNDS, batch=400)
        many = {name: at_once(call) for name, call in calls.items()}
        all_ = await in_turns(many, rounds=ROUNDS, batch=4)
    show(
        Figure("http tool, wall", "its client", wall_ratio(one, "tool", "client"), 1.3, 1.2),
        Figure("http tool, 64 at once", "its client", wall_ratio(all_, "tool", "client"), 1.3, 1.2),
        Figure("http tool, 64 at once", "aiohttp", wall_ratio(all_, "tool", "aiohttp"), 3.5, 1.3),
    )


asyncio.run(main())
