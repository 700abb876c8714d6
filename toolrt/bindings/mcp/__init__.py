"""MCP servers as sources of tools: connections, what they list, and the kind `mcp` that calls them.

The only importer of the SDK, which is loaded when a connection is first made, off the loop.
"""

from toolrt.bindings.mcp.binding import KIND
from toolrt.bindings.mcp.definitions import Definition, Listing
from toolrt.bindings.mcp.server import Server, compile_server
from toolrt.bindings.mcp.servers import Servers

__all__ = ["KIND", "Definition", "Listing", "Server", "Servers", "compile_server"]
