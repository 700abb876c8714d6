"""Secrets that a command prints: one run at a time for a name, off the event loop, bounded.

Whoever asks meanwhile waits for the same run. What it printed stays known; a failure does for
5 seconds, with its reason and never with its output.
"""

import asyncio
import atexit
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

LARGEST = 64 * 1024
"""Bytes of a secret."""

_TIMEOUT_S = 10.0
_DRAIN_S = 0.2
_LOOK_S = 0.02
_LAST_START_S = 2.0
_FAILURE_STAYS_S = 5.0

_RUNNING: set[int] = set()
"""Leaders of the process groups that run now; none outlives this process."""
_STARTING = threading.Lock()
"""Held from the start of a command until it is known as running, and when this process ends."""


class _Answer(NamedTuple):
    """What a run came to: a secret, or why there is none; and when, in seconds."""

    secret: str | None
    why: str | None
    at: float


class CommandVault:
    """A program that prints the secret whose name is its last argument.

    It runs in a thread. On an event loop `look_up` only knows what was asked before: see `begin`.
    """

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], cwd: Path) -> None:
        self._argv = list(argv)
        self._environ = environ
        self._cwd = cwd
        self._lock = threading.Lock()
        self._answers: dict[str, _Answer] = {}
        self._runs: dict[str, Future[None]] = {}

    def begin(self, name: str, owner: str | None) -> "Future[None] | None":
        """The run that tells about this name; None where that is known already."""
        asked = _asked(name, owner)
        with self._lock:
            if self._is_known(asked):
                return None
            running = self._runs.get(asked)
            if running is not None:
                return running
            run: Future[None] = Future()
            run.set_running_or_notify_cancel()  # who stops waiting must not end it for the others
            self._runs[asked] = run
        try:
            threading.Thread(target=self._run, args=(asked,), daemon=True).start()
        except RuntimeError:  # no more threads
            self._settle(asked, None, "could not be run")
        return run

    def look_up(self, name: str, owner: str | None) -> str | None:
        """The secret. Blocks while the command runs, unless this thread has an event loop."""
        if not _is_on_a_loop():
            run = self.begin(name, owner)
            if run is not None:
                run.result()
        answer = self._answers.get(_asked(name, owner))
        return answer.secret if answer else None

    def place(self, name: str, owner: str | None) -> str:
        answer = self._answers.get(_asked(name, owner))
        why = f", which {answer.why}" if answer and answer.why else ""
        return f"command {Path(self._argv[0]).name}{why}"

    def _is_known(self, asked: str) -> bool:
        answer = self._answers.get(asked)
        if answer is None:
            return False
        return answer.why is None or time.monotonic() - answer.at < _FAILURE_STAYS_S

    def _run(self, asked: str) -> None:
        secret: str | None = None
        why: str | None = "could not be run"
        try:
            secret, why = _secret_of([*self._argv, asked], self._environ, self._cwd)
        finally:
            self._settle(asked, secret, why)

    def _settle(self, asked: str, secret: str | None, why: str | None) -> None:
        """Remember what the run came to, and let everybody go on who waits for it."""
        with self._lock:
            self._answers[asked] = _Answer(secret, why, time.monotonic())
            run = self._runs.pop(asked)
        run.set_result(None)


def secret_text(raw: bytes) -> str | None:
    """What a file or a command holds, without its last newline; None for what is no short text."""
    if len(raw) > LARGEST:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return text.removesuffix("\n").removesuffix("\r")


def _secret_of(
    argv: Sequence[str], environ: Mapping[str, str], cwd: Path
) -> tuple[str | None, str | None]:
    """What a command printed, or why that is no secret."""
    try:
        child = _started(argv, environ, cwd)
    except (OSError, ValueError) as error:
        return None, f"could not be started ({type(error).__name__})"
    try:
        printed = _printed(child)
    finally:
        _RUNNING.discard(child.pid)
    if printed is None:
        return None, f"took longer than {_TIMEOUT_S:g} s"
    if len(printed) > LARGEST:
        return None, f"printed more than {LARGEST // 1024} KiB"
    if child.returncode:
        return None, _end(child.returncode)
    secret = secret_text(printed)
    if not secret:
        return None, "printed no text"
    return secret, None


def _started(
    argv: Sequence[str], environ: Mapping[str, str], cwd: Path
) -> "subprocess.Popen[bytes]":
    with _STARTING:
        child = subprocess.Popen(  # noqa: S603 - argv of the project file, no shell
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=dict(environ),
            start_new_session=True,
        )
        _RUNNING.add(child.pid)
    return child


def _printed(child: "subprocess.Popen[bytes]") -> bytes | None:
    """What the child printed; None when it took too long, and then its group is killed."""
    ends = time.monotonic() + _TIMEOUT_S
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    with child.stdout as pipe:
        printed = _read(child, pipe.fileno(), ends)
    if len(printed) <= LARGEST:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, ends - time.monotonic()))
            return printed
    _kill(child.pid)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_DRAIN_S)
    return printed if len(printed) > LARGEST else None


def _read(child: "subprocess.Popen[bytes]", descriptor: int, ends: float) -> bytes:
    """What comes until the child has ended, and 200 ms more for who holds its stdout after that."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    printed = bytearray()
    is_over = False
    while len(printed) <= LARGEST and time.monotonic() < ends:
        if not is_over and child.poll() is not None:
            is_over, ends = True, min(ends, time.monotonic() + _DRAIN_S)
        if not poller.poll(_LOOK_S * 1000):
            continue
        part = os.read(descriptor, LARGEST)
        if not part:
            break
        printed += part
    return bytes(printed)


def _end(status: int) -> str:
    if status > 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


def _asked(name: str, owner: str | None) -> str:
    return f"{owner}/{name}" if owner else name


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@atexit.register
def _end_all() -> None:
    _STARTING.acquire(timeout=_LAST_START_S)  # and for good: nothing starts any more
    for pid in tuple(_RUNNING):
        _kill(pid)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
