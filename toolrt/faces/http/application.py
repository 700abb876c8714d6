"""The routes of REST and of the pages, and the door that stands before them."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.routing import Route

from toolrt.faces.http.documents import HANDLERS
from toolrt.faces.http.door import Door, no_mcp
from toolrt.faces.http.mates import Shared
from toolrt.faces.http.site import Site

if TYPE_CHECKING:
    from toolrt.faces.http.wire import App

THEMES: Final = (
    "keyed", "tools", "instructions", "approvals", "grants", "turns", "journal", "reloads",
    "health", "openapi", "editor_schemas", "login",
)  # fmt: skip
"""Modules with routes; a new theme is one file and one word here."""


def application(site: Site) -> "App":
    """Everything that a server answers."""
    rest = Starlette(routes=list(_routes(site)), exception_handlers=dict(HANDLERS))
    return Door(site, rest, _mcp(site))


def _routes(site: Site) -> Iterator[Route]:
    for theme in THEMES:
        module = import_module(f"toolrt.faces.http.{theme}")
        make: Callable[[Site], list[Route]] = module.routes
        yield from make(site)


def _mcp(site: Site) -> "App":
    try:
        endpoint: Any = import_module("toolrt.faces.mcp.http").McpEndpoint
    except ModuleNotFoundError:
        return no_mcp
    number = None if site.mates is None else site.mates.number
    made: App = endpoint(
        site.runtime, site.access, draining=site.draining, key=lambda: site.secret, number=number
    )
    return made if site.mates is None else Shared(site.mates, made)
