"""Bodies in and out, below any framework: what the quick ways of the server share."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from math import isinf
from typing import Any, Final

from pydantic_core import from_json

from toolrt.core.errors import RefusedError
from toolrt.faces.http.problems import MEDIA, ProblemError
from toolrt.faces.http.sending import Sending
from toolrt.schemas.plain import MAX_DEPTH, MAX_VALUES
from toolrt.schemas.text import MAX_BYTES, parse_json

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Head = dict[bytes, bytes]
"""The headers of a request by name, in small letters."""

JSON: Final = b"application/json"
_MCP: Final = b"/mcp"
_MCP_SETS: Final = b"/mcp/"
MOST_READ_AWAY: Final = 64 << 20
_SILENT_S: Final = 1.0
"""Seconds without a word after which nothing more of a body is waited for that nobody wants."""
_SMALL: Final = 2 * MAX_DEPTH
_LARGE: Final = 2 * MAX_VALUES
_TOO_LARGE = f"the body is larger than {MAX_BYTES} bytes"


class ClientGoneError(Exception):
    """The other side hung up before its request was whole."""


async def reply(
    send: Send,
    status: int,
    body: bytes,
    media: bytes = JSON,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """A whole answer."""
    head = [(b"content-type", media), (b"content-length", b"%d" % len(body)), *headers]
    if type(send) is Sending:
        await send.whole(status, head, body)
        return
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def reply_problem(send: Send, problem: ProblemError) -> None:
    """The answer to a request that ends in a problem."""
    await reply(send, problem.status, problem.body(), MEDIA, problem.headers)


async def refuse(scope: Scope, send: Send, problem: ProblemError) -> None:
    """The answer to a request that ends in a problem, in the way of whoever sent it: clients of MCP
    read nothing but errors of their protocol.
    """
    told = reply_mcp_problem if is_mcp(scope["raw_path"]) else reply_problem
    await told(send, problem)


async def reply_mcp_problem(send: Send, problem: ProblemError) -> None:
    """The same to a client of MCP."""
    await reply(send, problem.status, problem.mcp_body(), JSON, problem.headers)


def is_mcp(path: bytes) -> bool:
    """Whether it is where MCP is served, for all tools or for a toolset."""
    return path == _MCP or path.startswith(_MCP_SETS)


async def whole_body(receive: Receive) -> bytes:
    """The body. Raises ProblemError for one over 4 MiB, ClientGoneError where it never ends."""
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGoneError
    body: bytes = message.get("body", b"")
    while message.get("more_body", False):
        if len(body) > MAX_BYTES:
            await read_away(receive)
            break
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGoneError
        body += message.get("body", b"")
    if len(body) > MAX_BYTES:
        raise too_large()
    return body


async def read_away(receive: Receive) -> None:
    """Let the rest of a body come for as long as it does, 64 MiB of it at most, and keep none: a
    client that still sends when the connection closes never reads its answer. Raises
    ClientGoneError.
    """
    left, is_more = MOST_READ_AWAY, True
    while is_more and left > 0:
        try:
            async with asyncio.timeout(_SILENT_S):
                message = await receive()
        except TimeoutError:
            return
        if message["type"] != "http.request":
            raise ClientGoneError
        left -= len(message.get("body", b""))
        is_more = message.get("more_body", False)


def too_large() -> ProblemError:
    """A body that is not kept to its end; the connection closes with the answer."""
    hint = "send less, or name what is large by a reference"
    headers = [(b"connection", b"close")]
    return ProblemError(413, "body-too-large", _TOO_LARGE, hint=hint, headers=headers)


def json_object(body: bytes) -> dict[str, Any]:
    """The object that `body` is: exact, no name twice, no deeper than 64. Raises ProblemError."""
    value = _quick(body)
    if value is None:
        try:
            value = parse_json(body)
        except RefusedError as error:
            raise ProblemError(400, "invalid-json", error.message, hint=error.hint) from None
    if not isinstance(value, dict):
        hint = 'send an object, such as {"arguments": {}}'
        raise ProblemError(400, "invalid-json", "the body must be a JSON object", hint=hint)
    return value


def _quick(body: bytes) -> Any:
    """The value where nothing about it can be doubted: it is small, and has a colon for each name.

    Whether a name was given twice, only the slow way knows: that needs a colon more than names.
    """
    if len(body) > _LARGE or (
        len(body) > _SMALL and body.count(b"{") + body.count(b"[") > MAX_DEPTH
    ):
        return None
    try:
        value = from_json(body, allow_inf_nan=False)
        count = _names(value)
    except ValueError:
        return None
    return value if count == body.count(b":") else None


def _names(value: Any) -> int:
    """How many names the objects in `value` have. Raises ValueError for a number without an end, as
    one that was too large for a float has none.
    """
    if type(value) is dict:
        count = len(value)
        for item in value.values():
            kind = type(item)
            if kind is dict or kind is list or kind is float:
                count += _names(item)
        return count
    if type(value) is list:
        return sum(map(_names, value))
    if type(value) is float and isinf(value):
        raise ValueError
    return 0
