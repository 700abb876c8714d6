"""`POST /v1/reload`: brings what is written into force, if it may be (L11)."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.faces.http.bodies import ReloadBody, parsed
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.site import Site, body_of, rightful_caller


def routes(site: Site) -> list[Route]:
    """Asking for a reload; what was refused is 409, with all that is wrong."""

    async def reload(request: Request) -> Response:
        rightful_caller(request, "admin", "reloading")
        said = parsed(ReloadBody, await body_of(request))
        outcome = await site.runtime.reload("asked", accept_loss=said.accept_loss)
        if outcome.is_accepted:
            site.spread(said.accept_loss)
        return json_response(outcome.document(), 200 if outcome.is_accepted else 409)

    return [Route("/v1/reload", reload, methods=["POST"])]
