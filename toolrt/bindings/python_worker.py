"""The inside of a worker process of `run_in: process`: takes calls, one after another.

Frames go over a socket of our own, so that nothing user code prints can get between them. When
the parent goes away the socket ends, and the process with it.
"""

import json
import logging
import os
import socket
import sys
import threading
import traceback
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from toolrt.bindings.forks import FORKS, leave_clone
from toolrt.bindings.python_calls import Linked, link
from toolrt.bindings.python_errors import failure_of
from toolrt.bindings.python_frames import read_frame, write_frame
from toolrt.bindings.python_imports import import_from
from toolrt.bindings.python_live import LateObject, Live
from toolrt.bindings.python_targets import Target, callee_of, find_target
from toolrt.bindings.python_upkeep import Loop, Upkeep
from toolrt.core.calls import Caller, Invocation, Sighting
from toolrt.core.clock import SystemClock
from toolrt.core.errors import BindingError, CallError, RefusedError, ToolError
from toolrt.core.faults import FaultError
from toolrt.core.logs import message_of
from toolrt.schemas.values import to_plain

_LONGEST_LINE = 64 * 1024
"""Characters of a line of the log, so that it fits into a frame."""


def serve(descriptor: int) -> None:
    """Answer calls from the socket until it ends, or tells to end."""
    os.set_inheritable(descriptor, False)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    serving = _Serving(socket.socket(fileno=descriptor))
    serving.run()


class _Serving:
    """One end of the socket, and the callables that were asked for so far."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._sending = threading.Lock()
        self._forks = FORKS.count
        self._calls: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._linked: dict[str, tuple[Target, Linked]] = {}
        self._shared: dict[str, Live] = {}
        self._loop = Loop()
        self._upkeep: Upkeep | None = None
        log = logging.getLogger("toolrt.tools")
        log.setLevel(logging.DEBUG)
        log.propagate = False
        log.addHandler(_Forward(self.send))
        os.register_at_fork(after_in_child=channel.close)  # it would outlive us in a child

    def run(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        self.send({"ready": True})
        while "end" not in (call := self._calls.get()):
            self._answer(call)
        if self._upkeep is not None:
            self._upkeep.end()

    def send(self, document: dict[str, Any]) -> None:
        """Write a frame; a clone that user code forked is not heard."""
        if FORKS.count != self._forks:
            return
        with self._sending:
            write_frame(self._channel, document)

    def _listen(self) -> None:
        """Queue calls beside the running one, and notice the end of the parent at once."""
        while (call := read_frame(self._channel)) is not None:
            self._calls.put(call)
        os._exit(0)

    def _answer(self, call: dict[str, Any]) -> None:
        number = {"number": call["number"]}
        self.send({"begun": True, **number})
        ran = self._ran(call)
        if FORKS.count != self._forks:
            leave_clone(ran[1])
        value, error = ran
        project = Path(call["project"])
        reply = {"value": value} if error is None else _failure(error, project)
        try:
            self.send({**reply, **number})
        except ValueError as raised:
            too_large = BindingError(f"the tool returned {raised} of JSON", code="bad-response")
            self.send({**_failure(too_large, project), **number})

    def _ran(self, call: dict[str, Any]) -> tuple[Any, BaseException | None]:
        try:
            return self._run(call), None
        except BaseException as error:  # noqa: BLE001 - user code: whatever it raises ends here
            return None, error

    def _run(self, call: dict[str, Any]) -> Any:
        project, number = Path(call["project"]), call["number"]
        target, linked = self._link(call["target"], project)
        self._upkeep = self._upkeep or Upkeep(self._loop, project)
        if self._upkeep.ready(target):
            self.send({"keeps": True, "number": number})
        sighting = Sighting(call["expected"])
        value = linked.prepared(self._invocation(call, sighting))()
        made = to_plain(self._loop.given_alone(value))
        if sighting.told is not None:
            self.send({"saw": sighting.told, "number": number})
        return made

    def _link(self, target: dict[str, Any], project: Path) -> tuple[Target, Linked]:
        key = json.dumps(target)
        if key not in self._linked:
            try:
                found = self._found(target, project)
            except FaultError as error:
                raise BindingError(str(error), code="unavailable") from error
            callee, _ = callee_of(found, project)
            self._linked[key] = found, link(found, callee, target["properties"], project)
        return self._linked[key]

    def _found(self, target: dict[str, Any], project: Path) -> Target:
        """The target; methods of one source belong to one object. Raises FaultError."""
        call, owner, init = target["call"], target["object"], target["init"]
        if not target["is_shared"]:
            return find_target(project, call, owner, lambda: init)
        key = json.dumps([owner, init])
        if key not in self._shared:
            found = import_from(project, owner)
            late = LateObject(found, lambda: init) if isinstance(found, type) else found
            self._shared[key] = Live(owner, late)
        return find_target(project, call, self._shared[key])

    def _invocation(self, call: dict[str, Any], sighting: Sighting) -> Invocation:
        number, clock = call["number"], SystemClock()
        now = clock.monotonic()
        caller: dict[str, Any] = {
            key: tuple(each) if isinstance(each, list) else each
            for key, each in call["caller"].items()
        }
        made = Invocation(
            call_id=call["call_id"],
            tool=call["tool"],
            arguments=call["arguments"],
            caller=Caller(**caller),
            clock=clock,
            started=now,
            deadline=now + call["remaining_s"],
            on_progress=lambda *told: self.send({"progress": told, "number": number}),
        )
        made.idempotency_key, made.sighting = call["idempotency_key"], sighting
        return made


class _Forward(logging.Handler):
    """Sends what a tool logs to the parent's log."""

    def __init__(self, send: Any) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        of = {name: getattr(record, name, None) for name in ("call_id", "tool")}
        line = [record.levelno, message_of(record)[:_LONGEST_LINE]]
        self._send({"log": line, "of": of if all(of.values()) else None})


def _failure(error: BaseException, project: Path) -> dict[str, Any]:
    made = failure_of(error, project)
    kinds = (ToolError, RefusedError, BindingError, CallError)
    return {
        "error": next(kind.__name__ for kind in kinds if isinstance(made, kind)),
        "fields": {
            "message": str(made.message),
            "code": str(made.code),
            "hint": made.hint,
            "retryable": bool(made.retryable),
            "details": _details(made),
        },
        "target_fault": getattr(made, "target_fault", False),
        "sent": getattr(made, "sent", None),
        "is_midway": getattr(made, "is_midway", False),
        "traceback": "".join(traceback.format_exception(error)),
    }


def _details(error: CallError) -> Any:
    try:
        return to_plain(error.details)
    except BindingError:
        return {}
