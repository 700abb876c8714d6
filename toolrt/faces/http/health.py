"""`/healthz`, `/readyz` and `/metrics`: for those who run a server.

The first two say nothing about the project and are asked by whatever name the server has.
"""

import asyncio
import time

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from toolrt.core import logs
from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.site import Site
from toolrt.stores.base import StoreError

PROBES = frozenset({b"/healthz", b"/readyz"})
_LOOK_S = 1.0
"""Anybody may ask; the store is looked at so often at most."""
_LOG_SAYS = "the log of the server says why"
_PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8"


def routes(site: Site) -> list[Route]:
    """Whether it lives, whether it takes calls, and how it is doing."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    store = _Store(site)

    async def readyz(_request: Request) -> Response:
        if site.draining.is_set():
            raise ProblemError(503, "unavailable", "the server is ending")
        if not await store.is_usable():
            raise ProblemError(503, "unavailable", "the store cannot be used", hint=_LOG_SAYS)
        return PlainTextResponse("ready\n")

    async def metrics(_request: Request) -> Response:
        page = await site.runtime.metrics(site.access.brake.readings())
        return Response(page, media_type=_PROMETHEUS)

    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
    ]


class _Store:
    """Whether the server can remember anything: without that no question is asked of people, and
    nothing that cannot be undone is done.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._looking: asyncio.Task[bool] | None = None
        self._until = 0.0

    async def is_usable(self) -> bool:
        """Whether it was a moment ago; several who ask at once wait for one look."""
        now = time.monotonic()
        if self._looking is None or (self._looking.done() and now > self._until):
            self._until = now + _LOOK_S
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> bool:
        try:
            await self._site.runtime.check_store()
        except StoreError as error:
            if error.problem == "locked":  # somebody writes: it can be used
                return True
            logs.HTTP.error("not ready: %s", error)
            return False
        return True
