"""A tool that operators' settings change for some callers: its other forms, chosen call by call.

Each combination of settings with `when` is compiled like a tool of its own when the files are
loaded. Tools without such settings have no variants, and their calls know nothing of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import compress
from typing import TYPE_CHECKING, Any

from toolrt.core.calls import Invocation
from toolrt.core.faults import child
from toolrt.expressions.conditions import Condition, ConditionError
from toolrt.loading.layers import Conditional, Layer
from toolrt.loading.loader import WrittenTool

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import ToolEntry

Pattern = tuple[bool, ...]
"""Which of a tool's settings with `when` apply, in their order."""


@dataclass(frozen=True, slots=True)
class Variants:
    """The other forms of one tool, by the settings that make them; where none applies there is
    none.
    """

    settings: tuple[Conditional, ...]
    entries: Mapping[Pattern, "ToolEntry"]

    @property
    def written(self) -> list[tuple[Layer, Condition]]:
        """The settings, lowest first, and for whom each is."""
        return [(each.layer, each.condition) for each in self.settings]

    def chosen(self, invocation: Invocation, vars_: Mapping[str, Any]) -> "ToolEntry | None":
        """The form for this caller, now; None for the tool as it is for everybody."""
        roots = {
            "caller": invocation.caller.document(),
            "vars": vars_,
            "now": datetime.fromtimestamp(invocation.clock.wall(), UTC),
        }
        return self.entries.get(tuple(_applies(each, roots) for each in self.settings))

    def changed(self, changed: "Iterable[ToolEntry]") -> "Variants":
        """The same choice among other forms, which are in order."""
        return replace(self, entries=dict(zip(self.entries, changed, strict=True)))


def patterns(count: int) -> Iterator[Pattern]:
    """Every way in which some of `count` settings can apply."""
    for number in range(1, 2**count):
        yield tuple(bool(number >> bit & 1) for bit in range(count))


def varied(
    written: WrittenTool, entry: "ToolEntry", compile_: "Callable[[WrittenTool], ToolEntry | None]"
) -> "ToolEntry | None":
    """The compiled tool with its variants; None where one has errors, which are reported."""
    settings = tuple(written.conditional)
    entries: dict[Pattern, ToolEntry] = {}
    for pattern in patterns(len(settings)):
        layered = written.layered.under(list(compress(settings, pattern)))
        made = compile_(replace(written, layered=layered, conditional=[]))
        if made is None:
            return None
        entries[pattern] = made
    return replace(entry, variants=Variants(settings, entries))


def _applies(setting: Conditional, roots: Mapping[str, Any]) -> bool:
    """Whether it holds. Where nobody can say, it does if it has people asked: the safer way."""
    try:
        return setting.condition.holds(roots)
    except ConditionError:
        return child(setting.layer.data.get("hitl"), "mode") in {"confirm", "input", "external"}
