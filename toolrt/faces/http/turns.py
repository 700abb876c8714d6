"""`POST /v1/turns`: a model's answer in, the messages that go back to its vendor out."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.faces.http.bodies import TurnBody, parsed
from toolrt.faces.http.calling import CALL, always
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.site import Site, body_of, caller_of


def routes(site: Site) -> list[Route]:
    """Making every call of an answer; whoever hangs up ends them."""

    async def turns(request: Request) -> Response:
        said = parsed(TurnBody, await body_of(request))
        request.scope[CALL] = always
        turn = await site.runtime.turn(
            said.response, dialect=said.dialect, caller=caller_of(request), serial=said.serial
        )
        made: dict[str, Any] = turn.document()
        for each in made["results"]:
            if each.get("pause") is not None:
                each["pause"]["url"] = site.access.page_of(each["pause"]["approval_id"])
        return json_response(made)

    return [Route("/v1/turns", turns, methods=["POST"])]
