"""What callers are told of calls without a value: refused, failed, or waiting for people.

Whatever failed, and wherever: no secret, no credential and nothing that acts on a reader unseen
gets out, and no more than fits.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic_core import to_json

from toolrt.catalog.redactions import Redactions
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.hiding import Mask
from toolrt.core.redaction import Redactor, without_credentials
from toolrt.core.results import Failure, Pause, ToolResult
from toolrt.core.unseen import harmless
from toolrt.pipeline.cutting import cut_text, preview
from toolrt.pipeline.recovering import decide
from toolrt.schemas.plain import MAX_DIGITS, without_surrogates
from toolrt.schemas.values import to_plain

_REFUSAL_BYTES = 50_000
_NO_WORD = "it failed without a word"
IT_RAN = "the tool itself ran; do not call it again for the same effect"
"""The hint of a failure after what changes something has been done."""
NO_CONTEXT: Mapping[str, Any] = MappingProxyType({})


def refused_result(
    invocation: Invocation, name: str, refusal: CallError, redactor: Redactor
) -> ToolResult:
    """The result of a call that its tool has not seen; `name` is whatever the caller asked for."""
    failure = told(Failure.of(refusal), redactor)
    return failed_result(invocation, harmless(redactor.text(without_surrogates(name))), failure)


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
        context={"recovery": decide(failure).document(), **(invocation.marks or {})},
    )


def bug(error: Exception) -> Failure:
    """What is told of a call that a bug of toolrt ended."""
    return Failure(
        "internal",
        "toolrt failed inside",
        "this is a bug of toolrt; its log has the details",
        details={"type": type(error).__name__},
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
        context=NO_CONTEXT if invocation.marks is None else invocation.marks,
        pause=pause,
    )


def told(
    failure: Failure,
    redactor: Redactor,
    max_bytes: int = _REFUSAL_BYTES,
    redactions: Redactions | None = None,
    mask: Mask | None = None,
) -> Failure:
    """What a caller may know of a failure: no secret, no credential, nothing that acts unseen, and
    no more than a result.

    `mask` takes out what else nobody may know, before anything is cut (O2).
    """

    def short(text: str) -> str:
        whole = without_surrogates(text)
        whole = redactor.excerpt(mask(whole) if mask else whole)
        whole = redactions.text(whole) if redactions else whole
        return cut_text(without_credentials(harmless(whole)), max_bytes)

    details = _plain(failure.details)
    details = mask(details) if mask else details
    details = redactions.value(details) if redactions else details
    return Failure(
        failure.code,
        short(failure.message) or _NO_WORD,
        short(failure.hint) if failure.hint else None,
        failure.retryable,
        _bounded(redactor.value(details, short), max_bytes),
    )


def _plain(details: Mapping[str, Any]) -> dict[str, Any]:
    """`details` as JSON can carry them; a tool's author may put anything there."""
    try:
        plain: dict[str, Any] = to_plain(dict(details))
        refuse_long_numbers(plain)
    except CallError as error:
        return {"details": error.message}
    return plain


def _bounded(details: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    written = to_json(details)
    size = len(written)
    return details if size <= max_bytes else preview(written, size, max_bytes)


def refuse_long_numbers(data: Any) -> None:
    """Most readers of JSON take no more digits; a text may hold as many as it likes."""
    if isinstance(data, int) and not -(10**MAX_DIGITS) < data < 10**MAX_DIGITS:
        message = f"the answer holds a number of more than {MAX_DIGITS} digits"
        raise BindingError(message, code="bad-response")
    members = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    for member in members:
        refuse_long_numbers(member)
