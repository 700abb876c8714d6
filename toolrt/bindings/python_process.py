"""One worker process of `run_in: process`, seen from outside: start it, ask it, end it."""

import itertools
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from toolrt.bindings.group import FIRST_LOOK_S, LOST, Leader
from toolrt.bindings.launch import pid_alone
from toolrt.bindings.python_frames import read_frame, write_frame
from toolrt.bindings.python_owners import TEARDOWN_S
from toolrt.core.context import Context
from toolrt.core.errors import BindingError, CallError, RefusedError, Sent, ToolError

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from toolrt.bindings.python_worker import serve; serve(int(sys.argv[1]))"
)
_PATIENCE_S = 3.0
_ERRORS: dict[str, Callable[..., CallError]] = {
    "BindingError": BindingError,
    "CallError": CallError,
    "RefusedError": RefusedError,
    "ToolError": ToolError,
}
_LOG = logging.getLogger("toolrt.tools")


class WorkerTracebackError(Exception):
    """The traceback of what a callable raised in its worker, for the operator's log."""


class Worker:
    """A process that answers one call at a time. Methods block; `stop` may come from any thread.

    Raises BindingError (sent: never) when the process does not come up.
    """

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._leader = Leader(_spawn(theirs.fileno()))
        self._ending = threading.Lock()
        self._numbers = itertools.count(1)
        self._keeps_objects = False
        if read_frame(self._channel) is None:
            self.end()
            message = "the worker process did not start"
            raise BindingError(message, code="unavailable", sent="never")

    @property
    def is_alive(self) -> bool:
        with self._ending:
            return not self._leader.has_exited()

    def ask(self, call: dict[str, Any], context: Context) -> Any:
        """The value of a call. Raises CallError as the callable did, or when the process died.

        Such a death tells by `sent` whether the process had taken the call. RefusedError says that
        no frame holds the arguments.
        """
        number = next(self._numbers)
        try:
            write_frame(self._channel, {**call, "number": number})
        except OSError:
            pass  # the process has died, which the next line notices
        except ValueError as error:
            message = f"the arguments are {error} of JSON"
            raise RefusedError(message, code="invalid-arguments") from error
        has_begun = False
        while (frame := read_frame(self._channel)) is not None:
            if "log" in frame:
                _LOG.log(*frame["log"], extra=frame["of"] or _named(context))
                continue
            if frame.get("number") != number:
                continue  # a late word of an earlier call, or of one that was cloned
            if "value" in frame or "error" in frame:
                return _value(frame)
            has_begun = True
            if "keeps" in frame:
                self._keeps_objects = True
            if "progress" in frame:
                context.progress(*frame["progress"])
            if "saw" in frame:
                context.saw(frame["saw"])
        self.end()
        raise _death(self._leader.status, "maybe" if has_begun else "never")

    def retire(self) -> None:
        """Let it tear down what it has set up, if anything, for a few seconds at most."""
        if not self._keeps_objects:
            return
        give_up = time.monotonic() + TEARDOWN_S
        with suppress(OSError):  # it has died
            write_frame(self._channel, {"end": True})
            while (left_s := give_up - time.monotonic()) > 0:
                self._channel.settimeout(left_s)
                frame = read_frame(self._channel)
                if frame is None:
                    break
                if "log" in frame:
                    _LOG.log(*frame["log"], extra=frame["of"] or {})
        if time.monotonic() >= give_up:
            _LOG.error("the objects of a worker process took too long to be torn down")

    def stop(self) -> None:
        """Kill the process and all that it started; whoever waits for it will notice."""
        self._leader.signal_group(signal.SIGKILL)

    def end(self) -> None:
        """Kill it, and leave nothing of it behind."""
        give_up = time.monotonic() + _PATIENCE_S
        with self._ending:
            self.stop()
            while not self._leader.is_group_gone() and time.monotonic() < give_up:
                self.stop()
                time.sleep(FIRST_LOOK_S)
        self._channel.close()


def _spawn(descriptor: int) -> int:
    """A fresh interpreter; what it prints goes to our stderr, for stdout may be a protocol's.

    Nothing of the folder that we happen to be in can come before what it imports (`-P`).
    """
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and our own code
        [sys.executable, "-P", "-c", _BOOT, str(descriptor), json.dumps(sys.path)],
        stdin=subprocess.DEVNULL,
        stdout=2,
        pass_fds=[descriptor],
        start_new_session=True,
    )
    return pid_alone(child)


def _named(context: Context) -> dict[str, str]:
    return {"call_id": context.call_id, "tool": context.tool}


def _value(frame: dict[str, Any]) -> Any:
    if "error" not in frame:
        return frame["value"]
    fields = frame["fields"]
    error = _ERRORS[frame["error"]](fields.pop("message"), **fields)
    if isinstance(error, BindingError):
        error.target_fault = frame["target_fault"]
        error.sent = frame["sent"]
        error.is_midway = frame["is_midway"]
    raise error from WorkerTracebackError(frame["traceback"])


def _death(status: int | None, sent: Sent) -> BindingError:
    code = "execution-failed"
    if status is None or status == LOST:
        message = "the worker process went away"
    elif status >= 0:
        message = f"the worker process ended with status {status}"
    else:
        code = "signaled"
        message = f"the worker process was ended by {_signal_name(-status)}"
    return BindingError(message, code=code, sent=sent, target_fault=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
