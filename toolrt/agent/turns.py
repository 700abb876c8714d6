"""One turn of a conversation: the tools that a model is shown, and the calls of its answer."""

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from toolrt.agent.conversation import Conversation, Slot
from toolrt.catalog.do_tool import NAME as DO
from toolrt.catalog.instructions import instructions, written
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.core.results import ToolResult
from toolrt.dialects.base import Dialect, Export, ToolCall
from toolrt.dialects.names import WireNames
from toolrt.pipeline.approvals import Approvals
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.responses import Responses, batch_of
from toolrt.stores.approvals import State

CallMany = Callable[..., Awaitable[list[ToolResult]]]


@dataclass(frozen=True, slots=True)
class Shown:
    """The tools that a model is shown in a turn, and what is said about using them."""

    export: Export
    instructions: str


class Turns:
    """Makes the turns of all conversations of one runtime."""

    def __init__(
        self,
        gateway: Gateway,
        responses: Responses,
        call_many: CallMany,
        approvals: Approvals,
    ) -> None:
        self.gateway = gateway
        self._approvals = approvals
        self._responses = responses
        self._call_many = call_many

    async def tools(
        self,
        conversation: Conversation,
        caller: Caller,
        among: Container[str] | None,
        of_all: str | None = None,
    ) -> Shown:
        """The tools of these names, or all that models are told of, as the caller can call them;
        `of_all` is said first. A model is never shown the tool that asks itself.
        """
        shown = await self._responses.shown(caller, among)
        tools = [each for each in shown if each.name != DO]
        names = self.names(conversation, caller)
        said = instructions(((names.wire(each.name), each) for each in tools), of_all)
        return Shown(self._responses.exported(conversation.dialect, tools), written(said))

    def names(self, conversation: Conversation, caller: Caller) -> WireNames:
        """What the tools of this caller are called by the model."""
        return self._responses.names(conversation.dialect, caller)

    def wanted(self, conversation: Conversation, caller: Caller, response: Any) -> None:
        """Note the calls of an answer, which then have begun. Raises ParseError."""
        _, calls, _ = self._parsed(conversation, caller, response)
        conversation.answer = response
        conversation.slots = [Slot(call.tool) for call in calls]

    async def made(
        self,
        conversation: Conversation,
        caller: Caller,
        on_call: Callable[[ToolResult], object] | None = None,
    ) -> list[ToolResult]:
        """Make the calls that are not done, and note what they come to. Each is one of the tool
        that was meant when the model answered, whatever has its name by now.

        Those of a conversation that another process has left are made again only where they wait
        for people, which makes them once, or change nothing. One that runs right now, since
        somebody else has run what was approved, waits on.
        """
        vendor, calls, names = self._parsed(conversation, caller, conversation.answer)
        open_ = [
            (slot, call._replace(tool=slot.tool))
            for slot, call in zip(conversation.slots, calls, strict=True)
            if slot.standing != "done"
        ]
        states = {id(slot): await self._state(slot) for slot, _ in open_}
        open_ = [(slot, call) for slot, call in open_ if states[id(slot)] != "claimed"]
        results = await self._results(open_, states, caller)
        for (slot, call), result in zip(open_, results, strict=True):
            slot.take(result, vendor.format_results([call], [result], names))
            if on_call is not None:
                on_call(result)
        return results

    async def _results(
        self, open_: Sequence[tuple[Slot, ToolCall]], states: Mapping[int, State], caller: Caller
    ) -> list[ToolResult]:
        over = {
            id(slot): self.gateway.refuse(call.tool, _OVER[state](call.tool), caller)
            for slot, call in open_
            if (state := states[id(slot)]) in _OVER
        }
        made = await self._call_many(
            batch_of([call for slot, call in open_ if id(slot) not in over]), caller
        )
        fresh = iter(made)
        return [over.get(id(slot)) or next(fresh) for slot, _ in open_]

    async def _state(self, slot: Slot) -> State:
        """How a call stands by now, as approvals do: `unknown` where it may have taken effect,
        `approved` where it is to be made.
        """
        if slot.standing == "waiting" and slot.approval is not None:
            with suppress(RefusedError):  # it is forgotten: people are asked anew
                return (await self._approvals.current(slot.approval)).state
            return "approved"
        entry = self.gateway.entry(slot.tool)
        may_be_made = entry is None or entry.may_repeat or entry.known_effect == "read"
        return "approved" if slot.is_ours or may_be_made else "unknown"

    def _parsed(
        self, conversation: Conversation, caller: Caller, response: Any
    ) -> tuple[Dialect, list[ToolCall], WireNames]:
        return self._responses.parse(response, dialect=conversation.dialect, caller=caller)


def _lost(tool: str) -> RefusedError:
    return RefusedError(
        f"the process ended while `{tool}` ran: nobody knows what came of it",
        code="unknown-outcome",
        hint="find out by a tool that reads, before it is called again",
    )


def _done(tool: str) -> RefusedError:
    message = f"`{tool}` has run already, as it was approved, and went well"
    hint = "what it gave is not known here: do not call it again, find out by a tool that reads"
    return RefusedError(message, code="conflict", hint=hint)


def _failed(tool: str) -> RefusedError:
    message = f"`{tool}` has run already, as it was approved, and failed"
    return RefusedError(message, code="conflict", hint="look first what is to be done about it")


_OVER: Final[Mapping[State, Callable[[str], RefusedError]]] = {
    "unknown": _lost,
    "succeeded": _done,
    "failed": _failed,
}
"""What is told of calls that are not made again, by how they stand."""
