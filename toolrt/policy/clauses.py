"""One compiled rule: which tools it can hit, and whether it holds for a call.

An error while a condition is evaluated counts against the call: a deny or ask rule has matched, an
allow rule has not (P7).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolrt.core.decisions import RuleTrace, Terms, Verdict
from toolrt.expressions.conditions import Condition, ConditionError

Roots = Mapping[str, Any]
"""The roots of conditions, for the call in question; made when they are read."""

OF_A_CALL = frozenset({"args", "call", "history", "risk"})
"""Roots that only a call has; what looks at none of them says who may see a tool."""


@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """A rule, compiled. `terms` are what an `ask` rule wants of an approval; `conditions` are both
    that it may have.
    """

    id: str
    decide: Verdict
    tools: tuple[str, ...]
    when: Condition | None = None
    unless: Condition | None = None
    reason: str | None = None
    mode: Literal["enforce", "audit"] = "enforce"
    terms: Terms | None = None
    conditions: tuple[Condition, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        conditions = tuple(each for each in (self.when, self.unless) if each is not None)
        object.__setattr__(self, "conditions", conditions)

    @property
    def is_conditional(self) -> bool:
        return bool(self.conditions)

    @property
    def is_about_callers(self) -> bool:
        """Whether it holds or not whatever the arguments are."""
        return all(OF_A_CALL.isdisjoint(each.roots) for each in self.conditions)

    def matches(self, roots: Roots) -> bool:
        """Whether it holds for the call."""
        try:
            if self.when is not None and not self.when.holds(roots):
                return False
            return self.unless is None or not self.unless.holds(roots)
        except ConditionError:
            return self.decide != "allow"

    def trace(self, roots: Roots) -> RuleTrace:
        """Whether it holds, and because of what."""
        matched, because = self._because(roots)
        return RuleTrace(self.id, self.decide, self.mode, matched, because)

    def _because(self, roots: Roots) -> tuple[bool, str]:
        name = "when"
        try:
            if self.when is not None and not self.when.holds(roots):
                return False, f"`when` is false: {self.when.text}"
            name = "unless"
            if self.unless is not None and self.unless.holds(roots):
                return False, f"`unless` is true: {self.unless.text}"
        except ConditionError as error:
            matched = self.decide != "allow"
            so = "so it counts as matched" if matched else "so it does not count"
            return matched, f"`{name}` cannot be evaluated ({error.message}), {so}"
        return True, _words(self.when, self.unless)


def _words(when: Condition | None, unless: Condition | None) -> str:
    held = [f"`when` is true: {when.text}"] if when else []
    held += [f"`unless` is false: {unless.text}"] if unless else []
    return ", ".join(held) or "it has no condition"
