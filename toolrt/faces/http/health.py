"""`/healthz`, `/readyz` and `/metrics`: for those who run a server.

The first two say nothing about the project and are asked by whatever name the server has.
"""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.site import Site

PROBES = frozenset({b"/healthz", b"/readyz"})
_PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8"


def routes(site: Site) -> list[Route]:
    """Whether it lives, whether it takes calls, and how it is doing."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        if site.draining.is_set():
            raise ProblemError(503, "unavailable", "the server is ending")
        return PlainTextResponse("ready\n")

    async def metrics(_request: Request) -> Response:
        page = await site.runtime.metrics(site.access.brake.readings())
        return Response(page, media_type=_PROMETHEUS)

    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
    ]
