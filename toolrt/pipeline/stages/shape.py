"""shape: whatever came back becomes the result that a caller sees, within its bounds.

It always runs, for failures too, and is the outermost ring. Secrets and what `result.redact` names
go first, then what would act on a reader unseen, and only then what is too long.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_core import SchemaSerializer

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.binaries import Base64, Binary, description
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.redaction import Redactor
from toolrt.core.results import (
    Answer,
    Failure,
    Outcome,
    Pause,
    ReadyAnswer,
    Shown,
    Status,
    ToolResult,
    nothing_of,
)
from toolrt.core.unseen import harmless, harmless_value, is_harmless_json, removed_from
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.pipeline.asking import sensitive_of
from toolrt.pipeline.cutting import cut_text, measures, preview
from toolrt.pipeline.failing import (
    IT_RAN,
    NO_CONTEXT,
    failed_result,
    paused_result,
    refuse_long_numbers,
    told,
)
from toolrt.pipeline.people import masked_pause
from toolrt.pipeline.sensitive import Sensitive
from toolrt.pipeline.spilling import Oversize, oversize_of, without_handle
from toolrt.pipeline.stage import Equipment
from toolrt.schemas.plain import MAX_DIGITS
from toolrt.schemas.values import to_plain

_FOR_USER = "the answer was shown to the user; it is not for you"
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * (MAX_DIGITS + 1)
_BACKSLASH, _DEL = b"\\\x7f"
"""Where JSON in ASCII has neither, nothing in it acts unseen."""
_NEW = tuple.__new__
"""A named tuple made positionally, without the detour through its constructor: twice as fast."""
_WRITE = SchemaSerializer({"type": "any"}).to_json
"""As `to_json` for what is plain, 0.15 us sooner, for it has read its options already."""


class Shape:
    """Makes results of one tool."""

    __slots__ = (
        "entry",
        "is_final",
        "is_special",
        "max_size",
        "monotonic",
        "name",
        "nothing",
        "redactor",
        "references",
        "sensitive",
        "shaping",
        "spills",
        "to",
    )

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.name = entry.name
        self.monotonic = equipment.clock.monotonic
        self.shaping = shaping = entry.shaping
        self.max_size = shaping.max_size
        self.is_final, self.to = shaping.is_final, shaping.to
        self.references = equipment.references
        self.redactor: Redactor = equipment.references.redactor
        self.spills = equipment.memory.spills
        self.nothing = nothing_of(entry.name)
        manifest = entry.manifest
        special = (shaping.select, shaping.text, shaping.empty, shaping.redactions)
        ready = (manifest.verify, manifest.fallback, manifest.poll)
        self.is_special = any(each is not None for each in (*special, *ready))
        self.sensitive = Sensitive(entry.parameters.schema) if sensitive_of(entry) else None

    def result(self, invocation: Invocation, outcome: Outcome) -> ToolResult:
        """The result of a call; what goes wrong in here is a failure of the tool, too."""
        try:
            if isinstance(outcome, Answer):
                return self._success(invocation, outcome)
        except CallError as error:
            return self.failure(invocation, Failure.of(error))
        if isinstance(outcome, Pause):
            return paused_result(invocation, self.name, masked_pause(outcome, self.redactor))
        return self.failure(invocation, outcome)

    async def kept(self, invocation: Invocation, result: ToolResult) -> ToolResult:
        """The result of a call with more than fits into it, once that is kept, which takes time;
        where it cannot be, the result says so and names no handle.
        """
        oversize: Oversize = invocation.oversize
        invocation.oversize = None
        kept = self.spills.keep(invocation.call_id, self.name, invocation.caller, oversize)
        result = result if await kept else without_handle(result, oversize.handle)
        return result._replace(time_s=self.monotonic() - invocation.started)

    def failure(self, invocation: Invocation, failure: Failure) -> ToolResult:
        rules = self.entry.path_rules
        if rules is not None and failure.code == "execution-failed" and not failure.hint:
            failure = replace(failure, hint=rules.hint(invocation.arguments))
        if failure.code == "bad-response" and not failure.hint and self.entry.effect != "read":
            failure = replace(failure, hint=IT_RAN)
        result = failed_result(invocation, self.entry.name, self.told(invocation, failure))
        if not invocation.notes:
            return result
        notes = self._harmless(invocation.notes)
        return result._replace(context={**result.context, "notes": notes})

    def told(self, invocation: Invocation, failure: Failure) -> Failure:
        """What a caller, and the record of an approval, may know of a failure of the tool."""
        mask = self.sensitive.mask(invocation.arguments) if self.sensitive else None
        return told(failure, self.redactor, self.max_size, self.shaping.redactions, mask)

    def _success(self, invocation: Invocation, answer: Answer) -> ToolResult:
        data = answer.value
        if self.is_special:
            data, text = self._selected(invocation, answer)
        elif type(data) is str:
            text = data or self.nothing
        else:
            text = "" if type(data) is dict else self._beside(data)
        if self.redactor.is_armed:
            mask = self.redactor.excerpt if answer.truncated_bytes else self.redactor.text
            shown = mask(text)
            text, data = shown, shown if data is text else self.redactor.value(data, mask)
        known = answer.known_bytes if data is answer.value else 0
        try:
            written = b"" if known else _WRITE(data)
        except ValueError as error:  # broken text, and what pydantic cannot write, are such
            raise _no_json(error) from error
        status: Status = "success"
        context, raw_data, raw_text = NO_CONTEXT, data, text
        if written and (_BACKSLASH in written or _DEL in written or not written.isascii()):
            data, text, written, context = _cleaned(data, text, written)
            text = text or (raw_text and self.nothing)
        elif text and text is not data:
            text = harmless(text)
        size, max_size = known or len(written), self.max_size
        invocation.shown_bytes = size
        if size > MAX_DIGITS and _LONG_NUMBER in written.translate(_DIGITS):
            refuse_long_numbers(data)
        if size > max_size or (text and len(text) * 4 > max_size) or answer.truncated_bytes:
            made = _Made(data, text, written or _written(data), context)
            raw = raw_data, raw_text
            invocation.shown_bytes = min(size, max_size)
            status, data, text, context = self._cut(invocation, answer, made, raw)
        if invocation.notes or invocation.marks:
            context = {**context, **self._told(invocation)}
        monotonic = self.monotonic
        return _NEW(
            ToolResult,
            (
                invocation.call_id,
                self.name,
                status,
                text,
                data,
                None,
                monotonic() - invocation.started,
                invocation.attempts,
                invocation.generation,
                self.is_final,
                self.to,
                context,
                None,
                invocation.is_cached,
                None,
            ),
        )

    def _selected(self, invocation: Invocation, answer: Answer) -> tuple[Any, str]:
        """What `result` leaves of the value, and its text: redacted, selected, put in words."""
        shaping, redactions, data = self.shaping, self.shaping.redactions, answer.value
        beside = self._beside(data) if shaping.select is None else ""
        if redactions is not None:
            data = redactions.value(data)
        if isinstance(answer, ReadyAnswer):
            return data, redactions.text(answer.text) if redactions else answer.text
        if shaping.select is not None:
            data = to_plain(shaping.select.search(data))  # sums may end in infinity
            data = redactions.value(data) if redactions else data
        if shaping.empty is not None and _is_empty(data):
            return data, shaping.empty
        if shaping.text is None:
            return data, beside or self._text_of(data)
        scope = Scope.of(invocation, self.entry.vars, self.references, data)
        made = shaping.text.text(scope)
        text = "" if made is ABSENT else str(made)
        return data, redactions.text(text) if redactions else text

    def _text_of(self, data: Any) -> str:
        """The text of a text, and of nothing; nothing that was selected is said in words."""
        if data is None and self.shaping.select is not None:
            return f"{self.name}: the answer has no `{self.shaping.select.text}`."
        return data if isinstance(data, str) else ""

    def _beside(self, data: Any) -> str:
        """The text beside data that are no text: bytes are described, and so is nothing."""
        if isinstance(data, Base64 | Binary):
            return description(data)
        return self.nothing if data is None or data == "" else ""

    def _told(self, invocation: Invocation) -> dict[str, Any]:
        """What the context tells of what happened on the way."""
        made = dict(invocation.marks or ())
        if invocation.notes:
            made["notes"] = self._harmless(invocation.notes)
        return made

    def _harmless(self, value: Any) -> Any:
        return harmless_value(self.redactor.value(value))[0]

    def _cut(
        self, invocation: Invocation, answer: Answer, made: "_Made", raw: tuple[Any, str]
    ) -> tuple[Status, Any, str, Mapping[str, Any]]:
        """What is too long cut, and the whole of it made ready to be kept; `raw` is what was there
        before it was made harmless.
        """
        data, text, written, context = made
        keep, oversize = self.shaping.keep, None
        shown = cut_text(text, self.max_size, keep)
        told = {**context, "cut": measures(text, shown)} if shown is not text else dict(context)
        if len(written) > self.max_size:
            oversize = oversize_of(answer.value, raw[0])
            said = data.encode("utf-8", "replace") if isinstance(data, str) else written
            data = preview(said, len(oversize.body), self.max_size, keep)
            if isinstance(answer.value, Base64 | Binary):
                data["preview"] = description(answer.value)
            told["spilled"] = data["spilled"] = oversize.handle
        elif shown is not text:
            oversize = oversize_of(raw[1], raw[1])
            told["spilled"] = oversize.handle
        invocation.oversize = oversize
        is_whole = oversize is None and not answer.truncated_bytes
        return ("success" if is_whole else "partial"), data, shown, told


class _ForUser(Shape):
    """Makes results that the user sees and the model only hears of."""

    __slots__ = ()

    def _success(self, invocation: Invocation, answer: Answer) -> ToolResult:
        whole = super()._success(invocation, answer)
        shown = Shown(whole.text, whole.data)
        invocation.shown_bytes = 0
        return whole._replace(text=f"{self.name}: {_FOR_USER}", data=None, for_user=shown)


def shape_of(entry: ToolEntry, equipment: Equipment) -> Shape:
    """What makes the results of a tool."""
    return (_ForUser if entry.shaping.to == "user" else Shape)(entry, equipment)


class _Made(NamedTuple):
    """A value on its way: its JSON is `written`."""

    data: Any
    text: str
    written: bytes
    context: Mapping[str, Any]


def _written(data: Any) -> bytes:
    try:
        return _WRITE(data)
    except ValueError as error:  # broken text, and what pydantic cannot write, are such
        raise _no_json(error) from error


def _cleaned(data: Any, text: str, written: bytes) -> _Made:
    """All of it without characters that act on a reader unseen; it is told how many have gone."""
    shown = text if data is text else harmless(text)
    removed = 0 if shown is text else removed_from(text)
    if not is_harmless_json(written):
        clean, gone = harmless_value(data)
        shown = clean if data is text else shown
        data, removed, written = clean, removed + gone, _written(clean)
    return _Made(data, shown, written, {"removed_characters": removed} if removed else NO_CONTEXT)


def _is_empty(data: Any) -> bool:
    return (
        data is None or data in ([], {}) or (isinstance(data, str) and not harmless(data).strip())
    )


def _no_json(error: ValueError) -> BindingError:
    is_text = isinstance(error, UnicodeError) or "surrogates" in str(error)
    message = "the answer holds broken text" if is_text else "the answer is no JSON value"
    return BindingError(message, code="bad-response")
