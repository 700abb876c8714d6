"""What is noted of the calls that a call makes, as it is told with the result of that one: of the
steps of a plan, and of what stands in for a tool.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolrt.core.results import ToolResult
from toolrt.schemas.coercion import WAS_SENT

_MOST_NOTES: Final = 20
_MOST_NAMES: Final = 5


def notes_of(result: ToolResult) -> tuple[str, ...]:
    """The notes of a call, which are in the context of its result."""
    return tuple(result.context.get("notes", ()))


def notes_of_steps(noted: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """The notes of steps by slot (see `StepRun`), each with the steps that it is about.

    The same of several items is told once; where there are too many, those about how arguments
    were written are left out first.
    """
    slots: dict[tuple[str, str], list[str]] = {}
    for slot, notes in noted.items():
        for note in notes:
            slots.setdefault((slot.partition("[")[0], note), []).append(slot)
    written = sorted(slots, key=lambda each: WAS_SENT in each[1])
    told = [f"{_named(slots[each])}: {each[1]}" for each in written[:_MOST_NOTES]]
    left = len(written) - _MOST_NOTES
    return (*told, f"{left} more notes of steps are left out") if left > 0 else tuple(told)


def _named(slots: Sequence[str]) -> str:
    names = ", ".join(f"`{slot}`" for slot in slots[:_MOST_NAMES])
    left = len(slots) - _MOST_NAMES
    more = f" and {left} more" if left > 0 else ""
    return f"step {names}" if len(slots) == 1 else f"steps {names}{more}"
