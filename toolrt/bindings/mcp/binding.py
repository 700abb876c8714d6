"""The kind `mcp`: a tool of a server that a source of the project names."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from toolrt.bindings.base import BindContext, Binding, Kind, Spec, Unfinished
from toolrt.bindings.mcp.server import Server
from toolrt.bindings.mcp.servers import Servers
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError
from toolrt.core.names import did_you_mean
from toolrt.core.results import Answer


class McpSpec(Spec):
    """The name of a source of the project, and the tool's own name there."""

    server: str = Field(min_length=1)
    tool: str = Field(min_length=1)


class McpBinding:
    """One tool of one server."""

    __slots__ = ("_has_schema", "_name", "_server", "_servers", "_tool", "uses")

    def __init__(
        self, name: str, server: Server, tool: str, servers: Servers, *, has_schema: bool
    ) -> None:
        self._name, self._server, self._tool, self._servers = name, server, tool, servers
        self._has_schema = has_schema
        self.uses = server.uses

    async def call(self, invocation: Invocation) -> Answer:
        """Ask the server. Raises CallError."""
        why = self._servers.why_withheld(self._server, self._name)
        if why is not None:
            message = f"`{self._name}` is unavailable: {why}"
            raise BindingError(message, code="unavailable", sent="never")
        return await self._servers.call(
            self._server, self._tool, invocation, has_schema=self._has_schema
        )

    @property
    def endpoint(self) -> dict[str, Any]:
        """Where the server is: an approval of a call is about that one."""
        return dict(self._server.endpoint)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {
            "server": self._server.name,
            **self._server.endpoint,
            "method": "tools/call",
            "tool": self._tool,
            "arguments": dict(invocation.arguments),
        }


def bind(spec: McpSpec, context: BindContext) -> Binding:
    """Find the server; faults are in the context."""
    servers: Mapping[str, Any] = context.servers
    server = servers.get(spec.server)
    if isinstance(server, Server):
        if server.lacks is not None:
            context.lacks(server.lacks, "server")
        shared = context.services.share(Servers)
        has_schema = context.has_output_schema
        return McpBinding(context.tool, server, spec.tool, shared, has_schema=has_schema)
    if spec.server not in servers:
        hint = did_you_mean(spec.server, servers) or "declare it: `sources: {NAME: {mcp: …}}`"
        message = f"there is no source `{spec.server}` with a server"
        context.fault("unknown-server", message, "server", hint=hint)
    return Unfinished("its server is at fault")


KIND = Kind("mcp", McpSpec, bind)
