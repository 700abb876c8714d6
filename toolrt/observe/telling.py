"""Tells the journal and the meters of finished calls, with one look at each where it is plain."""

from collections.abc import Mapping
from typing import Any, Final

from toolrt.core.calls import Invocation
from toolrt.core.results import ToolResult
from toolrt.observe.journal import BATCH, Journal
from toolrt.observe.journal_entries import PerTool
from toolrt.observe.journal_values import WIDTH
from toolrt.observe.meters import MOST_RECENT, Meter

_BATCH: Final = BATCH * WIDTH


class Telling:
    """Of calls that somebody made who uses tools.

    Most go well at the first try, or are answered from the cache, and have tool, caller and
    decision in common with the one before: those are five values and two numbers. It is the dearest
    part of a call that is not the call, so it is written out here; all others take the long way,
    which does the same.
    """

    __slots__ = ("_ids", "_is_waited_for", "_journal")

    def __init__(self, journal: Journal, ids: str) -> None:
        """`ids` is what comes before the number in the id of each call."""
        self._ids = ids
        self._journal = journal
        self._is_waited_for = journal.mode == "sync"

    def tell(
        self, invocation: Invocation, result: ToolResult, tool: PerTool | None, meter: Meter
    ) -> bool:
        """Remember and count a call. True means: await the journal's `relief` before the next.

        `tool` is None where there is none of that name; then no argument is shown.
        """
        journal = self._journal
        batch, is_cached, marks = journal.batch, invocation.is_cached, invocation.marks
        if (
            tool is batch.last_tool
            and tool is not None
            and result.status == "success"
            and invocation.attempts == (0 if is_cached else 1)
            and not invocation.failed
            and (marks is None or "fallback" not in marks)
            and invocation.approval is None
            and invocation.decision is batch.last_decision
            and invocation.caller is batch.last_caller
            and invocation.generation == batch.last_generation
            and batch.ids == self._ids
        ):
            time_s = result.time_s
            place, values, recent = batch.last_place, batch.values, meter.recent
            mark: Any = ~place if is_cached else place
            number = invocation.number
            if marks:
                mark = (mark, invocation.attempts, "success", None, {**marks})
            values += (mark, number, invocation.started, time_s, invocation.arguments)
            recent.append(time_s)
            meter.bytes_ += invocation.shown_bytes
            if is_cached:
                meter.hits += 1
                meter.attempts -= 1  # each of `recent` stands for one
            elif meter.is_kept:
                meter.misses += 1
            if len(recent) > MOST_RECENT:
                meter.settle()
            is_behind = len(values) >= _BATCH and journal.is_behind(batch.count)
        else:
            meter.note(invocation, result)
            count = batch.note(invocation, result, tool)
            is_behind = (count == 1 or count >= BATCH) and journal.is_behind(count)
        return is_behind or self._is_waited_for

    def tell_inner(
        self,
        invocation: Invocation,
        result: ToolResult,
        tool: PerTool,
        meter: Meter,
        marks: Mapping[str, Any],
    ) -> bool:
        """The same of a call that another one makes; `marks` are told of every one."""
        batch = self._journal.batch
        last_tool, last_caller, last_generation, last_place = batch.inner
        if (
            tool is last_tool
            and result.status == "success"
            and invocation.attempts == 1
            and invocation.caller is last_caller
            and invocation.generation == last_generation
            and invocation.marks is None
            and invocation.decision is None
            and invocation.approval is None
            and not invocation.failed
            and not invocation.is_cached
        ):
            call_id, started = invocation.call_id, invocation.started
            arguments, time_s = invocation.arguments, result.time_s
            number = invocation.number if batch.ids == self._ids else 0
            mark = (last_place, 1, "success", None, marks)
            batch.values += (mark, number or call_id, started, time_s, arguments)
            inner = meter.inner
            if inner is None:
                meter.note_inner(invocation, result)
            else:
                inner.recent.append(time_s)
                meter.bytes_ += invocation.shown_bytes
                if len(inner.recent) > MOST_RECENT:
                    inner.settle()
            count = batch.count
        else:
            invocation.mark(**marks)
            meter.add(invocation, result, "tool")
            count = batch.note_inner(invocation, result, tool)
        return (count == 1 or count >= BATCH) and self._journal.is_behind(count)
