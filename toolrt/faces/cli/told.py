"""What a call came to, told on the screen: its value, its failure, or whom it waits for.

Used by every verb that makes a call. The document says all of it in its own way; this is for text.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from toolrt.core.decisions import Ask
from toolrt.core.results import Failure, Pause, ToolResult, nothing_of
from toolrt.faces.cli.bugs import show_trace
from toolrt.faces.cli.durations import ahead, o_clock
from toolrt.faces.cli.endings import explained, reported
from toolrt.faces.exits import Exit, of_result
from toolrt.faces.output import Screen, one_line, visible
from toolrt.stores.base import StoreError

if TYPE_CHECKING:
    from toolrt.core.calls import Caller
    from toolrt.faces.cli.options import Settings

_NEXT = {
    "internal": "doctor",
    "missing-credential": "doctor",
    "unavailable": "doctor",
    "approval-unavailable": "doctor",
    "approval-denied": "approvals list --state denied",
    "circuit-open": "breakers list",
    "unknown-tool": "list",
}
"""Code of a failure -> the verb that helps; for every other code it is `show`."""

_MOST_EVIDENCE = 20
_FOR_MODELS = "tell the operator"
"""In a hint that has nothing to say to the operator."""
SHORT_ID = 8
"""How much of an approval's id is shown where people read it; any unique beginning will do."""


def tell(
    settings: "Settings",
    result: ToolResult,
    cause: BaseException | None = None,
    next_: str | None = None,
    me: "Caller | None" = None,
) -> Exit:
    """Shows a result. `cause` is what ended the call inside toolrt: a bug, or a store that fails.
    `next_` is the verb that helps after a failure, where it is another one than for every call.
    `me` is who is at the terminal.
    """
    screen = settings.screen
    screen.show(result.document(), lambda: _text(result))
    if result.error:
        explain(settings, result.tool, result.error, result.attempts, next_)
    for note in result.context.get("notes", ()):
        screen.say(f"note: {one_line(note)}")
    if result.pause and screen.format == "text":
        screen.complain("\n".join(pause_lines(settings, result.pause, me)))
    if cause:
        tell_cause(screen, cause)
    if result.status == "partial":
        screen.say(f"partial: there was more; {where_more_is(settings, result)}")
    return of_result(result)


def explain(
    settings: "Settings",
    tool: str,
    failure: Failure,
    attempts: int = 0,
    next_: str | None = None,
) -> None:
    """What failed and what to do, on stderr; not where a document says it."""
    screen = settings.screen
    if screen.format != "text":
        return
    many = f" ({attempts} attempts)" if attempts > 1 else ""
    said = explained(
        screen,
        failure.code,
        f"{_message(failure)}{many}",
        more=[*_faults(failure), *_evidence(failure)],
        hint=_hint(failure),
        next_=settings.command(next_ or _NEXT.get(failure.code, f"show {tool}")),
    )
    screen.complain(said)


def pause_lines(settings: "Settings", pause: Pause, me: "Caller | None" = None) -> list[str]:
    """What a call waits for, until when, and how somebody decides; `me` if it may be so."""
    short = pause.approval_id[:SHORT_ID]
    label = settings.screen.paint("paused:", on_stderr=True, fg="yellow", bold=True)
    return [
        f"{label} {one_line(pause.message)}",
        *(f"needs: {one_line(each)}" for each in needs_lines(pause, me)),
        f"expires: {ahead(pause.expires_at - time.time())}, {o_clock(pause.expires_at)}",
        f"look: {settings.command(f'approvals show {short}')}",
        _next(settings, pause, me),
    ]


def needs_lines(pause: Pause, me: "Caller | None") -> Iterator[str]:
    """Whose yes is missing; nothing where any one will do, that of `me` too, as nearly always."""
    from toolrt.policy.needs import told, told_to  # noqa: PLC0415 - only calls that wait need it

    several = len(pause.asks) > 1
    if not several and [each.is_any for each in pause.needs] == [True] and _is_asked(pause, me):
        return
    for each in pause.needs:
        if each.left and me is None:
            yield told(each, pause.requester, of=pause.asks)
        elif each.left and me is not None:
            yield told_to(each, pause.requester, me, of=pause.asks)
    if several:
        yield from conditions(pause.asks)


def conditions(asks: Sequence[Ask]) -> Iterator[str]:
    """What several rules want beside yeses, each with the rules that say so."""
    from toolrt.faces.cli.durations import seconds  # noqa: PLC0415 - as above

    strict = [each for each in asks if each.exclude_requester]
    strict = strict or [each for each in asks if any(one.count > 1 for one in each.groups)]
    if strict:
        yield f"no yes of whoever asked, {_of(strict)}"
    shortest = min((each.ttl_s for each in asks if each.ttl_s is not None), default=None)
    if shortest is not None:
        timed = [each for each in asks if each.ttl_s == shortest]
        yield f"an answer within {seconds(shortest)}, {_of(timed)}"


def _of(asks: Iterable[Ask]) -> str:
    from toolrt.policy.needs import owners  # noqa: PLC0415 - as above

    return f"for {owners(each.rule for each in asks)}"


def _is_asked(pause: Pause, me: "Caller | None") -> bool:
    """Whether a yes of `me` may be one of those that are missing."""
    from toolrt.policy.needs import awaits  # noqa: PLC0415 - only calls that wait need it

    return me is None or any(awaits(each, pause.requester, me) for each in pause.needs)


def _next(settings: "Settings", pause: Pause, me: "Caller | None") -> str:
    """How `me` says yes; where that is done, or not theirs to say, what comes after."""
    short = pause.approval_id[:SHORT_ID]
    if not _is_asked(pause, me):
        return f"then: {settings.command(f'approvals run {short}')}, once it is approved"
    asked = [f"--edit {name}=…" for name in pause.fields]
    asked += ["--result JSON"] if pause.mode == "external" else []
    return f"try: {settings.command(' '.join([f'approvals approve {short}', *asked]))}"


def tell_cause(screen: Screen, cause: BaseException) -> None:
    """What ended a call inside toolrt: a bug, of which a report is written, or the store."""
    if isinstance(cause, StoreError):
        screen.complain(f"the store cannot be used: {one_line(cause.message)}")
        return
    if screen.is_verbose:
        show_trace(cause)
    screen.complain(f"this is a bug of toolrt; {reported(cause, sys.argv[1:])}")


def _text(result: ToolResult) -> str:
    """What a successful call shows: its text, else its data as JSON."""
    if result.error or result.pause:
        return ""
    shown = result.for_user or result
    if shown.data == "" and shown.text == nothing_of(result.tool):
        return ""  # it is the data that are shown here, and there are none
    if shown.text or shown.data is None or shown.data == "":
        return visible(shown.text.removesuffix("\n"))
    return visible(json.dumps(shown.data, ensure_ascii=False, indent=2))


def where_more_is(settings: "Settings", result: ToolResult) -> str:
    """How the rest of a result that was cut is seen."""
    if result.context.get("spilled"):
        return f"all of it: {settings.command(f'history output {result.call_id}')}"
    return "`result.max_size` says how much is shown"


def _message(failure: Failure) -> str:
    """The message; only what it comes to when each fault has a line of its own."""
    many = len(_faults(failure))
    if not many:
        return failure.message
    if failure.code == "missing-arguments":
        return f"{many} arguments are missing"
    return f"{many} things are wrong with the arguments"


def _faults(failure: Failure) -> list[str]:
    """A line for each fault of refused arguments, when there are several."""
    faults = failure.details.get("faults", ())
    return [f"  {one_line(fault['message'])}" for fault in faults] if len(faults) > 1 else []


def _evidence(failure: Failure) -> list[str]:
    """What the tool said about it, where the message does not hold all of it."""
    keys = ("stdout", "stderr", "excerpt")
    texts = [str(failure.details.get(key) or "").strip() for key in keys]
    lines = [line for text in texts if text not in failure.message for line in text.splitlines()]
    return [f"  {visible(line)}" for line in lines[-_MOST_EVIDENCE:]]


def _hint(failure: Failure) -> str | None:
    """The hint in the command line's own words, where the model's do not fit."""
    if failure.code == "unavailable" and _FOR_MODELS in (failure.hint or ""):
        return None
    if failure.code == "missing-arguments" and "faults" in failure.details:
        pointers = [fault["pointer"] for fault in failure.details["faults"]]
        return "add " + " ".join(f"{pointer.strip('/')}=…" for pointer in pointers)
    return failure.hint
