"""`/schema/*.json`: what may be written into the files, for editors."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.catalog.editor import editor_schema
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.problems import not_found
from toolrt.faces.http.site import Site

WHICH = ("tools", "policies", "project")


def routes(_site: Site) -> list[Route]:
    """A schema for each kind of file."""

    async def schema(request: Request) -> Response:
        which = request.path_params["which"]
        if which not in WHICH:
            raise not_found("there is no such schema", f"there are {', '.join(WHICH)}")
        return json_response(editor_schema(which))

    return [Route("/schema/{which}.json", schema)]
