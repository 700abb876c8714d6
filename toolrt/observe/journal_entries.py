"""What the journal says of a call, and how that lies in a row: redacted, masked, bounded.

Most of what recording costs is turning calls into JSON. So the calls of a batch share one document:
what they have in common (tool, caller, decision) stands in it once, the rest of each are the next
five values of one long array (`journal_values`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.decisions import Decision
from toolrt.core.redaction import MASK, Redactor
from toolrt.core.results import Attempt, Pause, ToolResult
from toolrt.observe.journal_values import ARGUMENTS, CALLS, STARTED, TIME, WIDTH, with_used
from toolrt.schemas.effort import excess
from toolrt.schemas.plain import NotJsonError, plain
from toolrt.stores.grants import Grant
from toolrt.stores.journal import Segment

SPAN_S: Final = 10.0
"""No row spans more seconds, so that readers know how far to look."""

INTENT: Final = "intent"

_LONGEST_NAME = 200
MOST_BYTES: Final = 1 << 20
"""A row is not longer for the arguments in it: of those that are, only size and hash are kept."""

_UNCHECKED = frozenset({"invalid-arguments", "missing-arguments"})


@dataclass(frozen=True, slots=True, eq=False)
class PerTool:
    """What is the same for all calls of a tool, made once a generation.

    `decision` is there when it is fixed. `sensitive` are the parameters whose values are masked;
    where there are any, `parameters` are all of them.
    """

    name: str
    decision: Decision | None = None
    policy_hash: str = ""
    sensitive: frozenset[str] = frozenset()
    parameters: frozenset[str] = frozenset()


_Key = tuple[int, int, object, int]
"""What calls have in common: tool, caller, verdict, generation."""


class Scribe:
    """Writes down one batch of calls, and entries by themselves.

    A call is made plain values at once, so that nothing of it is kept alive; WIDTH of `values` are
    a call, for a list of tuples is one of objects that the garbage collector goes through. Times
    are counted from the clocks as they were at the first call. All ids but few begin with `ids`.

    `values` grow by themselves for calls that went well at the first try, or without one, and have
    all else in common with one before: tool, caller, decision and generation are the `last_` ones
    then (see `telling`). Of calls that others make the same are in `inner`, and the place.
    """

    def __init__(self, redactor: Redactor, clock: Clock) -> None:
        self.values: list[Any] = []
        self.ids = ""
        self._redactor = redactor
        self._clock = clock
        self._offset_s = 0.0
        self._shared: list[Mapping[str, Any]] = []
        self._places: dict[_Key, int] = {}
        self._kept: list[object] = []
        self.last_tool: PerTool | None = None
        self.last_caller: Caller | None = None
        self.last_decision: Decision | None = None
        self.last_generation = self.last_place = 0
        self.inner: tuple[PerTool | None, Caller | None, int, int] = (None, None, 0, 0)

    def note(self, invocation: Invocation, result: ToolResult, tool: PerTool | None) -> int:
        """Add a finished call; gives the number of calls in the batch.

        `tool` is None where there is none of that name. The value of the call is not recorded.
        """
        place = self._place(invocation, result, tool)
        arguments, code, status = invocation.arguments, None, result.status
        if status == "error" and result.error is not None:
            code = self._text(result.error.code)
            arguments = _unchecked(arguments, tool, code)
        if tool is not None and tool.sensitive:
            arguments = _masked(arguments, tool)
        mark = self._mark(place, invocation, result, code)
        number, call_id = invocation.number, invocation.call_id
        if number and not (self.ids and call_id.startswith(self.ids)):
            number = self._adopted(invocation)
        self.values += (mark, number or call_id, invocation.started, result.time_s, arguments)
        return self.count

    @property
    def count(self) -> int:
        """How many calls were noted."""
        return len(self.values) // WIDTH

    def forget_last(self) -> None:
        """Have one call less."""
        del self.values[-WIDTH:]

    def note_inner(self, invocation: Invocation, result: ToolResult, tool: PerTool | None) -> int:
        """`note` of a call that another one makes: what was the last of the others stays so."""
        before, decision = self._last(), self.last_decision
        self.last_tool = None
        count = self.note(invocation, result, tool)
        noted = self._last()
        self.inner = self.inner if noted[0] is None else noted
        self.last_tool, self.last_caller, self.last_generation, self.last_place = before
        self.last_decision = decision
        return count

    def _last(self) -> tuple[PerTool | None, Caller | None, int, int]:
        return self.last_tool, self.last_caller, self.last_generation, self.last_place

    def calls(self) -> list[Segment]:
        """The rows of the journal for all that was noted; the time of a call is that of its end."""
        values = self._redacted(self.values) if self._redactor.is_armed else self.values
        return self._packed(values, self._shared) if values else []

    def intent(self, invocation: Invocation, tool: PerTool | None, at: float) -> Segment:
        """The row of a call whose effect cannot be undone, before it is made."""
        entry = {
            "kind": INTENT,
            "call_id": invocation.call_id,
            "at": at,
            **self._common(invocation, tool, invocation.tool),
            "arguments": _masked(invocation.arguments, tool),
            **_more(invocation, None),
        }
        return self.entry(entry)

    def entry(self, entry: Mapping[str, Any]) -> Segment:
        """A row with one entry, which has a `kind` and a time `at`."""
        told = self._redactor.value(dict(entry)) if self._redactor.is_armed else entry
        body = to_json(told, serialize_unknown=True)
        return Segment.of(str(entry["kind"]), float(entry["at"]), body)

    def _mark(
        self, place: int, invocation: Invocation, result: ToolResult, code: str | None
    ) -> Any:
        attempts, status, is_cached = invocation.attempts, result.status, invocation.is_cached
        mark = ~place if is_cached else place
        has_more = invocation.marks or invocation.failed or invocation.approval is not None
        if has_more or status == "paused":
            return (mark, attempts, status, code, _more(invocation, result.pause))
        is_plain = status == "success" and attempts == (not is_cached)
        return mark if is_plain else (mark, attempts, status, code)

    def _adopted(self, invocation: Invocation) -> int:
        """The number of a call whose id has no beginning that is known: the first one gives it."""
        if self.ids:
            return 0
        self.ids = invocation.call_id.removesuffix(str(invocation.number))
        return invocation.number

    def _place(self, invocation: Invocation, result: ToolResult, tool: PerTool | None) -> int:
        """Where among what is shared this call's part stands."""
        caller, decision, generation = invocation.caller, invocation.decision, invocation.generation
        verdict = None if decision is None else (decision.verdict, decision.rule, decision.would_be)
        key = (id(tool), id(caller), verdict, generation)
        place = self._places.get(key)
        if place is None or tool is None:
            place = self._placed(key, invocation, tool, result.tool)
        if tool is not None and not tool.sensitive:
            self.last_tool, self.last_caller, self.last_decision = tool, caller, decision
            self.last_generation, self.last_place = generation, place
        return place

    def _placed(self, key: _Key, invocation: Invocation, tool: PerTool | None, name: str) -> int:
        """The place of what this call is the first to have."""
        if not self._shared:
            self._offset_s = self._clock.wall() - self._clock.monotonic()
        self._kept += (tool, invocation.caller)  # or their ids might come back
        place = self._places[key] = len(self._shared)
        self._shared.append(self._common(invocation, tool, name))
        return place

    def _common(self, invocation: Invocation, tool: PerTool | None, name: str) -> dict[str, Any]:
        decision = invocation.decision or (tool.decision if tool else None)
        return {
            "tool": tool.name if tool else self._text(name),
            "caller": self._caller(invocation.caller),
            "decision": _told(decision),
            "generation": invocation.generation,
            "policy_hash": tool.policy_hash if tool else "",
        }

    def _caller(self, caller: Caller) -> dict[str, Any]:
        return {
            "principal": self._text(caller.principal),
            "roles": [self._text(role) for role in caller.roles],
            "tenant": self._text(caller.tenant) if caller.tenant is not None else None,
            "session": self._text(caller.session) if caller.session is not None else None,
        }

    def _text(self, name: object) -> str:
        """A name of anybody's choice as text that JSON can carry, without secrets, not long."""
        text = str(name)[:_LONGEST_NAME]
        text = text if text.isascii() else text.encode(errors="backslashreplace").decode()
        return self._redactor.text(text) if self._redactor.is_armed else text

    def _redacted(self, values: list[Any]) -> list[Any]:
        """Secrets in arguments masked. All texts are looked at in one go, for most have none."""
        texts: list[str] = []
        for arguments in values[ARGUMENTS::WIDTH]:
            _gather(arguments, texts)
        text = "\0".join(texts)
        if self._redactor.text(text) == text:
            return values
        masked = values.copy()
        masked[ARGUMENTS::WIDTH] = map(self._redactor.value, values[ARGUMENTS::WIDTH])
        return masked

    def _packed(self, values: list[Any], shared: Sequence[Mapping[str, Any]]) -> list[Segment]:
        """One row of the journal; more where it would be too big, or span too much time."""
        at, until = self._ended(values[:WIDTH]), self._ended(values[-WIDTH:])  # as they are noted
        told = {"since": self._offset_s, "ids": self.ids, "shared": shared, "values": values}
        body, count = _json(told), len(values) // WIDTH
        if body is not None and len(body) <= MOST_BYTES and until - at <= SPAN_S:
            return [Segment(CALLS, at, until, count, body)]
        if count > 1:
            half = count // 2 * WIDTH
            parts = (with_used(values[:half], shared), with_used(values[half:], shared))
            return [segment for part in parts for segment in self._packed(*part)]
        alone = to_json({**told, "values": _without_arguments(values)}, serialize_unknown=True)
        return [Segment(CALLS, at, until, 1, alone)]

    def _ended(self, call: Sequence[Any]) -> float:
        """When the call ended, in seconds since the epoch."""
        ended: float = self._offset_s + (call[STARTED] + call[TIME])
        return ended


def _told(decision: Decision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    told: dict[str, Any] = {"decision": decision.verdict, "rule": decision.rule}
    if decision.would_be:
        told["would_be"] = list(decision.would_be)
    return told


def _more(invocation: Invocation, pause: Pause | None) -> dict[str, Any]:
    """What few calls have: marks, attempts that failed before, an approval or a grant."""
    more: dict[str, Any] = {**invocation.marks} if invocation.marks else {}
    if invocation.failed:
        more["failed"] = list(map(_attempt, invocation.failed))
    if isinstance(invocation.approval, Grant):
        more["grant"] = invocation.approval.id
        more["approval"] = invocation.approval.approval_id
    elif invocation.approval is not None:
        more["approval"] = invocation.approval.id
    elif pause is not None:
        more["approval"] = pause.approval_id
    return more


def _attempt(failed: Attempt) -> dict[str, Any]:
    """Without a delay where nothing was repeated."""
    told = {"number": failed.number, "error": failed.error}
    return told if failed.delay_s is None else {**told, "delay_s": round(failed.delay_s, 3)}


def shown_arguments(invocation: Invocation, result: ToolResult, tool: PerTool | None) -> Any:
    """The arguments of a finished call as they may be told, but for secrets among them."""
    arguments = invocation.arguments
    if result.error is not None:
        arguments = _unchecked(arguments, tool, result.error.code)
    return _masked(arguments, tool)


def _unchecked(arguments: Any, tool: PerTool | None, code: str) -> Any:
    """What a caller handed over, as far as JSON can carry it.

    Values are masked where nobody knows which of them are sensitive: with a name that the tool does
    not have, any may be.
    """
    much = excess(arguments)
    if much is not None:
        return {"unreadable": f"holds {much}"}
    try:
        arguments = plain(arguments)
    except NotJsonError as error:
        return {"unreadable": error.reason}
    if tool is not None and (not tool.sensitive or _is_named_right(arguments, tool, code)):
        return arguments
    return dict.fromkeys(arguments, MASK) if isinstance(arguments, dict) else MASK


def _is_named_right(arguments: Any, tool: PerTool, code: str) -> bool:
    is_object = isinstance(arguments, dict) and code not in _UNCHECKED
    return is_object and tool.parameters.issuperset(arguments)


def _masked(arguments: Any, tool: PerTool | None) -> Any:
    if tool is None or not tool.sensitive or not isinstance(arguments, dict):
        return arguments
    return {name: MASK if name in tool.sensitive else v for name, v in arguments.items()}


def _gather(value: Any, texts: list[str]) -> None:
    """Add all texts in a JSON value to `texts`, names too."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        texts += value
        for item in value.values():
            _gather(item, texts)
    elif isinstance(value, list):
        for item in value:
            _gather(item, texts)


def _without_arguments(call: Sequence[Any]) -> list[Any]:
    """A call whose arguments are too long to be kept, or no JSON after all."""
    body = _json(call[ARGUMENTS])
    told: dict[str, Any] = {"unreadable": "is no JSON"}
    if body is not None:
        told = {"bytes": len(body), "sha256": sha256(body).hexdigest()}
    return [*call[:ARGUMENTS], told]


def _json(value: Any) -> bytes | None:
    try:
        return to_json(value)
    except (PydanticSerializationError, ValueError):
        return None
