"""The ways in: the command line, in this process or as a child, on a project with a real server.

`Door` calls a case and gives what was to be `Seen`; what must hold for every case is asserted here.
"""

import asyncio
import base64
import html
import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from tests.hostile.cases import ANYTHING, OUTCOMES, PASSWORD, SECRET, Case, Written, projects
from tests.limits import Memory, status_of
from tests.loopback import Heard, Loopback, loopback
from toolrt.core.errors import CODES
from toolrt.faces.cli.main import cli

ENVIRON = {"KEY": SECRET}
MOST_BYTES = 64 * 1024 * 1024
MOST_S = 1.0
BUSY = 20
"""How many times longer by the clock a call may take on a machine that others use as well."""
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)
LOG_KEYS = {
    "time", "event", "call_id", "tool", "caller", "status", "code", "attempts", "time_ms",
    "generation",
}  # fmt: skip
RESULT_KEYS = {
    "schema", "call_id", "tool", "status", "text", "data", "error", "control", "stats", "context",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """What a call came to."""

    exit: int
    stdout: str
    stderr: str
    took_s: float
    """Seconds of the processor, or a share of them by the clock, which tells what hangs."""
    grew_by: int

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.stdout)

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of calls. What a service did not answer is told in lines of their own."""
        lines = [json.loads(line) for line in self.stderr.splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] != "unanswered"]


class Door:
    """The world's project with its server behind it."""

    def __init__(self, folder: Path, server: Loopback) -> None:
        self.folder = folder
        self.server = server
        self.told: Any = None

    def answer(self, heard: Heard) -> Any:
        return self.told(heard) if self.told else b""

    def run(self, case: Case, *options: str) -> Seen:
        """The call in this process."""
        self._expect(case)
        with _names(case.names):
            return invoke(self._words(case, options), case.input, ENVIRON)

    def child(self, case: Case, *options: str) -> Seen:
        """The call in a process of its own."""
        self._expect(case)
        return spawn(self._words(case, options), case.input, ENVIRON)

    def _words(self, case: Case, options: tuple[str, ...]) -> list[str]:
        has_tool = case.outcome != "UNKNOWN_TOOL"
        project = self.folder / (case.tool if has_tool else "say")
        return ["run", "-p", str(project), "-v", *options, case.tool, *case.words]

    def _expect(self, case: Case) -> None:
        self.told = case.told
        self.server.heard.clear()


@contextmanager
def opened(folder: Path) -> Iterator[Door]:
    """The world in `folder`; its server listens in a thread of its own."""
    with _serving() as door:
        door.folder = folder
        for tool, files in projects(door.server.url, door.server.port).items():
            write(folder / tool, files)
        yield door


def write(folder: Path, files: Mapping[str, Written]) -> None:
    for name, what in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(what):
            what(path)
        else:
            path.write_bytes(what if isinstance(what, bytes) else what.encode())


def invoke(words: list[str], given: bytes = b"", environ: Mapping[str, str] | None = None) -> Seen:
    """The command line in this process; slow only when it is slow twice, for others work here."""
    seen = _invoked(words, given, environ)
    return seen if seen.took_s < MOST_S else _invoked(words, given, environ)


def spawn(words: list[str], given: bytes = b"", environ: Mapping[str, str] | None = None) -> Seen:
    """The command line as a child."""
    began = _processor_of_children()
    child = subprocess.Popen(
        [sys.executable, "-m", "toolrt", *map(os.fsencode, words)],
        env={**os.environ, **(environ or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with _Watch(child.pid) as watch:
        out, err = child.communicate(given, timeout=30)
    took = _processor_of_children() - began
    return Seen(child.returncode, out.decode(), err.decode(), took, watch.highest)


def assert_harmless(seen: Seen) -> None:
    """What holds for whatever the command line was given."""
    shown = seen.stdout + seen.stderr
    assert "Traceback" not in seen.stderr
    assert "this is a bug" not in seen.stderr
    assert secrets_in(shown) == []
    assert ACTING.search(shown) is None
    assert seen.took_s < MOST_S
    assert seen.grew_by < MOST_BYTES


def assert_as_told(case: Case, seen: Seen, server: Loopback) -> None:
    """The outcome of `case`, shown as JSON."""
    outcome = OUTCOMES[case.outcome]
    assert_harmless(seen)
    assert seen.exit == outcome.exit, seen
    if case.heard is not None:
        assert tuple(server.lines) == case.heard
    if case.outcome == "USAGE":
        assert seen.log == []
        assert seen.document["error"]["code"] not in CODES
        assert 0 < len(seen.document["error"]["message"]) < case.longest
        return
    document = seen.document
    assert document.keys() <= RESULT_KEYS
    assert document["context"]["untrusted"] is True
    assert document.get("error", {}).get("code") == outcome.code
    if outcome.code:
        _assert_failure(case, document)
    elif case.data is not ANYTHING:
        assert document["data"] == case.data
    _assert_one_line(seen, document)


def _assert_failure(case: Case, document: dict[str, Any]) -> None:
    error = document["error"]
    assert (document["status"], document["data"]) == ("error", None)
    assert document["text"] == error["message"]
    assert case.says in error["message"]
    assert 0 < len(error["message"]) < case.longest
    assert len(json.dumps(document)) < 16_000 + 3 * case.longest


def _assert_one_line(seen: Seen, document: dict[str, Any]) -> None:
    [line] = seen.log
    assert line.keys() == LOG_KEYS
    assert line["call_id"] == document["call_id"]
    assert line["code"] == document.get("error", {}).get("code")


def secrets_in(text: str) -> list[str]:
    """The forms of the secrets that `text` holds; parts of more than a few characters count."""
    squeezed = "".join(text.split())
    return [form for form in _FORMS if form in text or form in squeezed]


def _pieces(text: str, size: int = 8) -> Iterator[str]:
    """Parts of a secret, such that any longer part holds one."""
    return (text[at : at + size] for at in range(0, len(text) - size + 1, 4))


def _forms() -> Iterator[str]:
    raw = SECRET.encode()
    yield PASSWORD
    yield from _pieces(SECRET)
    yield from _pieces(raw.hex(), 16)
    yield from _pieces(raw.hex().upper(), 16)
    yield from _pieces(json.dumps(SECRET)[1:-1])
    yield from _pieces(quote(SECRET, safe=""), 12)
    yield from _pieces(quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b"), 12)
    yield from _pieces(html.escape(SECRET), 12)
    for pad in range(3):
        inside = base64.b64encode(b"\0" * pad + raw).decode()[4:-4]
        yield from _pieces(inside, 16)
        yield from _pieces(inside.translate(str.maketrans("+/", "-_")), 16)


_FORMS = sorted(set(_forms()))


@contextmanager
def _names(addresses: tuple[str, ...]) -> Iterator[None]:
    """A name service that knows one answer."""
    if not addresses:
        yield
        return

    def resolve(_host: str, port: int, *_args: object, **_more: object) -> list[Any]:
        kinds = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in addresses]
        return [
            (kind, socket.SOCK_STREAM, 6, "", (each, port))
            for kind, each in zip(kinds, addresses, strict=True)
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


def _invoked(words: list[str], given: bytes, environ: Mapping[str, str] | None) -> Seen:
    path = list(sys.path)
    memory = Memory()
    began, began_cpu = time.monotonic(), time.process_time()
    result = CliRunner().invoke(cli, words, input=given, env=environ)
    took = max(time.process_time() - began_cpu, (time.monotonic() - began) / BUSY)
    sys.path[:] = path
    return Seen(result.exit_code, result.stdout, result.stderr, took, memory.grown())


def _processor_of_children() -> float:
    """Seconds of the processor that children took which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Watch:
    """The most memory that a child takes over what it takes to start."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.highest = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        with suppress(OSError):
            while not self._is_over.wait(0.005):
                self.highest = max(self.highest, status_of(self._pid, "VmHWM"))


@contextmanager
def _serving() -> Iterator[Door]:
    door = Door(Path(), Loopback())
    is_ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with loopback(door.answer) as door.server:
            is_ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    is_ready.wait()
    try:
        yield door
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
