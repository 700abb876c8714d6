"""The tools of an MCP server as a source in a file, as `toolrt import mcp` was asked to."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.bindings.base import Services
from toolrt.bindings.mcp import Listing, Server, Servers, compile_server
from toolrt.catalog.openapi.texts import plain_text, shortened
from toolrt.catalog.workshop import Workshop
from toolrt.expressions.references import References
from toolrt.faces.cli.options import Settings
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import visible
from toolrt.faces.yaml_text import Path
from toolrt.loading.loader import load_files
from toolrt.loading.stock import Stock
from toolrt.manifest.source import McpSource

_NEXT = "toolrt import mcp --help"
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Imported:
    """A file with one source; `said` is what each tool says of itself, in the order of the list."""

    manifest: Mapping[str, Any]
    said: list[str]
    left_out: list[str]

    def comment(self, path: Path) -> str | None:
        """What stands behind the name of a tool under `include`."""
        number = path[-1]
        is_tool = "include" in path[-2:-1] and isinstance(number, int)
        return self.said[number] if is_tool and isinstance(number, int) else None


def imported(settings: Settings, name: str, options: Mapping[str, Any]) -> Imported:
    """The tools of the server that `options` lead to. Raises Stop."""
    files = load_files(Stock(settings.project()))
    services = Services(files.root)
    workshop = Workshop(files, services, References(files.root, os.environ))
    listing = asyncio.run(_listed(_server(name, options, workshop), services))
    tools = [each for each in listing.tools if each.problem is None]
    left_out = [f"not mapped: {visible(x.name)}: {x.problem}" for x in listing.tools if x.problem]
    if listing.left_out:
        left_out.append(f"not mapped: {listing.left_out} more: too many")
    source = {"mcp": dict(options), "include": [each.name for each in tools]}
    said = [_said(each.description, each.annotations) for each in tools]
    return Imported({"sources": {name: source}}, said, left_out)


def _server(name: str, options: Mapping[str, Any], workshop: Workshop) -> Server:
    context = workshop.context(name)
    server = compile_server(name, McpSource.model_validate(options), context)
    wrong = next((each for each in context.faults if each.severity == "error"), None)
    if server is None or wrong is not None:
        message = wrong.message if wrong else "it cannot be reached"
        hint = wrong.hint if wrong else None
        raise Stop(Exit.USAGE, visible(message), code="usage", hint=hint, next_=_NEXT)
    return server


async def _listed(server: Server, services: Services) -> Listing:
    servers = services.share(Servers)
    try:
        await servers.discover([server])
        listing, fault = servers.listing(server), servers.fault(server)
    finally:
        await services.close()
    if listing is None:
        message = f"the server cannot be reached: {fault or 'it does not answer'}"
        raise Stop(Exit.TOOL_FAILED, visible(message), code="unavailable", next_=_NEXT)
    return listing


def _said(description: str, annotations: Mapping[str, Any]) -> str:
    """The beginning of what a tool says, on one line; that it only reads is its own word alone."""
    text = shortened(" ".join(plain_text(description).split()), _LONGEST)
    if annotations.get("readOnlyHint") is True:
        text = f"{text} (says that it only reads)".strip()
    return visible(text)
