"""Calls by REST that take more than the short way: `wait=` for people, and `Idempotency-Key`.

With a key, the same call made again has the answer of the first, for 24 hours, over all workers and
starts: also where whoever made it has hung up. A call that did not run leaves its key free.
"""

import asyncio
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.core import logs
from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.faces.http.bodies import WaitQuery, asked
from toolrt.faces.http.calling import CALL, GONE, arguments_of, document_of, ends
from toolrt.faces.http.looking import unknown
from toolrt.faces.http.problems import ProblemError, forbidden, of_failure, refused
from toolrt.faces.http.site import Site, answered, body_of, caller_of, head_of
from toolrt.faces.http.wire import ClientGoneError, Scope, json_object
from toolrt.pipeline.asking import sensitive_of
from toolrt.pipeline.stages.authorize import denial
from toolrt.schemas.canonical import canonical_json
from toolrt.stores.base import StoreError
from toolrt.stores.idempotency import Found, KeyedCall

KEY: Final = b"idempotency-key"
_KEYS: Final = re.compile(rb"[!-~]{1,255}")
_MOST_BYTES: Final = 1 << 20
_MOST_WAIT_S: Final = 600.0
_LOOK_S: Final = 0.1
_GONE_S: Final = 1.0
_PATIENCE_S: Final = 30.0
_LEASE_S: Final = 60.0
_RENEW_S: Final = 15.0
_MOST_WAITING: Final = 256


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A call as it was asked for."""

    tool: str
    arguments: Any
    caller: Caller
    wait_s: float
    scope: Scope

    @property
    def is_gone(self) -> bool:
        """Whether nobody is there any more to be answered."""
        return GONE in self.scope


def routes(site: Site) -> list[Route]:
    """The same path as the short way has."""
    calls = _Calls(site)

    async def call(request: Request) -> Response:
        wait_s = asked(WaitQuery, request.query_params).wait or 0.0
        arguments = arguments_of(json_object(await body_of(request)))
        caller = caller_of(request)
        name, wait_s = request.path_params["name"], min(wait_s, _MOST_WAIT_S)
        wanted = _Wanted(name, arguments, caller, wait_s, request.scope)
        key = head_of(request).get(KEY)
        if key is None:
            request.scope[CALL] = partial(ends, site.runtime)
            return calls.response(await calls.made(wanted), caller)
        return await calls.keyed(wanted, key)

    return [Route("/v1/tools/{name}/call", call, methods=["POST"])]


class _Calls:
    """The calls of one server; those with a key go on where their caller hangs up."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._store = site.runtime.keyed_calls
        self._running: dict[asyncio.Task[Response], KeyedCall] = {}
        self._waiting = 0

    async def made(self, wanted: _Wanted) -> ToolResult:
        """The call; where it pauses, once people have decided, the time for that is over, or nobody
        waits any more. Beyond so many that wait nobody does.
        """
        runtime = self._site.runtime
        result = await runtime.call(wanted.tool, wanted.arguments, wanted.caller)
        ends = asyncio.get_running_loop().time() + wanted.wait_s
        while wanted.wait_s and result.pause is not None:
            if not await self._is_decided(result.pause.approval_id, ends, wanted):
                return result
            brought = wanted.caller if wanted.caller.credentials else None
            result = await runtime.approvals.run(result.pause.approval_id, brought)
        return result

    async def _is_decided(self, id_: str, ends: float, wanted: _Wanted) -> bool:
        """Whether people have decided by then, in seconds of the loop."""
        loop, approvals = asyncio.get_running_loop(), self._site.runtime.approvals
        with self._place() as is_free:
            while True:
                left_s = max(0.0, ends - loop.time()) if is_free else 0.0
                record = await approvals.wait(id_, min(left_s, _GONE_S))
                if record.state != "pending":
                    return True
                if left_s <= _GONE_S or wanted.is_gone:
                    return False

    @contextmanager
    def _place(self) -> Iterator[bool]:
        """A place among those that wait; whether there was one."""
        is_free = self._waiting < _MOST_WAITING
        self._waiting += 1
        try:
            yield is_free
        finally:
            self._waiting -= 1

    def response(self, result: ToolResult, caller: Caller) -> Response:
        """The answer that a result is. Raises ProblemError for a call that was refused."""
        problem = refused(result)
        if problem is not None:
            raise problem
        body = to_json(document_of(result, caller, self._site.access))
        if result.pause is None:
            return Response(body, 200, media_type="application/json")
        headers = {"location": f"/v1/approvals/{result.pause.approval_id}"}
        return Response(body, 202, headers, "application/json")

    async def keyed(self, wanted: _Wanted, key: bytes) -> Response:
        """The call of that key, or what came of it before. Raises ProblemError."""
        if not _KEYS.fullmatch(key):
            message = "Idempotency-Key has 1 to 255 characters of ASCII, and no spaces"
            raise ProblemError(400, "bad-request", message, hint="send a UUID")
        call, owner = self._call(wanted, key), secrets.token_hex(16)
        found = await self._begun(call, owner, wanted)
        if found.standing != "begun":
            response = _answered(found)
            await self._check_still(wanted)
            return response
        if found.is_again and not self._may_repeat(wanted.tool):
            await self._store.leave_open(call, owner)
            raise _unknown()
        task = asyncio.create_task(self._kept(wanted, call, owner))
        self._running[task] = call
        task.add_done_callback(self._running.pop)
        return await asyncio.shield(task)

    def _call(self, wanted: _Wanted, key: bytes) -> KeyedCall:
        hidden, caller = self._store.hidden, wanted.caller
        whose = f"{caller.principal}\0{caller.session or ''}\0".encode()
        arguments = hidden(canonical_json(wanted.arguments))
        return KeyedCall(f"POST {wanted.tool}", caller.tenant or "", hidden(whose + key), arguments)

    def _may_repeat(self, tool: str) -> bool:
        """Whether made twice it does no more than made once."""
        entry = self._site.runtime.snapshot.tool(tool)
        return entry is not None and entry.may_repeat

    async def _check_still(self, wanted: _Wanted) -> None:
        """Raise ProblemError where the call could not be made now: what came of it before is for
        who still sees the tool, and whom nothing keeps from it.
        """
        runtime, caller = self._site.runtime, wanted.caller
        if "call" not in caller.may:
            raise forbidden(f"{caller.principal} may not call tools")
        seen = await answered(runtime.explain(wanted.tool, wanted.arguments, caller))
        if seen.is_hidden:
            raise ProblemError.of(unknown(runtime, wanted.tool, caller))
        if seen.decision.verdict == "deny":
            raise of_failure(denial(wanted.tool, seen.decision))

    async def _begun(self, call: KeyedCall, owner: str, wanted: _Wanted) -> Found:
        """How the key stands; a call that runs is waited for. Raises ClientGoneError."""
        ends = asyncio.get_running_loop().time() + _PATIENCE_S
        with self._place() as is_free:
            while True:
                found = await self._standing(call, owner)
                is_late = asyncio.get_running_loop().time() >= ends
                if found.standing != "running" or is_late or not is_free:
                    return found
                await asyncio.sleep(_LOOK_S)
                if wanted.is_gone:
                    raise ClientGoneError

    async def _standing(self, call: KeyedCall, owner: str) -> Found:
        """How the key stands. What runs here runs, whatever the store says of its lease."""
        if call in self._running.values():
            return Found("running")
        return await self._store.begin(call, owner, _LEASE_S)

    async def _kept(self, wanted: _Wanted, call: KeyedCall, owner: str) -> Response:
        """Make the call, and keep what came of it. Raises ProblemError."""
        result: ToolResult | None = None
        holding = asyncio.create_task(self._held(call, owner))
        try:
            result = await self.made(wanted)
            return self.response(result, wanted.caller)
        finally:
            holding.cancel()
            try:
                await asyncio.shield(self._end(wanted, call, owner, result))
            except StoreError as error:
                logs.BUGS.warning("the end of a keyed call is not kept: %s", error.message)

    async def _held(self, call: KeyedCall, owner: str) -> None:
        """Let all others know that the call still runs; never ends."""
        while True:
            await asyncio.sleep(_RENEW_S)
            try:
                await self._store.renew(call, owner, _LEASE_S)
            except StoreError as error:
                logs.BUGS.warning("the lease of a keyed call is not renewed: %s", error.message)

    async def _end(
        self, wanted: _Wanted, call: KeyedCall, owner: str, result: ToolResult | None
    ) -> None:
        if result is None:
            await self._store.leave_open(call, owner)
        elif result.pause is not None or refused(result) is not None:
            await self._store.give_back(call, owner)
        else:
            await self._store.end(call, owner, self._body(wanted, result))

    def _body(self, wanted: _Wanted, result: ToolResult) -> bytes | None:
        """What is kept; nothing of tools that say that their data are sensitive."""
        entry = self._site.runtime.snapshot.tool(wanted.tool)
        if entry is None or sensitive_of(entry) or entry.manifest.result.redact:
            return None
        body = to_json(result.document())
        return body if len(body) <= _MOST_BYTES else None


def _answered(found: Found) -> Response:
    """What a key that is taken is answered with. Raises ProblemError where that is no result."""
    if found.standing == "running":
        headers = [(b"retry-after", b"1")]
        message = "a call with this Idempotency-Key still runs"
        raise ProblemError(409, "conflict", message, hint="ask again later", headers=headers)
    if found.standing == "conflict":
        message = "this Idempotency-Key was used for other arguments"
        raise ProblemError(422, "conflict", message, hint="take a new key for another call")
    if found.body is None:
        message = "this call was made, and its answer is not kept"
        raise ProblemError(409, "already-done", message, hint="take a new key to make it again")
    headers_ = {"idempotency-replayed": "true"}
    return Response(found.body, 200, headers_, "application/json")


def _unknown() -> ProblemError:
    hint = "look whether it took effect; take a new key to make it again"
    message = "a call with this Idempotency-Key was cut off, and nobody knows how it ended"
    return ProblemError(409, "unknown-outcome", message, hint=hint)
