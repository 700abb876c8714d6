"""A service that fails in every way a network knows, and an oracle of what must come of it.

`python -m tests.faults.faulty` prints the table: the fault, the tool, how many attempts the rules
allow (E4 to E7, E11, E12), how many the service has seen, what it was made to do, and the verdict.
The service judges by its own log of effects: what matters is what was done, not what was said.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from random import Random
from typing import Any

from toolrt.core.clock import ManualClock
from toolrt.opened import Runtime
from toolrt.testing import open_files

ATTEMPTS = 3
ATTEMPT_S = 0.25
WALL = 1_700_000_000.0

TOOLS = """
targets:
  TARGETS
tools:
  read:
    description: Reads.
    http: {target: read, url: /do}
  put:
    description: Writes the same thing.
    http: {target: put, url: /do, method: PUT, json: {a: 1}}
  post:
    description: Writes.
    http: {target: post, url: /do, method: POST, json: {a: 1}}
  keyed:
    description: Writes, with a key.
    parameters: {key: string}
    http: {target: keyed, url: /do, method: POST, json: {a: "{{ key }}"}}
    idempotency_key: "{{ key }}"
  rejected:
    description: Writes, to a service whose rejections do nothing.
    http: {target: rejected, url: /do, method: POST, json: {a: 1}}
    retry: {rejected_means_not_applied: true}
  verified:
    description: Writes, and somebody knows what came of it.
    http: {target: verified, url: /do, method: POST, json: {a: 1}}
    verify: {tool: status, applied_when: result.applied}
  status:
    description: Says whether it was done.
    effect: read
    http: {target: status, url: /status}
"""
NAMES = ("read", "put", "post", "keyed", "rejected", "verified")
HEAD = "retry: {attempts: 3}, timeout: {attempt: 250ms}"

Fail = Callable[["Line"], Awaitable[None]]


@dataclass(frozen=True)
class Fault:
    """One way to fail: whether the service does what it is asked first, and how it then fails.

    `kind`: `unsent` (no byte was sent), `ambiguous` or `status` (an answer). `has_moment` says that
    a Retry-After tells when, `too_long` that nobody waits for that, `waits_s` the least that one
    wait takes, and `passes` that the next answer names the same moment. After `times` all is well.
    """

    name: str
    kind: str
    fail: Fail
    applies: bool = False
    status: int = 0
    has_moment: bool = False
    too_long: bool = False
    times: int | None = None
    waits_s: float = 0.0
    passes: bool = False


@dataclass
class Line:
    """One connection of the service; `began` is the time of day at which the call began."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    began: float = 0.0

    async def say(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    def reset(self) -> None:
        """Drop it with a TCP reset."""
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()


@dataclass
class Service:
    """What it was asked, and what it did."""

    fault: Fault
    port: int = 0
    began: float = 0.0
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(reader, writer, self.began)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._heard(line):
                    pass
        finally:
            writer.close()

    async def _heard(self, line: Line) -> bool:
        """One request and what is said to it; whether the connection goes on."""
        head = (await line.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        body = await line.reader.readexactly(int(_header(head, "content-length") or 0))
        return await self._answer(line, head, body)

    async def _answer(self, line: Line, head: str, body: bytes) -> bool:
        method, path, _ = head.split(" ", 2)
        if path == "/status":
            await line.say(
                _reply(200, b'{"applied": %s}' % str(bool(self.effects)).lower().encode())
            )
            return True
        key = _header(head, "idempotency-key")
        self.asked.append((method, key, body))
        fault = self.fault
        if fault.times is not None and len(self.asked) > fault.times:
            self._do(key)
            await line.say(_reply(200, b"{}"))
            return True
        if fault.applies:
            self._do(key)
        await fault.fail(line)
        return fault.kind == "status"

    def _do(self, key: str) -> None:
        """One effect a key; without one, each call has its own."""
        if not key or key not in self.effects:
            self.effects.append(key)


def _header(head: str, name: str) -> str:
    found = (line.partition(":") for line in head.split("\r\n"))
    return next((value.strip() for key, _, value in found if key.lower() == name), "")


def _reply(status: int, body: bytes = b"", retry_after: str | None = None) -> bytes:
    more = f"Retry-After: {retry_after}\r\n" if retry_after is not None else ""
    kind = "Content-Type: application/json\r\n"
    return f"HTTP/1.1 {status} X\r\n{kind}{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _reset(line: Line) -> None:
    line.reset()


async def _hang_up(line: Line) -> None:
    line.writer.close()


async def _silence(_line: Line) -> None:
    await asyncio.sleep(60)


def _piece(raw: bytes, then: Fail) -> Fail:
    async def fail(line: Line) -> None:
        await line.say(raw)
        await asyncio.sleep(0.01)
        await then(line)

    return fail


async def _drip(line: Line) -> None:
    await line.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        await line.say(b"x")
        await asyncio.sleep(0.02)


def _says(status: int, retry_after: str | None = None) -> Fail:
    return lambda line: line.say(_reply(status, b"{}", retry_after))


def _dated(seconds: float, **more: Any) -> Fault:
    """503 until that many seconds after the call began."""

    async def fail(line: Line) -> None:
        await line.say(_reply(503, b"{}", formatdate(line.began + seconds, usegmt=True)))

    name = f"503, Retry-After: a date in {seconds} s"
    return Fault(name, "status", fail, status=503, has_moment=seconds > 0, **more)


def _status(number: int, *, applies: bool = False, **more: Any) -> Fault:
    return Fault(str(number), "status", _says(number), applies, number, **more)


def _after(text: str, *, status: int = 503, **more: Any) -> Fault:
    name = f"{status}, Retry-After: {text}"
    fail = _says(status, text)
    return Fault(name, "status", fail, status=status, has_moment=text.isdigit(), **more)


_HALF = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"

FAULTS = (
    Fault("nobody listens", "unsent", _reset),
    Fault("reset before it was done", "ambiguous", _reset),
    Fault("reset after it was done", "ambiguous", _reset, applies=True),
    Fault("hang-up before it was done", "ambiguous", _hang_up),
    Fault("hang-up after it was done", "ambiguous", _hang_up, applies=True),
    Fault("reset within the head", "ambiguous", _piece(b"HTTP/1.1 200 O", _reset), applies=True),
    Fault("reset within the body", "ambiguous", _piece(_HALF, _reset), applies=True),
    Fault("body shorter than it says", "ambiguous", _piece(_HALF, _hang_up), applies=True),
    Fault("silence after it was done", "ambiguous", _silence, applies=True),
    Fault("silence before it was done", "ambiguous", _silence),
    Fault("a byte now and then", "ambiguous", _drip, applies=True),
    *(_status(each) for each in (400, 401, 403, 404, 409, 410, 422, 501, 505)),
    *(_status(each) for each in (408, 425, 429, 500, 502, 503, 504)),
    *(_status(each, applies=True) for each in (500, 502, 504)),
    Fault("two 503, then well", "status", _says(503), status=503, times=2),
    Fault("one reset, then well", "ambiguous", _reset, times=1),
    Fault("one reset after it was done", "ambiguous", _reset, applies=True, times=1),
    _after("1", waits_s=1.0),
    _after("1", status=429, waits_s=1.0),
    _after("0"),
    _after("-5"),
    _after("soon"),
    _after("1, 2"),
    _after("120", too_long=True),
    _dated(2, waits_s=1.0, passes=True),
    _dated(-100),
    _dated(3600, too_long=True),
)
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


def allowed(fault: Fault, tool: str) -> int:
    """How many attempts the rules allow: the oracle, which knows nothing of the code."""
    most = ATTEMPTS if fault.times is None else fault.times + 1
    if fault.kind == "unsent":
        return ATTEMPTS
    if fault.too_long:
        return 1
    if fault.kind == "status" and fault.status not in _RETRIED:
        return 1
    if tool in {"read", "put", "keyed"}:
        return most
    if tool == "verified":
        may_have_applied = fault.kind == "ambiguous" or fault.status >= 500
        return most if may_have_applied and not fault.applies else 1
    is_rejected = fault.status == 429 or (fault.status == 503 and fault.has_moment)
    if tool == "rejected" and is_rejected:
        return min(most, 2) if fault.passes else most
    return 1


@dataclass(frozen=True)
class Row:
    """What came of one fault and one tool."""

    fault: str
    tool: str
    allowed: int
    seen: int
    effects: int
    outcome: str
    faults: tuple[str, ...]


@asynccontextmanager
async def serving(fault: Fault):
    service = Service(fault)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await service.serve(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    if fault.kind == "unsent":
        server.close()
    try:
        yield service
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def rows_of(fault: Fault) -> list[Row]:
    """One call of each tool, each of a service of its own that fails like this."""
    async with AsyncExitStack() as stack:
        services = {name: await stack.enter_async_context(serving(fault)) for name in NAMES}
        urls = {name: service.port for name, service in services.items()}
        urls["status"] = urls["verified"]
        targets = "\n  ".join(f"{k}: {{url: 'http://127.0.0.1:{v}'}}" for k, v in urls.items())
        text = TOOLS.replace("TARGETS", targets)
        clock = ManualClock(wall=WALL)
        files = {"tools.d/t.yaml": text.replace("tools:\n", f"defaults: {{{HEAD}}}\ntools:\n")}
        runtime = await stack.enter_async_context(open_files(files, clock=clock, random=Random(7)))
        return [await _judged(fault, name, services[name], runtime, clock) for name in NAMES]


async def _judged(
    fault: Fault, tool: str, service: Service, runtime: Runtime, clock: ManualClock
) -> Row:
    began, service.began = clock.monotonic(), clock.wall()
    result = await runtime.call(tool, {"key": "k1"} if tool == "keyed" else {})
    seen = result.attempts if fault.kind == "unsent" else len(service.asked)
    outcome = result.status if result.error is None else result.error.code
    most = allowed(fault, tool)
    wrong = _wrong(fault, tool, service, seen, most, result)
    waits = min(1, most - 1) if fault.passes else most - 1
    if clock.monotonic() - began < waits * fault.waits_s:
        wrong.append("it did not wait as it was told (E6)")
    return Row(fault.name, tool, most, seen, len(service.effects), outcome, tuple(wrong))


def _wrong(
    fault: Fault, tool: str, service: Service, seen: int, most: int, result: Any
) -> list[str]:
    """What is wrong with it, by the service's own log."""
    found = []
    if seen != most:
        found.append(f"{seen} attempts, not {most}")
    if len(set(service.asked)) > 1:
        found.append("the attempts differ (E10)")
    if tool not in {"read", "put"} and len(service.effects) > 1:
        found.append("done twice")
    if tool == "verified" and fault.applies and result.status != "success":
        found.append("it was done, and is told as a failure")
    if result.status == "success" and tool != "read" and not service.effects:
        found.append("it was not done, and is told as done")
    is_open = fault.kind == "ambiguous" and fault.times is None
    if tool in {"post", "rejected"} and is_open:
        outcome = result.error.details.get("outcome") if result.error else None
        if outcome != "unknown":
            found.append("nobody is told that it may have been done (E3)")
    return found


async def table() -> list[Row]:
    """Every fault with every tool."""
    return [row for fault in FAULTS for row in await rows_of(fault)]


def shown(rows: list[Row]) -> str:
    lines = ["| fault | tool | attempts allowed | seen | effects | outcome | verdict |",
             "|---|---|---:|---:|---:|---|---|"]  # fmt: skip
    for row in rows:
        verdict = "; ".join(row.faults) or "ok"
        lines.append(f"| {row.fault} | {row.tool} | {row.allowed} | {row.seen} | {row.effects} |"
                     f" {row.outcome} | {verdict} |")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    print(shown(asyncio.run(table())))  # noqa: T201 - that is what it is for
