"""Whether more can call a tool than could, by its `expose`: part of the guard of reloads (L6).

A tool that is there for other tools alone needs no rule that lets it through, and no model sees it.
Each of the two is a wall: a change takes one of them away.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.policy.engine import ToolPolicy
from toolrt.policy.loss import listed
from toolrt.reloading.renames import Pair

_OPENED: Final = "{} could be called by itself, and not by other tools alone (`expose`)"
_FREED: Final = "{} could be called by other tools without a rule that lets it through (`expose`)"


def more_exposed(tools: Iterable[Pair]) -> Iterator[str]:
    """Tools that were there for others alone and are no more, and those that no longer need a rule
    to let them through.
    """
    told: dict[str, set[str]] = {_OPENED: set(), _FREED: set()}
    for was, now in tools:
        if was.manifest.expose is now.manifest.expose:
            continue
        if now.manifest.expose and not _is_refused(now):
            told[_OPENED].add(now.name)
        elif not now.manifest.expose and _needs_rule(was) and not _is_refused(now):
            told[_FREED].add(now.name)
    yield from (sentence.format(listed(names)) for sentence, names in told.items() if names)


def _is_refused(tool: ToolEntry) -> bool:
    """Whether no call of it is ever let through."""
    decider = tool.decider
    fixed = decider.fixed if decider is not None else None
    return fixed is not None and fixed.verdict == "deny"


def _needs_rule(tool: ToolEntry) -> bool:
    """Whether there are calls of it that only a rule lets through, and none does so always."""
    decider = tool.decider
    if not isinstance(decider, ToolPolicy) or decider.posture.default != "deny":
        return False
    return decider.fixed is None or decider.fixed.verdict == "deny"
