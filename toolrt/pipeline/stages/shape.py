"""shape: whatever came back becomes the result that a caller sees, within its bounds.

It always runs, for failures too, and is the outermost ring.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pydantic_core import SchemaSerializer, to_json

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.hiding import Mask
from toolrt.core.redaction import Redactor, without_credentials
from toolrt.core.results import Answer, Failure, Outcome, Pause, ToolResult
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.pipeline.asking import sensitive_of
from toolrt.pipeline.people import masked_pause
from toolrt.pipeline.sensitive import Sensitive
from toolrt.pipeline.stage import Equipment
from toolrt.schemas.plain import MAX_DIGITS, without_surrogates
from toolrt.schemas.values import to_plain

_PREVIEW_BYTES = 2000
_REFUSAL_BYTES = 50_000
_NO_WORD = "it failed without a word"
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * (MAX_DIGITS + 1)
_NEW = tuple.__new__
"""A named tuple made positionally, without the detour through its constructor: twice as fast."""
_WRITE = SchemaSerializer({"type": "any"}).to_json
"""As `to_json` for what is plain, 0.15 us sooner, for it has read its options already."""
NO_CONTEXT: Mapping[str, Any] = MappingProxyType({})


class Shape:
    """Makes results of one tool."""

    __slots__ = (
        "entry",
        "is_selective",
        "max_size",
        "monotonic",
        "name",
        "redactor",
        "references",
        "sensitive",
        "shaping",
    )

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.name = entry.name
        self.monotonic = equipment.clock.monotonic
        self.shaping = entry.shaping
        self.max_size = entry.shaping.max_size
        self.references = equipment.references
        self.redactor: Redactor = equipment.references.redactor
        self.is_selective = entry.shaping.select is not None or entry.shaping.text is not None
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

    def failure(self, invocation: Invocation, failure: Failure) -> ToolResult:
        rules = self.entry.path_rules
        if rules is not None and failure.code == "execution-failed" and not failure.hint:
            failure = replace(failure, hint=rules.hint(invocation.arguments))
        return failed_result(invocation, self.entry.name, self.told(invocation, failure))

    def told(self, invocation: Invocation, failure: Failure) -> Failure:
        """What a caller, and the record of an approval, may know of a failure of the tool."""
        mask = self.sensitive.mask(invocation.arguments) if self.sensitive else None
        return told(failure, self.redactor, self.max_size, mask)

    def _success(self, invocation: Invocation, answer: Answer) -> ToolResult:
        data = answer.value
        if self.is_selective:
            data, text = self._selected(invocation, data)
        elif type(data) is str:
            text = data
        else:
            text = "" if data is not None else f"{self.entry.name} completed with no output."
        if self.redactor.is_armed:
            mask = self.redactor.excerpt if answer.truncated_bytes else self.redactor.text
            shown = mask(text)
            text, data = shown, shown if data is text else self.redactor.value(data, mask)
        try:
            written = _WRITE(data)
        except ValueError as error:  # broken text, and what pydantic cannot write, are such
            raise _no_json(error) from error
        size = len(written)
        if size > MAX_DIGITS and _LONG_NUMBER in written.translate(_DIGITS):
            _refuse_long_numbers(data)
        is_cut = answer.truncated_bytes > 0
        if size > self.max_size:
            data, is_cut = _preview(data, size, self.max_size), True
        if len(text) * 4 > self.max_size:
            whole, text = text, cut_text(text, self.max_size)
            is_cut = is_cut or text is not whole
        monotonic = self.monotonic
        return _NEW(
            ToolResult,
            (
                invocation.call_id,
                self.name,
                "partial" if is_cut else "success",
                text,
                data,
                None,
                monotonic() - invocation.started,
                invocation.attempts,
                invocation.generation,
                False,
                "both",
                {"notes": self.redactor.value(invocation.notes)}
                if invocation.notes
                else NO_CONTEXT,
                None,
            ),
        )

    def _selected(self, invocation: Invocation, data: Any) -> tuple[Any, str]:
        """What `result.select` leaves of the value, and the text that `result.text` makes of it."""
        if self.shaping.select is not None:
            data = to_plain(self.shaping.select.search(data))  # sums may end in infinity
        if self.shaping.text is None:
            return data, self._text_of(data)
        scope = Scope.of(invocation, self.entry.vars, self.references, data)
        made = self.shaping.text.text(scope)
        return data, "" if made is ABSENT else str(made)

    def _text_of(self, data: Any) -> str:
        """The text beside what was selected; nothing that was found is said in words."""
        if data is None and self.shaping.select is not None:
            return f"{self.entry.name}: the answer has no `{self.shaping.select.text}`."
        return data if isinstance(data, str) else ""


def refused_result(
    invocation: Invocation, name: str, refusal: CallError, redactor: Redactor
) -> ToolResult:
    """The result of a call that its tool has not seen; `name` is whatever the caller asked for."""
    failure = told(Failure.of(refusal), redactor)
    return failed_result(invocation, redactor.text(without_surrogates(name)), failure)


def failed_result(invocation: Invocation, tool: str, failure: Failure) -> ToolResult:
    """The result of a call that has no value."""
    return ToolResult(
        invocation.call_id,
        tool,
        "error",
        failure.message,
        None,
        failure,
        invocation.clock.monotonic() - invocation.started,
        invocation.attempts,
        invocation.generation,
    )


def paused_result(invocation: Invocation, tool: str, pause: Pause) -> ToolResult:
    """The result of a call that waits for people."""
    return ToolResult(
        invocation.call_id,
        tool,
        "paused",
        pause.message,
        time_s=invocation.clock.monotonic() - invocation.started,
        attempts=invocation.attempts,
        generation=invocation.generation,
        pause=pause,
    )


def cut_text(text: str, max_bytes: int) -> str:
    """The head of `text` within `max_bytes` of UTF-8, with a note of what was left out."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    head = raw[:max_bytes].decode("utf-8", "ignore")
    left = len(raw) - max_bytes
    return f"{head}\n… {left} more bytes were cut off"


def _refuse_long_numbers(data: Any) -> None:
    """Most readers of JSON take no more digits; a text may hold as many as it likes."""
    if isinstance(data, int) and not -(10**MAX_DIGITS) < data < 10**MAX_DIGITS:
        message = f"the answer holds a number of more than {MAX_DIGITS} digits"
        raise BindingError(message, code="bad-response")
    members = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    for member in members:
        _refuse_long_numbers(member)


def _no_json(error: ValueError) -> BindingError:
    is_text = isinstance(error, UnicodeError) or "surrogates" in str(error)
    message = "the answer holds broken text" if is_text else "the answer is no JSON value"
    return BindingError(message, code="bad-response")


def _preview(data: Any, size: int, max_bytes: int) -> dict[str, Any]:
    head = to_json(data)[: min(_PREVIEW_BYTES, max_bytes)].decode("utf-8", "ignore")
    return {"spilled": None, "bytes": size, "preview": head}


def told(
    failure: Failure, redactor: Redactor, max_bytes: int = _REFUSAL_BYTES, mask: Mask | None = None
) -> Failure:
    """What a caller may know of a failure: no secret, no credential, and no more than a result.

    `mask` takes out what else nobody may know, before anything is cut (O2).
    """

    def short(text: str) -> str:
        whole = without_surrogates(text)
        whole = mask(whole) if mask else whole
        return cut_text(without_credentials(redactor.excerpt(whole)), max_bytes)

    details = _plain(failure.details)
    return Failure(
        failure.code,
        short(failure.message) or _NO_WORD,
        short(failure.hint) if failure.hint else None,
        failure.retryable,
        _bounded(redactor.value(mask(details) if mask else details, short), max_bytes),
    )


def _plain(details: Mapping[str, Any]) -> dict[str, Any]:
    """`details` as JSON can carry them; a tool's author may put anything there."""
    try:
        plain: dict[str, Any] = to_plain(dict(details))
        _refuse_long_numbers(plain)
    except CallError as error:
        return {"details": error.message}
    return plain


def _bounded(details: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    size = len(to_json(details))
    return details if size <= max_bytes else _preview(details, size, max_bytes)
