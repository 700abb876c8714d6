"""A server of a test's own, and the calls that are made to it."""

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from toolrt.bindings.base import BindContext, Services
from toolrt.bindings.mcp import Server, Servers, compile_server
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.core.errors import CallError
from toolrt.core.faults import Fault
from toolrt.expressions.references import References
from toolrt.expressions.templates import Names
from toolrt.manifest.source import McpSource
from toolrt.manifest.target import Target

SERVER = Path(__file__).parents[2] / "mcp_server.py"


class Desk:
    """One server and its connection."""

    def __init__(self, folder: Path, server: Server, services: Services) -> None:
        self.folder, self.server, self.services = folder, server, services
        self.servers = services.share(Servers)
        self.told: list[Any] = []

    async def names(self) -> list[str] | None:
        await self.servers.discover([self.server])
        listing = self.servers.listing(self.server)
        return None if listing is None else [each.name for each in listing.tools]

    async def call(self, tool: str, *, has_schema: bool = False, **arguments: Any) -> Any:
        invocation = self.invocation(arguments)
        answer = await self.servers.call(self.server, tool, invocation, has_schema=has_schema)
        return answer.value

    async def failure(self, tool: str, **arguments: Any) -> CallError:
        try:
            value = await self.call(tool, **arguments)
        except CallError as error:
            return error
        raise AssertionError(value)

    def invocation(self, arguments: dict[str, Any]) -> Invocation:
        clock = SystemClock()
        now = clock.monotonic()
        call = Invocation("c1", "t", arguments, Caller(), clock, now, now + 60.0)
        call.on_progress = lambda *said: self.told.append(said)
        return call

    def notes(self) -> list[str]:
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []


def compiled(
    folder: Path,
    targets: dict[str, Target] | None = None,
    environ: dict[str, str] | None = None,
    **options: Any,
) -> tuple[Server | None, list[Fault], BindContext]:
    """A source's server, what is wrong with it, and where it was compiled."""
    services = Services(folder)
    given = {"PATH": "/usr/bin:/bin", **(environ or {})}
    context = BindContext(
        tool="x",
        project=folder,
        services=services,
        references=References(folder, given, ["env"]),
        input_schema={},
        visible=frozenset(),
        names=Names(),
        targets=targets or {},
    )
    server = compile_server("odd", McpSource.model_validate(options), context)
    return server, context.faults, context


@asynccontextmanager
async def opened(
    folder: Path, *habits: str, environ: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Desk]:
    """The odd server with these habits, or another one that `options` name."""
    shutil.copy(SERVER, folder / "mcp_server.py")
    if not {"url", "target"} & options.keys():
        options = {"command": [sys.executable, "mcp_server.py", *habits], **options}
    server, faults, context = compiled(folder, environ=environ, **options)
    assert server is not None, faults
    desk = Desk(folder, server, context.services)
    try:
        yield desk
    finally:
        await context.services.close()
