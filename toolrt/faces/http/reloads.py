"""`POST /v1/reload`: brings what is written into force, if it may be (L11)."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.faces.http.bodies import ReloadBody, parsed
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.mates import is_of_mate
from toolrt.faces.http.site import Site, body_of, rightful_caller
from toolrt.faces.http.wire import Scope

_PATIENCE_S: Final = 30.0


def routes(site: Site) -> list[Route]:
    """Asking for a reload; what was refused is 409, with all that is wrong."""

    async def reload(request: Request) -> Response:
        rightful_caller(request, "admin", "reloading")
        body = await body_of(request)
        said = parsed(ReloadBody, body)
        outcome = await site.runtime.reload("asked", accept_loss=said.accept_loss)
        if outcome.is_accepted:
            await _spread(site, request.scope, body, said.accept_loss)
        return json_response(outcome.document(), 200 if outcome.is_accepted else 409)

    return [Route("/v1/reload", reload, methods=["POST"])]


async def _spread(site: Site, scope: Scope, body: bytes, accept_loss: bool) -> None:
    """Bring it into force in the other workers before it is answered: whoever lost a right has it
    nowhere any more. Who does not answer in time hears of it once it listens.
    """
    if site.mates is None or is_of_mate(scope):
        return
    if not await site.mates.tell(scope, body, _PATIENCE_S):
        site.spread(accept_loss)
