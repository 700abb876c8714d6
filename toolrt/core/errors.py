"""The one tree of errors, and the codes that a caller can meet.

ToolrtError                      anything toolrt raises on purpose
├── ProjectError                 the project cannot be used (operator)
└── CallError                    a call cannot succeed; becomes a `Failure` in its result
    ├── ToolError                what a tool's author means to say to the model
    ├── RefusedError             refused before anything ran (arguments, unknown, unavailable)
    └── BindingError             an attempt failed: who is at fault and whether it was sent
        └── AttemptTimeoutError  no answer in time

A stable `code` names the kind of failure in YAML, JSON and docs; `CODES` is the whole table.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

Sent = Literal["never", "maybe", "answered"]

CODES: Mapping[str, int] = MappingProxyType(
    {
        "access-denied": 1,
        "already-decided": 1,
        "approval-denied": 4,
        "approval-expired": 4,
        "approval-mismatch": 4,
        "approval-unavailable": 4,
        "bad-response": 1,
        "blocked-target": 1,
        "budget-exhausted": 8,
        "cancelled": 130,
        "circuit-open": 8,
        "conflict": 1,
        "denied": 4,
        "execution-failed": 1,
        "internal": 70,
        "invalid-arguments": 2,
        "missing-arguments": 2,
        "missing-credential": 1,
        "no-rule": 4,
        "not-found": 1,
        "output-flood": 1,
        "rate-limited": 8,
        "recently-denied": 4,
        "signaled": 1,
        "timeout": 5,
        "unavailable": 1,
        "unknown-outcome": 1,
        "unknown-tool": 7,
        "unsupported": 1,
    }
)
"""Every code of a failed call, with the exit status that the command line gives it."""

_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_CODE = 64


def is_code(text: object) -> bool:
    """Whether `text` can be the code of a failure."""
    return type(text) is str and len(text) <= _LONGEST_CODE and bool(_CODE.fullmatch(text))


class ToolrtError(Exception):
    """Root of all errors that toolrt raises on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ProjectError(ToolrtError):
    """The project cannot be opened or used; for the operator.

    `report` holds the rendered diagnostics when manifests are at fault.
    """

    def __init__(self, message: str, *, hint: str | None = None, report: str = "") -> None:
        super().__init__(message, hint=hint)
        self.report = report


class CallError(ToolrtError):
    """A call cannot succeed; the gateway turns it into the result's `error`."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "execution-failed",
        hint: str | None = None,
        retryable: bool = False,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.retryable = retryable
        self.details = dict(details or {})


class ToolError(CallError):
    """A failure that a tool's author means: raise it from a Python callable.

    `code` is any kebab-case word (anything else becomes `execution-failed`), `retryable` says that
    the same call may succeed later, `hint` tells the model what to do instead. The text reaches
    the model as it is.
    """

    def __init__(
        self,
        message: object,
        *,
        code: str = "execution-failed",
        hint: object = None,
        retryable: bool = False,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            str(message),
            code=code if is_code(code) else "execution-failed",
            hint=None if hint is None else str(hint),
            retryable=retryable,
            details=details,
        )


class RefusedError(CallError):
    """Refused before anything ran: nothing happened in the world."""


class BindingError(CallError):
    """An attempt failed on its way to the world or back.

    `sent` says how far it went: `never` (nothing left this machine, so any method may be tried
    again), `maybe` (bytes left, no answer: the effect is unknown) or `answered`. `status` is the
    HTTP status when there is one, `retry_after_s` what the target asked for, `target_fault`
    whether the target, not the arguments, is to blame, and `body` the parsed answer that
    `result.error` may find a message in. `is_midway`: code of the tool broke off while it ran, and
    said nothing of what it had done by then.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "execution-failed",
        hint: str | None = None,
        retryable: bool = False,
        details: Mapping[str, Any] | None = None,
        sent: Sent = "answered",
        status: int | None = None,
        retry_after_s: float | None = None,
        target_fault: bool = False,
        body: object = None,
        is_midway: bool = False,
    ) -> None:
        super().__init__(message, code=code, hint=hint, retryable=retryable, details=details)
        self.sent = sent
        self.status = status
        self.retry_after_s = retry_after_s
        self.target_fault = target_fault
        self.body = body
        self.is_midway = is_midway


class AttemptTimeoutError(BindingError):
    """No answer in time; `sent` tells a connect timeout (`never`) from one after sending."""

    def __init__(self, message: str, *, sent: Sent = "maybe", hint: str | None = None) -> None:
        super().__init__(
            message, code="timeout", hint=hint, retryable=True, sent=sent, target_fault=True
        )
