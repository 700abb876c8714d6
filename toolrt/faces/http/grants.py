"""`/v1/grants`: standing yeses, and an end to one (A11).

Whose calls they let through sees them, and who may approve those of their tenant; only the latter
learn who gave or ended one, and end one.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.core.calls import Caller
from toolrt.core.results import SCHEMA
from toolrt.faces.approval_document import grant_document
from toolrt.faces.http.approvals import approvals_of
from toolrt.faces.http.bodies import GrantsQuery, asked
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.site import Site, known_caller, rightful_caller
from toolrt.stores.grants import Grant
from toolrt.stores.moments import SystemMoments

_OF_PEOPLE = ("granted_by", "revoked_by")
_MOMENTS = SystemMoments()


def routes(site: Site) -> list[Route]:
    """The list, and the end of one."""

    def told(grant: Grant, caller: Caller) -> dict[str, Any]:
        made = grant_document(grant, _MOMENTS.now())
        if "approve" not in caller.may:
            return {key: each for key, each in made.items() if key not in _OF_PEOPLE}
        return made

    async def listed(request: Request) -> Response:
        caller = known_caller(request, "looking at grants")
        query = asked(GrantsQuery, request.query_params)
        now = None if query.state == "all" else _MOMENTS.now()
        found = await approvals_of(site, caller).grants(query.limit, now)
        return json_response({"schema": SCHEMA, "grants": [told(each, caller) for each in found]})

    async def revoked(request: Request) -> Response:
        caller = rightful_caller(request, "approve", "ending a grant")
        grant = await approvals_of(site, caller).revoke(request.path_params["id"], caller)
        return json_response(told(grant, caller))

    return [
        Route("/v1/grants", listed),
        Route("/v1/grants/{id}/revoke", revoked, methods=["POST"]),
    ]
