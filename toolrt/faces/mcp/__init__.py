"""The MCP server: every tool for MCP clients of both eras, over HTTP and stdio."""
