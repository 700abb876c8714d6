"""`GET /v1/instructions`: what a model should be told of the tools that the caller sees (U25)."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.catalog.instructions import instructions, written
from toolrt.core.results import SCHEMA
from toolrt.faces.http.bodies import InstructionsQuery, asked
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.looking import seen_tools
from toolrt.faces.http.problems import not_found
from toolrt.faces.http.site import Site, caller_of


def routes(site: Site) -> list[Route]:
    """The text for a prompt, and its parts."""

    async def told(request: Request) -> Response:
        name = asked(InstructionsQuery, request.query_params).toolset
        snapshot, of_all = site.runtime.snapshot, None
        seen = [each.entry for each in seen_tools(site.runtime, caller_of(request))]
        if name is not None:
            toolset = snapshot.toolsets.get(name)
            if toolset is None:
                raise not_found(f"there is no toolset `{name[:100]}`")
            of_all = toolset.description
            seen = [each for each in seen if toolset.offers(each.name, each.version)]
        said = instructions(((each.name, each) for each in seen), of_all)
        made = {"schema": SCHEMA, "generation": snapshot.generation, "toolset": name}
        parts = [each.document() for each in said]
        return json_response({**made, "text": written(said), "instructions": parts})

    return [Route("/v1/instructions", told)]
