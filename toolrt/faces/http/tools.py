"""`GET /v1/tools` and `GET /v1/tools/NAME`: what there is to call, for whoever asks."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.core.calls import Caller
from toolrt.core.names import did_you_mean
from toolrt.core.results import SCHEMA
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.looking import Seen, found_tools, listed_tools, seen_tool, tool_document
from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.site import Site, caller_of
from toolrt.pipeline.searching import MOST

_PARAMETERS = {"tag", "namespace", "q", "k", "dialect"}
_CHOOSING = {"tag", "namespace", "q"}
"""By these a request says which tools it wants; else it has those that models are told of."""


def routes(site: Site) -> list[Route]:
    """Lists and single tools."""

    async def listed(request: Request) -> Response:
        return await _listed(site, request)

    async def one(request: Request) -> Response:
        name, caller = request.path_params["name"], caller_of(request)
        seen = seen_tool(site.runtime, name, caller)
        if seen is None:
            names = [each.entry.name for each in listed_tools(site.runtime, caller)]
            hint = did_you_mean(name, names) or "GET /v1/tools lists what there is"
            raise ProblemError(404, "unknown-tool", f"there is no tool `{name[:100]}`", hint=hint)
        generation = site.runtime.snapshot.generation
        made = {"schema": SCHEMA, "generation": generation, **tool_document(seen, caller)}
        return json_response(made)

    return [Route("/v1/tools", listed), Route("/v1/tools/{name}", one)]


async def _listed(site: Site, request: Request) -> Response:
    query = request.query_params
    if odd := set(query) - _PARAMETERS:
        known = f"there are {', '.join(sorted(_PARAMETERS))}"
        raise ProblemError(400, "bad-request", f"unknown parameter `{min(odd)[:80]}`", hint=known)
    caller = caller_of(request)
    tools = await _wanted(site, query, caller)
    made: dict[str, Any] = {"schema": SCHEMA, "generation": site.runtime.snapshot.generation}
    if dialect := query.get("dialect"):
        told = None if set(query) & _CHOOSING else site.runtime.snapshot.told
        tools = [each for each in tools if told is None or each.entry.name in told]
        tools = [each for each in tools if await _may_be_told(site, each, caller)]
        return json_response({**made, **_exported(dialect, tools)})
    return json_response({**made, "tools": [tool_document(each, caller) for each in tools]})


async def _wanted(site: Site, query: Mapping[str, str], caller: Caller) -> list[Seen]:
    """The tools that a query asks for: with `q` those that serve it best, best first."""
    tag, namespace, intent = query.get("tag"), query.get("namespace"), query.get("q")
    most, tags = _most(query.get("k")), [] if tag is None else [tag]
    if intent is not None:
        return await found_tools(
            site.runtime, caller, intent, k=most, tags=tags, namespace=namespace
        )
    return [
        each
        for each in listed_tools(site.runtime, caller)
        if (tag is None or tag in each.entry.tags) and namespace in (None, each.entry.namespace)
    ]


def _most(written: str | None) -> int | None:
    """How many are wanted. Raises ProblemError for what is no such number."""
    if written is None:
        return None
    if not (written.isascii() and written.isdigit() and 1 <= int(written[:4]) <= MOST):
        raise ProblemError(400, "bad-request", f"`k` is a number from 1 to {MOST}")
    return int(written)


async def _may_be_told(site: Site, seen: Seen, caller: Caller) -> bool:
    """Whether a vendor may be told of a tool: nobody can be asked about what it runs itself."""
    entry = seen.entry
    return entry.hosted is None or await site.runtime.vendors.lets(entry, caller)


def _exported(dialect: str, tools: list[Seen]) -> dict[str, Any]:
    """The tools that can be called, as a vendor's request has them. Raises RefusedError."""
    from toolrt.dialects.base import export  # noqa: PLC0415 - few ask for it

    made = export([each.entry for each in tools if each.entry.blocked is None], dialect)
    return {
        "dialect": dialect,
        "fingerprint": made.fingerprint,
        "tools": made.documents,
        **({"hosted": list(made.hosted)} if made.hosted else {}),
        "report": [each.document() for each in made.report],
    }
