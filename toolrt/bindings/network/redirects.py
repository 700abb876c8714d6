"""Where a redirect leads, and what of the request goes along. Pure: the client does the sending."""

from typing import TYPE_CHECKING

from toolrt.bindings.network.addresses import blocked_target
from toolrt.bindings.network.messages import new_request
from toolrt.bindings.network.urls import Url, join_url
from toolrt.core.errors import BindingError

if TYPE_CHECKING:
    from httpx import Request, Response

MOST_HOPS = 5

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
_OF_BODY = frozenset({"content-type", "content-encoding", "content-language"})
_OF_SENDING = frozenset({b"content-length", b"host"})
_SAY_NOTHING_OF_US = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})


def is_redirect(reply: "Response") -> bool:
    return reply.status_code in _REDIRECTS and "location" in reply.headers


def next_hop(request: "Request", url: Url, reply: "Response") -> "tuple[Request, Url]":
    """The request that `reply` to `request` at `url` asks for, and where it goes.

    Across origins every header goes that could say who we are, custom ones too, and a body is
    not sent. Raises BindingError when the redirect may not be followed.
    """
    there = _location(url, reply)
    if url.origin.scheme == "https" and there.origin.scheme == "http":
        raise _refused("the service redirects to an unencrypted address")
    method, body, headers = request.method, request.content, _headers(request)
    if not _keeps_method(request, reply):
        method, body = "GET", b""
        headers = {k: v for k, v in headers.items() if k.lower() not in _OF_BODY}
    if there.origin != url.origin:
        if body:
            raise _refused("the service redirects what was sent to another origin")
        headers = {k: v for k, v in headers.items() if k.lower() in _SAY_NOTHING_OF_US}
    return new_request(method, there, headers, body), there


def too_many_hops() -> BindingError:
    return BindingError(
        f"the service redirected more than {MOST_HOPS} times",
        code="bad-response",
        target_fault=True,
    )


def _location(url: Url, reply: "Response") -> Url:
    try:
        return join_url(url, reply.headers["location"])
    except ValueError:
        raise _refused("the service redirects to an address that is not open to tools") from None


def _headers(request: "Request") -> dict[str, str]:
    """The header fields of `request` as they are spelled, but for those that sending adds."""
    return {
        name.decode("ascii"): value.decode("ascii")
        for name, value in request.headers.raw
        if name.lower() not in _OF_SENDING
    }


def _keeps_method(request: "Request", reply: "Response") -> bool:
    return reply.status_code in _KEEP_METHOD or request.method in {"GET", "HEAD"}


def _refused(message: str) -> BindingError:
    error = blocked_target()
    return BindingError(message, code=error.code, hint="name the final address in the tool's `url`")
