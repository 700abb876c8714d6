"""Tools as somebody sees them who only looks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.core.errors import RefusedError
from toolrt.pipeline.stages.find import unknown_tool, visible

if TYPE_CHECKING:
    from toolrt.opened import Runtime

_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Seen:
    """A tool in its form for one caller; `wait_s` is for how long a breaker refuses it."""

    entry: ToolEntry
    wait_s: float

    @property
    def is_available(self) -> bool:
        return self.entry.blocked is None and self.wait_s <= 0


def seen_tools(runtime: "Runtime", caller: Caller) -> Iterator[Seen]:
    """The tools that no rule hides from `caller`, nor a breaker for now, by name."""
    looking = Invocation("", "", {}, caller, _CLOCK, 0.0, 0.0)
    for entry in visible(runtime.snapshot, looking):
        if not runtime.breakers.is_hidden(entry):
            yield _seen(runtime, entry, looking)


async def found_tools(
    runtime: "Runtime", caller: Caller, intent: str, **options: Any
) -> list[Seen]:
    """The tools that serve an intent best; `options` are those of the search."""
    looking = Invocation("", "", {}, caller, _CLOCK, 0.0, 0.0)
    found = await runtime.search(intent, caller, **options)
    return [_seen(runtime, each.entry, looking) for each in found]


def _seen(runtime: "Runtime", entry: ToolEntry, looking: Invocation) -> Seen:
    return Seen(entry.for_caller(looking), runtime.breakers.refusal_s(entry))


def listed_tools(runtime: "Runtime", caller: Caller) -> list[Seen]:
    """Those of them that lists hold: of several versions the one that is meant."""
    listed = runtime.snapshot.listed
    return [each for each in seen_tools(runtime, caller) if each.entry.name in listed]


def seen_tool(runtime: "Runtime", name: str, caller: Caller) -> Seen | None:
    """The same, of one tool."""
    known = runtime.snapshot.tool(name)
    if known is None:
        return None
    return next(
        (each for each in seen_tools(runtime, caller) if each.entry.name == known.name), None
    )


def unknown(runtime: "Runtime", name: str, caller: Caller) -> RefusedError:
    """What is said of a name that `caller` knows no tool by."""
    looking = Invocation("", "", {}, caller, _CLOCK, 0.0, 0.0)
    return unknown_tool(runtime.snapshot, name, looking)


def tool_document(seen: Seen, caller: Caller) -> dict[str, Any]:
    """A tool as REST shows it; why it cannot be called, and where it stands, only to who may
    `admin`.
    """
    entry = seen.entry
    made: dict[str, Any] = {
        "name": entry.name,
        "title": entry.title,
        "description": entry.description,
        "kind": entry.kind,
        "effect": entry.effect,
        "idempotent": entry.is_idempotent,
        "tags": list(entry.tags),
        "version": entry.version,
        "deprecated": entry.deprecated,
        "available": seen.is_available,
        "retry_after_s": round(seen.wait_s, 3) if seen.wait_s > 0 else None,
        "input_schema": entry.input_schema,
        "output_schema": entry.output_schema,
    }
    if "admin" in caller.may:
        made |= {"reason": entry.unavailable, "file": entry.file, "line": entry.line}
    return made
