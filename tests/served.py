"""A server in this process on a free port of loopback, and a client that knows its keys."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import httpx

from toolrt.faces.http.access import Access, Starting
from toolrt.faces.http.serving import bound, serve
from toolrt.faces.http.site import Site
from toolrt.opened import Runtime
from toolrt.policy.identities import of_os_user
from toolrt.testing import open_files

START_KEY = "the-key-of-this-start"
SUMS = '''\
"""Sums."""

import asyncio


def add(a: int, b: int = 2) -> int:
    return a + b


async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "rested"


def fails() -> None:
    raise ValueError("no luck")
'''
TOOLS = """\
namespace: t
tools:
  add:
    description: Add two numbers.
    tags: [maths]
    parameters: {a: integer, b: {type: integer, minimum: 0, default: 2}}
    python: sums:add
    effect: read
  nap: {description: Sleep., python: "sums:nap", effect: read}
  fails: {description: It fails., python: "sums:fails", effect: read}
  pay:
    description: Pay somebody.
    parameters: {to: string, amount: number}
    command: [printf, "paid %s %s", "{{ to }}", "{{ amount }}"]
    effect: irreversible
"""
FILES = {"tools.d/t.yaml": TOOLS, "sums.py": SUMS}


def hash_of(key: str) -> str:
    return "sha256:" + sha256(key.encode()).hexdigest()


PEOPLE = f"""\
identities:
- {{token_hash: "{hash_of("bot-key")}", principal: bot, may: [call]}}
- {{token_hash: "{hash_of("ann-key")}", principal: ann, roles: [finance], may: [call, approve]}}
- {{token_hash: "{hash_of("eve-key")}", principal: eve, tenant: other, may: [call, approve]}}
- {{token_hash: "{hash_of("adm-key")}", principal: adm, may: [call, approve, admin]}}
"""


@dataclass
class Served:
    """A server that runs, and a client of it."""

    runtime: Runtime
    site: Site
    port: int
    client: httpx.AsyncClient
    names: dict[str, str] = field(default_factory=dict)

    async def call(self, tool: str, _key: str | None = None, **arguments: Any) -> httpx.Response:
        return await self.post(f"/v1/tools/{tool}/call", {"arguments": arguments}, _key)

    async def get(self, path: str, key: str | None = None, **more: Any) -> httpx.Response:
        return await self.client.get(path, headers=bearer(key), **more)

    async def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:
        return await self.client.post(path, json=body, headers=bearer(key))

    async def raw(self, request: bytes, wait_s: float = 5.0) -> bytes:
        """All that comes back for these bytes, until the other side closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            return await asyncio.wait_for(reader.read(), wait_s)
        finally:
            writer.close()


def bearer(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


@asynccontextmanager
async def served(
    files: Mapping[str, str] = FILES, *, is_local: bool = True, **options: Any
) -> AsyncIterator[Served]:
    """Serve a project of these files."""
    async with open_files(files, **options) as runtime:
        listening, started = bound("127.0.0.1", 0), asyncio.Event()
        port = listening.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        starting = Starting(
            is_local, START_KEY, lambda known: of_os_user("root", known), "127.0.0.1", url
        )
        site = Site(runtime, Access(runtime, starting), b"s" * 32)
        serving = asyncio.create_task(serve(site, listening, 5.0, started.set))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            waiting.cancel()
            serving.result()
        try:
            async with httpx.AsyncClient(base_url=url, timeout=20) as client:
                yield Served(runtime, site, port, client)
        finally:
            site.draining.set()
            await serving
