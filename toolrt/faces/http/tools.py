"""`GET /v1/tools` and `GET /v1/tools/NAME`: what there is to call, for whoever asks."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.core.names import did_you_mean
from toolrt.core.results import SCHEMA
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.looking import Seen, seen_tool, seen_tools, tool_document
from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.site import Site, caller_of

_PARAMETERS = {"tag", "q", "dialect"}


def routes(site: Site) -> list[Route]:
    """Lists and single tools."""

    async def listed(request: Request) -> Response:
        return _listed(site, request)

    async def one(request: Request) -> Response:
        name, caller = request.path_params["name"], caller_of(request)
        seen = seen_tool(site.runtime, name, caller)
        if seen is None:
            names = [each.entry.name for each in seen_tools(site.runtime, caller)]
            hint = did_you_mean(name, names) or "GET /v1/tools lists what there is"
            raise ProblemError(404, "unknown-tool", f"there is no tool `{name[:100]}`", hint=hint)
        generation = site.runtime.snapshot.generation
        made = {"schema": SCHEMA, "generation": generation, **tool_document(seen, caller)}
        return json_response(made)

    return [Route("/v1/tools", listed), Route("/v1/tools/{name}", one)]


def _listed(site: Site, request: Request) -> Response:
    query = request.query_params
    if odd := set(query) - _PARAMETERS:
        known = "there are tag, q and dialect"
        raise ProblemError(400, "bad-request", f"unknown parameter `{min(odd)[:80]}`", hint=known)
    caller = caller_of(request)
    tools = [each for each in seen_tools(site.runtime, caller) if _is_wanted(each, query)]
    made: dict[str, Any] = {"schema": SCHEMA, "generation": site.runtime.snapshot.generation}
    if dialect := query.get("dialect"):
        return json_response({**made, **_exported(dialect, tools)})
    return json_response({**made, "tools": [tool_document(each, caller) for each in tools]})


def _exported(dialect: str, tools: list[Seen]) -> dict[str, Any]:
    """The tools that can be called, as a vendor's request has them. Raises RefusedError."""
    from toolrt.dialects.base import export  # noqa: PLC0415 - few ask for it

    made = export([each.entry for each in tools if each.entry.blocked is None], dialect)
    return {
        "dialect": dialect,
        "fingerprint": made.fingerprint,
        "tools": made.documents,
        "report": [each.document() for each in made.report],
    }


def _is_wanted(seen: Seen, query: Any) -> bool:
    entry, tag = seen.entry, query.get("tag")
    if tag is not None and tag not in entry.tags:
        return False
    words = query.get("q", "").lower().split()
    if not words:
        return True
    about = " ".join([entry.name, entry.title or "", entry.description, *entry.tags]).lower()
    return all(word in about for word in words)
