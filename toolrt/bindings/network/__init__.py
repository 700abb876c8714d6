"""HTTP as bindings use it: one guarded client a binding, pools shared by the runtime.

`Client(services.share(Network), endpoint).send(request, invocation)` is the whole of it. Requests
and answers are httpx's, sent over a transport of our own on aiohttp. Both libraries are imported on
the first call, off the loop.
"""

from typing import TYPE_CHECKING

from toolrt.bindings.network.addresses import Guard
from toolrt.bindings.network.bodies import MOST_BYTES
from toolrt.bindings.network.client import Client, Network
from toolrt.bindings.network.messages import (
    OWN_HEADERS,
    Endpoint,
    TlsFiles,
    is_token,
    new_request,
)
from toolrt.bindings.network.urls import Origin, Url, read_url

if TYPE_CHECKING:
    from httpx import Request as Request
    from httpx import Response as Response

__all__ = [
    "MOST_BYTES",
    "OWN_HEADERS",
    "Client",
    "Endpoint",
    "Guard",
    "Network",
    "Origin",
    "TlsFiles",
    "Url",
    "is_token",
    "new_request",
    "read_url",
]
