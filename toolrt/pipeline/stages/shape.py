"""shape: whatever came back becomes the result that a caller sees, within its bounds.

It always runs, for failures too, and is the outermost ring.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic_core import to_json

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.redaction import Redactor
from toolrt.core.results import Answer, Failure, Outcome, ToolResult
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.pipeline.stage import Equipment

_PREVIEW_BYTES = 2000
NO_CONTEXT: Mapping[str, Any] = MappingProxyType({})


class Shape:
    """Makes results of one tool."""

    __slots__ = ("entry", "max_size", "redactor", "references", "shaping")

    def __init__(self, entry: ToolEntry, equipment: Equipment) -> None:
        self.entry = entry
        self.shaping = entry.shaping
        self.max_size = entry.shaping.max_size
        self.references = equipment.references
        self.redactor: Redactor = equipment.references.redactor

    def result(self, invocation: Invocation, outcome: Outcome) -> ToolResult:
        """The result of a call; what goes wrong in here is a failure of the tool, too."""
        if isinstance(outcome, Failure):
            return self.failure(invocation, outcome)
        try:
            return self._success(invocation, outcome)
        except CallError as error:
            return self.failure(invocation, Failure.of(error))

    def failure(self, invocation: Invocation, failure: Failure) -> ToolResult:
        if self.redactor.is_armed:
            failure = _redacted(failure, self.redactor)
        return ToolResult(
            invocation.call_id,
            self.entry.name,
            "error",
            failure.message,
            None,
            failure,
            invocation.clock.monotonic() - invocation.started,
            invocation.attempts,
            invocation.generation,
        )

    def _success(self, invocation: Invocation, answer: Answer) -> ToolResult:
        data = answer.value
        if self.shaping.select is not None:
            data = self.shaping.select.search(data)
        text = self._text(invocation, data)
        if self.redactor.is_armed:
            text, data = self.redactor.text(text), self.redactor.value(data)
        size = _json_size(data)
        is_cut = answer.truncated_bytes > 0
        if size > self.max_size:
            data, is_cut = _preview(data, size, self.max_size), True
        if len(text) * 4 > self.max_size:
            whole = text
            text = cut_text(text, self.max_size)
            is_cut = is_cut or text is not whole
        return ToolResult(
            invocation.call_id,
            self.entry.name,
            "partial" if is_cut else "success",
            text,
            data,
            None,
            invocation.clock.monotonic() - invocation.started,
            invocation.attempts,
            invocation.generation,
            context={"notes": list(invocation.notes)} if invocation.notes else NO_CONTEXT,
        )

    def _text(self, invocation: Invocation, data: Any) -> str:
        if self.shaping.text is not None:
            scope = Scope.of(invocation, self.entry.vars, self.references, data)
            made = self.shaping.text.text(scope)
            return "" if made is ABSENT else str(made)
        if type(data) is str:
            return data
        return f"{self.entry.name} completed with no output." if data is None else ""


def cut_text(text: str, max_bytes: int) -> str:
    """The head of `text` within `max_bytes` of UTF-8, with a note of what was left out."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    head = raw[:max_bytes].decode("utf-8", "ignore")
    left = len(raw) - max_bytes
    return f"{head}\n… {left} more bytes were cut off"


def _json_size(data: Any) -> int:
    """Bytes of `data` as JSON. Raises BindingError for what is no JSON."""
    try:
        return len(to_json(data))
    except UnicodeEncodeError as error:
        raise BindingError("the answer holds broken text", code="bad-response") from error
    except (ValueError, TypeError) as error:
        raise BindingError("the answer is no JSON value", code="bad-response") from error


def _preview(data: Any, size: int, max_bytes: int) -> dict[str, Any]:
    head = to_json(data)[: min(_PREVIEW_BYTES, max_bytes)].decode("utf-8", "ignore")
    return {"spilled": None, "bytes": size, "preview": head}


def _redacted(failure: Failure, redactor: Redactor) -> Failure:
    return Failure(
        failure.code,
        redactor.text(failure.message),
        redactor.text(failure.hint) if failure.hint else None,
        failure.retryable,
        redactor.value(dict(failure.details)),
    )
