"""`/schema/*.json`: what may be written into the files, for editors."""

from functools import cache

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.catalog.editor import editor_schema
from toolrt.faces.http.problems import not_found
from toolrt.faces.http.site import Site

WHICH = ("tools", "policies", "project")


def routes(_site: Site) -> list[Route]:
    """A schema for each kind of file."""

    async def schema(request: Request) -> Response:
        which = request.path_params["which"]
        if which not in WHICH:
            raise not_found("there is no such schema", f"there are {', '.join(WHICH)}")
        return Response(_written(which), media_type="application/json")

    return [Route("/schema/{which}.json", schema)]


@cache
def _written(which: str) -> bytes:
    """It is the same for as long as the process lives."""
    return to_json(editor_schema(which))
