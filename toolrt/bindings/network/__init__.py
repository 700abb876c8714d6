"""HTTP as bindings use it: one guarded client a binding, pools shared by the runtime.

`Client(services.share(Network), endpoint).send(request, invocation)` is the whole of it. aiohttp is
imported inside `transport`, on the first call, and nowhere else.
"""

from toolrt.bindings.network.addresses import Guard
from toolrt.bindings.network.client import Client, Network
from toolrt.bindings.network.messages import (
    OWN_HEADERS,
    Endpoint,
    Reply,
    Request,
    TlsFiles,
    is_token,
)
from toolrt.bindings.network.urls import Origin, Url, read_url

__all__ = [
    "OWN_HEADERS",
    "Client",
    "Endpoint",
    "Guard",
    "Network",
    "Origin",
    "Reply",
    "Request",
    "TlsFiles",
    "Url",
    "is_token",
    "read_url",
]
