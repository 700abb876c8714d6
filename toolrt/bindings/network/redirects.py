"""Where a redirect leads, and what of the request goes along. Pure: the client does the sending."""

from dataclasses import replace

from toolrt.bindings.network.addresses import blocked_target
from toolrt.bindings.network.messages import Reply, Request
from toolrt.bindings.network.urls import Url, join_url
from toolrt.core.errors import BindingError

MOST_HOPS = 5

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
_OF_BODY = frozenset({"content-type", "content-encoding", "content-language"})
_SAY_NOTHING_OF_US = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})


def is_redirect(reply: Reply) -> bool:
    return reply.status in _REDIRECTS and "location" in reply.headers


def next_hop(request: Request, url: Url, reply: Reply) -> tuple[Request, Url]:
    """The request that `reply` to `request` at `url` asks for, and where it goes.

    Across origins every header goes that could say who we are, custom ones too, and a body is
    not sent. Raises BindingError when the redirect may not be followed.
    """
    there = _location(url, reply)
    if url.origin.scheme == "https" and there.origin.scheme == "http":
        raise _refused("the service redirects to an unencrypted address")
    onward = request if _keeps_method(request, reply) else _as_get(request)
    if there.origin == url.origin:
        return replace(onward, target=there.target), there
    if onward.body is not None:
        raise _refused("the service redirects what was sent to another origin")
    kept = {k: v for k, v in onward.headers.items() if k.lower() in _SAY_NOTHING_OF_US}
    return replace(onward, target=there.target, headers=kept), there


def too_many_hops() -> BindingError:
    return BindingError(
        f"the service redirected more than {MOST_HOPS} times",
        code="bad-response",
        target_fault=True,
    )


def _location(url: Url, reply: Reply) -> Url:
    try:
        return join_url(url, reply.headers["location"])
    except ValueError:
        raise _refused("the service redirects to an address that is not open to tools") from None


def _keeps_method(request: Request, reply: Reply) -> bool:
    return reply.status in _KEEP_METHOD or request.method in {"GET", "HEAD"}


def _as_get(request: Request) -> Request:
    kept = {k: v for k, v in request.headers.items() if k.lower() not in _OF_BODY}
    return replace(request, method="GET", headers=kept, body=None)


def _refused(message: str) -> BindingError:
    error = blocked_target()
    return BindingError(message, code=error.code, hint="name the final address in the tool's `url`")
