"""`POST /v1/tools/NAME/call`: a call by REST, on the short way, below the framework.

An answer is a result, also where the tool failed; what was refused before it ran is a problem, and
what waits for a person is 202. Whoever hangs up ends their call, unless it cannot be undone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from pydantic_core import to_json

from toolrt.core.calls import Caller
from toolrt.core.results import SCHEMA, ToolResult
from toolrt.faces.http.problems import ProblemError, refused
from toolrt.faces.http.sending import Sending
from toolrt.faces.http.wire import (
    JSON,
    Receive,
    Scope,
    Send,
    json_object,
    reply,
    whole_body,
)
from toolrt.schemas.text import MAX_BYTES

if TYPE_CHECKING:
    from toolrt.faces.http.access import Access
    from toolrt.opened import Runtime

CALL: Final = "toolrt.call"
"""Where a request says that it is a call, and what tells whether that ends with the connection."""

GONE: Final = "toolrt.gone"
_KNOWN: Final = {"arguments"}
_BEGIN: Final = f'{{"schema":"{SCHEMA}","call_id":"'
_PLAIN: Final = '"control":{"final":false,"to":"both"},"stats":{"time_ms":'
_LOCATION: Final = b"/v1/approvals/%b"


class Calling:
    """Makes the calls of REST."""

    def __init__(self, runtime: "Runtime", access: "Access") -> None:
        self._runtime = runtime
        self._access = access
        self._ends = partial(ends, runtime)

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, name: str, caller: Caller
    ) -> None:
        """Make the call that the request asks for, and answer it. Raises ProblemError."""
        body = send.body() if type(send) is Sending else None
        if body is None or len(body) > MAX_BYTES:
            body = await whole_body(receive)
        arguments = arguments_of(json_object(body))
        scope[CALL] = self._ends
        result = await self._runtime.call(name, arguments, caller)
        scope[CALL] = None
        if result.status == "success":
            made = body_of(result)
            if type(send) is not Sending or not send.at_once(made):
                await reply(send, 200, made)
            return
        await self.reply(send, result, caller)

    async def reply(self, send: Send, result: ToolResult, caller: Caller) -> None:
        """The answer that a result is. Raises ProblemError for a call that was refused."""
        problem = refused(result)
        if problem is not None:
            raise problem
        body = to_json(document_of(result, caller, self._access))
        if result.pause is None:
            await reply(send, 200, body)
            return
        location = _LOCATION % result.pause.approval_id.encode()
        await reply(send, 202, body, JSON, [(b"location", location)])


def arguments_of(body: dict[str, Any]) -> Any:
    """The arguments of a body. Raises ProblemError for one that says something else, too."""
    if len(body) == 1 and "arguments" in body:
        return body["arguments"]
    if body.keys() <= _KNOWN:
        return body.get("arguments", {})
    odd = next(name for name in body if name not in _KNOWN)
    hint = 'arguments of the tool stand inside: {"arguments": {"name": "value"}}'
    message = f"the body has `{odd[:80]}`, and only `arguments` is known"
    raise ProblemError(400, "invalid-body", message, hint=hint)


def body_of(result: ToolResult) -> bytes:
    """The document of a result that is well, as JSON; most are as plain as can be."""
    if result.context or result.for_user is not None or result.final or result.to != "both":
        return to_json(result.document())
    return b"".join(
        (
            f'{_BEGIN}{result.call_id}","tool":"{result.tool}","status":"success","text":'.encode(),
            to_json(result.text) if result.text else b'""',
            b',"data":',
            to_json(result.data),
            f',{_PLAIN}{round(result.time_s * 1000, 3)},"attempts":{result.attempts},"cached":'
            f'{"true" if result.cached else "false"}}},"context":{{"generation":'
            f'{result.generation},"untrusted":true}}}}'.encode(),
        )
    )


def document_of(result: ToolResult, caller: Caller, access: "Access") -> dict[str, Any]:
    """A result as this caller may see it: who is asked about it, only those who decide see."""
    made = result.document()
    if result.pause is None:
        return made
    made["pause"]["url"] = access.page_of(result.pause.approval_id)
    if "approve" not in caller.may:
        del made["pause"]["needs"]
    return made


def ends(runtime: "Runtime", scope: Scope) -> bool:
    """Whether a call ends with its connection: not what cannot be undone, or may come to other
    calls that cannot, or what somebody may have said yes to. Half of it is worse than all of it
    without anybody to read the answer.
    """
    name = unquote(scope["raw_path"].split(b"/")[3].decode("ascii"))
    entry = runtime.snapshot.tool(name)
    if entry is None:
        return True
    may_ask = entry.decider is not None and entry.decider.may_ask
    may_come_to_others = entry.kind == "built-in" and entry.effect != "read"
    return entry.effect != "irreversible" and not may_ask and not may_come_to_others


@contextmanager
def ending(scope: Scope) -> Iterator[None]:
    """While something is waited for that nobody needs whose connection has gone."""
    scope[CALL] = always
    try:
        yield
    finally:
        scope[CALL] = None


def always(scope: Scope) -> bool:
    """Something that ends with its connection whatever it is."""
    del scope
    return True
