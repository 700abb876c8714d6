"""Calls of the modern era that wait for their client, between one request and the next.

The state that a client brings back is sealed, and names the call that waits here. Where it waits
no more (another process, a restart), a call that has not begun, or may be made twice, is made anew
with all answers so far from the state; any other is refused.
"""

import asyncio
import base64
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from pydantic_core import from_json, to_json

from toolrt.core.calls import Caller
from toolrt.faces.mcp.lines import Answers, Asked, Line
from toolrt.faces.mcp.messages import INVALID_PARAMS, Wrong

APPROVAL = "approval"
"""The key of the question whether a call may run."""

MOST = 1000
KEPT_S = 15 * 60.0
_SEAL_BYTES = 16


@dataclass(slots=True)
class Parked:
    """A call in its task, and the line by which it asks."""

    task: "asyncio.Task[Any]"
    line: Line


@dataclass(frozen=True, slots=True)
class State:
    """What a client brings back: whose call, which one, what it was asked, and what was answered so
    far.

    `has_begun` says that the tool itself runs already; else only a yes to its call is asked for.
    """

    id: str
    what: str
    asked: Asked
    answers: Answers = field(default_factory=dict)
    has_begun: bool = True


class Lot:
    """All calls that wait, and the seal of their states."""

    def __init__(self, key: Callable[[], bytes], mark: str = "") -> None:
        """Names of calls begin with `mark`."""
        self._key = key
        self._mark = mark
        self._parked: dict[str, Parked] = {}

    def park(self, parked: Parked, what: str) -> str:
        """The state by which the call is found again; `what` says whose call of what it is."""
        if len(self._parked) >= MOST:
            self._parked.pop(next(iter(self._parked))).task.cancel()
        id_ = self._mark + secrets.token_urlsafe(16)
        self._parked[id_] = parked
        leave = asyncio.get_running_loop().call_later(KEPT_S, self._end, id_)

        def ended(_task: object) -> None:
            leave.cancel()
            self._parked.pop(id_, None)

        parked.task.add_done_callback(ended)
        line = parked.line
        has_begun = any(question.about is None for question, _ in line.open.values())
        return self.sealed(State(id_, what, line.asked, line.answered, has_begun))

    def take(self, state: State) -> Parked | None:
        """The call of that state, if it waits here; each state is good for one round."""
        return self._parked.pop(state.id, None)

    def sealed(self, state: State) -> str:
        """The state as a client carries it."""
        until = int(time.time() + KEPT_S)
        said = [state.id, state.what, until, state.asked, state.answers, state.has_begun]
        body = to_json(said)
        return base64.urlsafe_b64encode(self._seal(body) + body).decode()

    def opened(self, written: object, what: str) -> State:
        """The state that a client brought. Raises Wrong for one that is not ours, or too old."""
        said = self._said(written)
        id_, of_what, until, asked, answers, has_begun = said or ("", "", 0, {}, {}, True)
        if said is None or of_what != what or until < time.time():
            message = "`requestState` is not one of this call, or too old: make the call anew"
            raise Wrong(INVALID_PARAMS, message)
        return State(
            id_, of_what, asked, {key: tuple(each) for key, each in answers.items()}, has_begun
        )

    def name_of(self, written: object) -> str | None:
        """The name of the call that a state is of, be it here or elsewhere; None if not ours."""
        said = self._said(written)
        return None if said is None else str(said[0])

    def _said(self, written: object) -> list[Any] | None:
        try:
            raw = base64.b64decode(str(written).encode("ascii"), b"-_", validate=True)
            seal, body = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
            if not hmac.compare_digest(seal, self._seal(body)):
                return None
            made: list[Any] = from_json(body)
        except ValueError:
            return None
        return made

    def close(self) -> None:
        """End all that waits."""
        for parked in list(self._parked.values()):
            parked.task.cancel()
        self._parked.clear()

    def _end(self, id_: str) -> None:
        parked = self._parked.pop(id_, None)
        if parked is not None:
            parked.task.cancel()

    def _seal(self, body: bytes) -> bytes:
        return hmac.digest(self._key(), b"mcp-state" + body, "sha256")[:_SEAL_BYTES]


def named(method: str, params: Mapping[str, Any], caller: Caller) -> str:
    """A short text that is the same for the same request of the same caller, whatever the round."""
    asked = {key: params.get(key) for key in ("name", "arguments", "uri")}
    asked |= {"method": method, "principal": caller.principal, "tenant": caller.tenant}
    return sha256(to_json(asked)).hexdigest()[:32]
