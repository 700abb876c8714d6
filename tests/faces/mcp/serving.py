"""A bare server of one project, for the tests of MCP: the endpoint behind nothing but uvicorn."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn

import toolrt
from toolrt.faces.mcp.http import McpEndpoint
from toolrt.opened import Runtime


class App:
    """Calls the endpoint as the door would; `caller` is who everybody is."""

    def __init__(self, endpoint: McpEndpoint, caller: toolrt.Caller | None = None) -> None:
        self._endpoint = endpoint
        self.caller = caller

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["toolrt.toolset"] = scope["path"].removeprefix("/mcp").lstrip("/") or None
        scope["toolrt.caller"] = self.caller
        host = dict(scope["headers"]).get(b"host", b"").decode().partition(":")[0]
        if host not in {"127.0.0.1", "localhost"}:
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._endpoint(scope, receive, send)


class Served:
    """A server that runs: its URL, and what it serves."""

    def __init__(self, runtime: Runtime, endpoint: McpEndpoint, app: App, port: int) -> None:
        self.runtime = runtime
        self.endpoint = endpoint
        self.app = app
        self.url = f"http://127.0.0.1:{port}/mcp"


def running_in(site: Served) -> list[Any]:
    """What runs in its sessions."""
    known = site.endpoint.sessions._known.values()
    return [task for session in known for task in session.running.values()]


@asynccontextmanager
async def served(
    project: Path,
    *,
    caller: toolrt.Caller | None = None,
    port: int = 0,
    watch: bool = False,
    **options: Any,
) -> AsyncIterator[Served]:
    """Serve a project on a port of loopback, in this loop."""
    listening = socket.create_server(("127.0.0.1", port))
    async with toolrt.open(project, watch=watch) as runtime:
        endpoint = McpEndpoint(runtime, **options)
        app = App(endpoint, caller)
        config = uvicorn.Config(
            app, lifespan="off", http="httptools", log_level="error", access_log=False
        )
        server = uvicorn.Server(config)
        server.capture_signals = _no_signals  # type: ignore[method-assign] # pytest has its own
        running = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started:  # noqa: ASYNC110 - uvicorn says it in no other way
            await asyncio.sleep(0)
        try:
            yield Served(runtime, endpoint, app, listening.getsockname()[1])
        finally:
            endpoint.close()
            server.should_exit = server.force_exit = True
            await running
            listening.close()


class _no_signals:  # noqa: N801 - stands in for a context manager
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


async def _forever(project: str, port: str) -> None:
    async with served(Path(project), port=int(port), watch=True):
        await asyncio.Event().wait()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_forever(*sys.argv[1:3]))
