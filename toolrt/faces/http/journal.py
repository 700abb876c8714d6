"""`/v1/calls` and `/v1/events`: what was called, and what is being called.

The journal is for who has a credential, on this machine too (X5): who may call sees their own
calls, who may approve or `admin` those of their tenant.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from toolrt.core.results import SCHEMA
from toolrt.faces.http.bodies import CallsQuery, EventsQuery, OutputQuery, asked
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.problems import ProblemError, not_found
from toolrt.faces.http.site import Site, caller_of, head_of, known_caller
from toolrt.manifest.scalars import Duration
from toolrt.observe.journal_records import Entry, Filter, Records
from toolrt.pipeline.spilling import Output
from toolrt.policy.identities import reach_of

_WHAT: Final = "the journal"
_BEAT_S: Final = 15.0
_LOOK_S: Final = 1.0
_MOST_STREAMS: Final = 64
_MOST_OF_ONE: Final = 16
"""Of one caller."""
_DURATION: Final[TypeAdapter[float]] = TypeAdapter(Duration)
_STREAM: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
_OF_CALLS: Final = {"error": "failed", "paused": "paused"}
_OF_KINDS: Final = {
    "approval": "approval-changed",
    "generation": "generation-changed",
    "batch": "batch-planned",
    "intent": "requested",
}
_OF_APPROVALS: Final = {"asked": "asked", "reopened": "asked", "decided": "decided"}
_BEHIND: Final = {
    **dict.fromkeys(("completed", "failed", "paused"), "call"),
    **dict.fromkeys(("asked", "decided"), "approval"),
    **{name: kind for kind, name in _OF_KINDS.items()},
}
"""The kind of the entries that events of a name are made of; other names are kinds themselves."""


def routes(site: Site) -> list[Route]:
    """What was recorded, and what is recorded from now on."""
    streams = _Streams(site)

    async def listed(request: Request) -> Response:
        query = asked(CallsQuery, request.query_params)
        found = await _records(site, request).entries(_filter(query), query.limit)
        return json_response({"schema": SCHEMA, "entries": found})

    async def one(request: Request) -> Response:
        wanted = request.path_params["id"]
        found = await _records(site, request).entries(Filter(id=wanted), 1000)
        mine = [each for each in found if wanted in {each.get("call_id"), each.get("approval")}]
        if not mine:
            hint = "GET /v1/calls lists the latest"
            raise not_found("no call of this id was recorded", hint)
        return json_response({"schema": SCHEMA, "entries": mine[::-1]})

    async def output(request: Request) -> Response:
        return await _output(site, request)

    async def events(request: Request) -> Response:
        query = asked(EventsQuery, request.query_params)
        kind = query.kind and _BEHIND.get(query.kind, query.kind)
        wanted = Filter(tool=query.tool, kinds=frozenset([kind]) if kind else None)
        return streams.opened(request, wanted, query.kind if query.kind in _BEHIND else None)

    return [
        Route("/v1/calls", listed),
        Route("/v1/calls/{id}", one),
        Route("/v1/calls/{id}/output", output),
        Route("/v1/events", events),
    ]


def _records(site: Site, request: Request) -> Records:
    return site.runtime.records(reach_of(known_caller(request, _WHAT)))


def _filter(query: CallsQuery) -> Filter:
    return Filter(
        tool=query.tool,
        caller=query.caller,
        status=query.status,
        id=query.id,
        since=_moment("since", query.since),
        until=_moment("until", query.until),
    )


def _moment(name: str, text: str | None) -> float | None:
    """Seconds since the epoch of a date with time, or of so long ago. Raises ProblemError."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        return datetime.now().astimezone().timestamp() - _DURATION.validate_python(text)
    except ValidationError:
        hint = "write 1h, or 2030-12-31T12:00:00Z"
        message = f"`{name}` is neither a time nor a duration"
        raise ProblemError(400, "bad-request", message, hint=hint) from None


async def _output(site: Site, request: Request) -> Response:
    """A part of what was too long for a result: by `Range` as it is, else with where it stands."""
    wanted, query = request.path_params["id"], asked(OutputQuery, request.query_params)
    caller, part = caller_of(request), _range(request.headers.get("range"))
    if part is None:
        read = await site.runtime.read_output(wanted, query.offset, query.length, caller=caller)
        _check_named(read, request)
        return json_response({"schema": SCHEMA, **read.document()})
    read = await site.runtime.read_output(wanted, *part, caller=caller)
    _check_named(read, request)
    content = read.content if read.text is None else read.text.encode()
    last = (read.next_offset or read.size) - 1
    if content is None or read.offset > last:
        headers = [(b"content-range", b"bytes */%d" % read.size)]
        raise ProblemError(416, "bad-range", "it has no such bytes", headers=headers)
    headers_ = {
        "content-range": f"bytes {read.offset}-{last}/{read.size}",
        "accept-ranges": "bytes",
        "x-content-type-options": "nosniff",
        "content-disposition": "attachment",
    }
    return Response(content, 206, headers_, read.media_type)


def _check_named(read: Output, request: Request) -> None:
    """Raise ProblemError where somebody who is nobody in particular named a call: whose it was
    cannot be told, and ids of calls can be guessed. A handle cannot.
    """
    if b"authorization" in head_of(request) or read.handle == request.path_params["id"]:
        return
    hint = "ask for the handle that the result names, or send the credential of its caller"
    raise not_found("there is no such output", hint)


def _range(header: str | None) -> tuple[int, int] | None:
    """First byte and length of `bytes=A-B` or `bytes=A-`; None for what nobody asked for."""
    unit, _, spans = (header or "").partition("=")
    first, _, last = spans.strip().partition("-")
    if unit.strip() != "bytes" or not first.isdecimal() or len(first) > 15:  # noqa: PLR2004 - digits
        return None
    if not last:
        return int(first), 1 << 22
    is_right = last.isdecimal() and len(last) <= 15 and int(last) >= int(first)  # noqa: PLR2004 - as above
    return (int(first), int(last) - int(first) + 1) if is_right else None


class _Streams:
    """Those who listen to events; each looks into the journal, so there are not many at once."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._open: Counter[tuple[str, str | None]] = Counter()

    def opened(self, request: Request, wanted: Filter, named: str | None) -> Response:
        """A stream of what is recorded, or of events of one name. Raises ProblemError where too
        many listen.
        """
        caller = caller_of(request)
        whose = caller.principal, caller.tenant
        if self._open.total() >= _MOST_STREAMS or self._open[whose] >= _MOST_OF_ONE:
            raise ProblemError(503, "unavailable", "too many listen already", hint="try later")
        events = _of_name(_records(self._site, request).tail(wanted), named)
        is_still = partial(self._site.access.is_still, head_of(request), caller_of(request))
        made = self._events(events, is_still, whose)
        return StreamingResponse(made, 200, _STREAM, "text/event-stream")

    async def _events(
        self,
        entries: AsyncIterator[Entry],
        is_still: Callable[[], Awaitable[bool]],
        whose: tuple[str, str | None],
    ) -> AsyncIterator[bytes]:
        self._open[whose] += 1
        ending = asyncio.create_task(self._site.draining.wait())
        try:
            yield b": listening\n\n"
            async with aclosing(_beating(entries, ending, is_still)) as events:
                async for event in events:
                    yield event
        finally:
            self._open[whose] -= 1
            self._open += Counter()  # nobody who has none
            ending.cancel()


async def _beating(
    entries: AsyncIterator[Entry],
    ending: asyncio.Task[bool],
    is_still: Callable[[], Awaitable[bool]],
) -> AsyncGenerator[bytes, None]:
    """Each entry as an event, and a sign of life where there is none, until the end, or until who
    listens may not any more.
    """
    following: asyncio.Task[Entry] | None = None
    silent_s = 0.0
    try:
        while not ending.done():
            following = following or asyncio.create_task(_next(entries))
            wanted: set[asyncio.Task[Any]] = {following, ending}
            await asyncio.wait(wanted, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            if not await is_still():
                return
            if following.done():
                yield _event(following.result())
                following, silent_s = None, 0.0
                continue
            silent_s += _LOOK_S
            if silent_s >= _BEAT_S:
                yield b": still here\n\n"
                silent_s = 0.0
    finally:
        if following is not None:
            following.cancel()


async def _of_name(entries: AsyncIterator[Entry], name: str | None) -> AsyncIterator[Entry]:
    """The entries that events of that name are made of."""
    async for entry in entries:
        if name is None or name == _name_of(entry):
            yield entry


def _name_of(entry: Entry) -> str:
    """What the event of an entry is called."""
    kind = str(entry["kind"])
    if kind == "call":
        return _OF_CALLS.get(str(entry.get("status")), "completed")
    of_approval = _OF_APPROVALS.get(str(entry.get("event"))) if kind == "approval" else None
    return of_approval or _OF_KINDS.get(kind, kind)


async def _next(entries: AsyncIterator[Entry]) -> Entry:
    return await anext(entries)


def _event(entry: Entry) -> bytes:
    """One event; the id says where it stands in the journal."""
    body: dict[str, Any] = {"schema": SCHEMA, **entry}
    id_ = f"{entry['writer']}:{entry['seq']}".encode()
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (id_, _name_of(entry).encode(), to_json(body))
