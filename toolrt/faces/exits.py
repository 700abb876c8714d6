"""How the command line ends: one enum, its published table, and the way to end early.

Statuses of failed calls come from `core.errors.CODES`; this is where they get their names.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolrt.core.errors import CODES

if TYPE_CHECKING:
    from toolrt.core.results import ToolResult


class Exit(IntEnum):
    """Exit statuses. Scripts may rely on them; they do not change."""

    OK = 0
    TOOL_FAILED = 1
    USAGE = 2
    MANIFESTS_INVALID = 3
    DENIED = 4
    TIMED_OUT = 5
    PAUSED = 6
    NOT_FOUND = 7
    LIMITED = 8
    TAMPERED = 9
    DIFFERENT = 10
    BUG = 70
    INTERRUPTED = 130


MEANING: Mapping[Exit, str] = MappingProxyType(
    {
        Exit.OK: "ok",
        Exit.TOOL_FAILED: "the tool or a test failed",
        Exit.USAGE: "wrong usage, or arguments that the tool does not take",
        Exit.MANIFESTS_INVALID: "the manifests have errors",
        Exit.DENIED: "a rule or a person said no",
        Exit.TIMED_OUT: "no answer in time",
        Exit.PAUSED: "the call waits for a person",
        Exit.NOT_FOUND: "no such tool or approval, or no project",
        Exit.LIMITED: "a breaker is open or a limit is used up",
        Exit.TAMPERED: "a record was tampered with",
        Exit.DIFFERENT: "a comparison found changes",
        Exit.BUG: "a fault of toolrt itself; a report was written",
        Exit.INTERRUPTED: "interrupted",
    }
)
"""What each status means, as the documentation prints it."""


class Stop(Exception):  # noqa: N818 - it ends a verb; most of the time nothing is broken
    """Ends a verb early: the status, what is wrong, and the next command to try.

    `code` names the failure for programs. With broken manifests `report` shows a person what is
    wrong with them, and `diagnostics` has the same for programs.
    """

    def __init__(
        self,
        status: Exit,
        message: str,
        *,
        code: str,
        hint: str | None = None,
        next_: str,
        report: str = "",
        diagnostics: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.hint = hint
        self.next = next_
        self.report = report
        self.diagnostics = diagnostics


def of_code(code: str) -> Exit:
    """The status of a failed call; codes that a tool's author made up are the tool's failures."""
    return Exit(CODES.get(code, Exit.TOOL_FAILED))


WORST_FIRST = (
    Exit.BUG,
    Exit.INTERRUPTED,
    Exit.DENIED,
    Exit.LIMITED,
    Exit.TIMED_OUT,
    Exit.NOT_FOUND,
    Exit.USAGE,
    Exit.TOOL_FAILED,
    Exit.PAUSED,
    Exit.OK,
)
"""Of several calls the worst gives the status."""


def of_results(results: "Sequence[ToolResult]") -> Exit:
    """The status of a batch; calls that were not made have their reason in another one."""
    made = [of_result(each) for each in results if not each.context.get("not_made")]
    return min(made, key=WORST_FIRST.index, default=Exit.OK)


def of_result(result: "ToolResult") -> Exit:
    """The status of a call."""
    if result.status == "paused":
        return Exit.PAUSED
    return of_code(result.error.code) if result.error else Exit.OK
