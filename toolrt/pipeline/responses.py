"""A vendor's answer in, the messages that go back out: every call of it, through the one door.

Calls are a batch like any other: reads together, everything else in order, all of it bounded.
"""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json, to_json

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.results import SCHEMA, ToolResult
from toolrt.dialects.base import (
    Dialect,
    Export,
    Strict,
    ToolCall,
    dialect_named,
    document_of,
    export,
    recognised,
)
from toolrt.dialects.content import shown
from toolrt.dialects.names import WireNames
from toolrt.pipeline.explaining import explain
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.stages.find import is_visible, visible

Progress = Callable[[float, float | None, str], None]
CallMany = Callable[..., Awaitable[list[ToolResult]]]
PageOf = Callable[[str], str | None]
"""The id of an approval -> the address of its page, if there is one."""

Listed = Callable[[Caller | None], Awaitable[list[ToolEntry]]]

_LONGEST_ID = 200
_MOST_KEPT = 16


@dataclass(frozen=True, slots=True)
class Turn:
    """What became of a vendor's answer: its calls, a result for each, the messages to send back.

    `is_final`: a tool has ended the run, so the model is not asked again.
    """

    dialect: str
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    messages: list[dict[str, Any]]

    @property
    def is_final(self) -> bool:
        return any(each.final and each.error is None for each in self.results)

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "schema": SCHEMA,
            "dialect": self.dialect,
            "final": self.is_final,
            "messages": self.messages,
            "results": [shown(each) for each in self.results],
        }


class Responses:
    """Makes the calls of vendors' answers, and exports the tools that these may name."""

    def __init__(self, gateway: Gateway, clock: Clock, call_many: CallMany, listed: Listed) -> None:
        self._gateway = gateway
        self._clock = clock
        self._call_many = call_many
        self._listed = listed
        self._kept: dict[tuple[Any, ...], tuple[Export, bytes]] = {}

    async def export(
        self,
        dialect: str,
        caller: Caller | None = None,
        *,
        strict: Strict = "auto",
        among: Container[str] | None = None,
    ) -> Export:
        """The tools for a request of a vendor, as this caller can call them now: none that rules or
        breakers hide, and none that lacks a secret or a program. `among` are the names of those
        that are wanted; those that models are told of where none are given.

        Raises:
            RefusedError: there is no such dialect; or `strict` is `always` and a tool cannot be.
        """
        return self.exported(dialect, await self.shown(caller, among), strict)

    async def shown(
        self, caller: Caller | None = None, among: Container[str] | None = None
    ) -> list[ToolEntry]:
        """The tools of an export, as this caller has them; else as `export`."""
        looking, snapshot = self._looking(caller), self._gateway.snapshot
        among = snapshot.told if among is None else among
        return [
            entry.for_caller(looking)
            for entry in await self._listed(caller)
            if entry.blocked is None
            and is_visible(entry, looking)
            and (among is None or entry.name in among)
            and (entry.hosted is None or await self.lets(entry, caller))
        ]

    async def lets(self, entry: ToolEntry, caller: Caller | None) -> bool:
        """Whether the rules let a tool run that nobody can ask about once its vendor has it."""
        looked = await explain(self._gateway, entry.name, {}, caller or Caller())
        return looked.decision.verdict == "allow"

    def exported(self, dialect: str, tools: Sequence[ToolEntry], strict: Strict = "auto") -> Export:
        """The export of tools, which is made once: 1,000 of them take a tenth of a second. Whoever
        gets the documents may change them. Raises RefusedError, as `export`.
        """
        wanted = (dialect, strict, *tools)  # compared by identity, and alive as long as it is kept
        kept = self._kept.get(wanted)
        if kept is not None:
            made, written = kept
            return replace(made, documents=from_json(written))
        made = export(tools, dialect, strict)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[wanted] = made, to_json(made.documents)
        return made

    def parse(
        self, response: object, *, dialect: str | None = None, caller: Caller | None = None
    ) -> tuple[Dialect, list[ToolCall], WireNames]:
        """The dialect of an answer, its calls, and the names that the tools of its caller have."""
        named = dialect_named(dialect) if dialect else None
        document = response if named and named.IS_TEXT else document_of(response)
        vendor = named or recognised(document)
        names = self.names(vendor.NAME, caller)
        return vendor, vendor.parse_calls(document, names), names

    def names(self, dialect: str, caller: Caller | None = None) -> WireNames:
        """What the tools that a caller may see are called in a dialect. Raises RefusedError."""
        seen = visible(self._gateway.snapshot, self._looking(caller))
        return WireNames((each.name for each in seen), dialect_named(dialect).LONGEST_NAME)

    async def turn(
        self,
        response: object,
        *,
        dialect: str | None = None,
        caller: Caller | None = None,
        serial: bool = False,
        stop_on_error: bool = False,
        on_progress: Progress | None = None,
        page_of: PageOf | None = None,
    ) -> Turn:
        """Make every call of a model's answer, which is an SDK's object, plain data or JSON text.

        `dialect` need not be named where the answer shows it. `page_of` gives the address at which
        people answer an approval. The rest is as for `call_many`.

        Raises:
            RefusedError: there is no such dialect, or the answer is none of it (a `ParseError`);
                nothing ran.
        """
        vendor, calls, names = self.parse(response, dialect=dialect, caller=caller)
        results = await self._call_many(
            batch_of(calls),
            caller,
            serial=serial,
            stop_on_error=stop_on_error,
            on_progress=on_progress,
        )
        if page_of is not None:
            results = [_with_page(each, page_of) for each in results]
        messages = vendor.format_results(calls, results, names)
        return Turn(vendor.NAME, tuple(calls), tuple(results), messages)

    def _looking(self, caller: Caller | None) -> Invocation:
        """A call that is never made, by somebody who only looks."""
        return Invocation("", "", {}, caller or Caller(), self._clock, 0.0, 0.0)


def _with_page(result: ToolResult, page_of: PageOf) -> ToolResult:
    """A result whose pause says where people answer."""
    pause = result.pause
    if pause is None or pause.url is not None:
        return result
    return result._replace(pause=replace(pause, url=page_of(pause.approval_id)))


def batch_of(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """The calls as a batch; the vendor's ids stay where they tell the calls apart."""
    ids = [each.id for each in calls]
    are_good = len(set(ids)) == len(ids) and all(
        each.isprintable() and len(each) <= _LONGEST_ID for each in ids
    )
    return [
        {"tool": each.tool, "arguments": each.arguments, **({"id": each.id} if are_good else {})}
        for each in calls
    ]
