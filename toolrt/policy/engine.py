"""Decides calls: a deny wins over an ask, an ask over an allow, and nothing means no.

Everything that does not depend on a call is settled when the policy is compiled. Where all rules
that hit a tool are without conditions, its decision is a constant.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from toolrt.core.calls import Invocation
from toolrt.core.decisions import Bounds, Caps, Decision, RuleTrace, Terms, Verdict
from toolrt.expressions.scope import call_root
from toolrt.policy.clauses import Clause
from toolrt.policy.facts import ToolFacts
from toolrt.policy.history import History
from toolrt.policy.risk import Risk
from toolrt.policy.terms import asked_by, reason_of, strictest

NO_RULE = Decision("deny", "no-rule", reason="no rule lets this call through")
BY_DEFAULT = Decision("allow")
_NO_ENDS: Mapping[str, Decision] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Posture:
    """What holds beside the rules of a tool.

    `default` is for calls that no rule decides; `own_terms` and `own_reason` are what the tool
    itself asks of people. `windows` are those that its rules ask of `history`, in seconds.
    `queues` says that questions wait even if nobody is attached (P17). `bounds` limit sessions.
    """

    default: Verdict = "allow"
    own_terms: Terms | None = None
    own_reason: str | None = None
    windows: Mapping[str, float] = field(default_factory=dict)
    caps: Caps = field(default_factory=Caps)
    queues: bool = True
    bounds: Bounds | None = None


class ToolPolicy:
    """The rules of one tool; shared by all calls of a generation.

    `fixed` is the decision where it is the same for every call, None where rules have conditions.
    """

    __slots__ = (
        "_allows",
        "_asks",
        "_audits",
        "_clauses",
        "_denies",
        "_ends",
        "_hiding",
        "_history",
        "_is_open",
        "_own",
        "_risk",
        "_windows",
        "fixed",
        "may_ask",
        "may_hide",
        "policy_hash",
        "posture",
        "tool",
        "variants",
    )

    def __init__(
        self,
        tool: ToolFacts,
        clauses: Sequence[Clause],
        posture: Posture,
        history: History,
        variants: "Sequence[ToolPolicy]" = (),
        *,
        policy_hash: str = "",
    ) -> None:
        self.tool = tool
        self.policy_hash = policy_hash
        self.variants = variants
        self.posture = posture
        self._history = history
        self._risk: Risk | None = None
        self._windows = posture.windows
        self._clauses = tuple(sorted(clauses, key=lambda each: each.id))
        enforced = [each for each in self._clauses if each.mode == "enforce"]
        self._audits = tuple(each for each in self._clauses if each.mode == "audit")
        self._denies = tuple(each for each in enforced if each.decide == "deny")
        self._asks = tuple(each for each in enforced if each.decide == "ask")
        self._allows = tuple(each for each in enforced if each.decide == "allow")
        ends = {each.id: _denial(each) for each in self._denies}
        ends |= {each.id: _leave(each) for each in self._allows}
        self._ends: Mapping[str, Decision] = ends or _NO_ENDS
        own = posture.own_terms
        self._own = () if own is None else (asked_by(own, None, posture.own_reason),)
        self.fixed = self._settled()
        self.may_ask = bool(self._asks) or posture.own_terms is not None
        self._is_open = self._lets_through_somebody()
        self._hiding = tuple(each for each in self._denies if each.is_about_callers)
        self.may_hide = bool(self._hiding) or not self._is_open
        if self._windows:
            history.keep(tool.name, max(self._windows.values()))

    @property
    def caps(self) -> Caps:
        return self.posture.caps

    @property
    def bounds(self) -> Bounds | None:
        return self.posture.bounds

    @property
    def queues(self) -> bool:
        return self.posture.queues

    @property
    def always_asks(self) -> bool:
        """Whether every call that is not denied ends in a question."""
        is_certain = any(not each.is_conditional for each in self._asks)
        return is_certain or self.posture.own_terms is not None

    @property
    def history(self) -> History:
        """The calls that rules count, shared by all tools of a project."""
        return self._history

    @property
    def span_s(self) -> float:
        """The longest window that a rule asks of the history, in seconds."""
        return max(self._windows.values(), default=0.0)

    @property
    def counts_calls(self) -> bool:
        """Whether a rule looks at the history of calls."""
        return bool(self._windows)

    def decide(self, invocation: Invocation) -> Decision:
        """The decision on a call whose arguments are final."""
        roots = _Roots(self, invocation)
        decision = self._verdict(roots)
        if not self._audits:
            return decision
        would_be = tuple(each.id for each in self._audits if each.matches(roots))
        return _with(decision, would_be=would_be)

    def counts(self, invocation: Invocation) -> dict[str, int]:
        """The `history` root: calls of this caller in each window that a rule names."""
        now = invocation.clock.monotonic()
        return self._history.counts(self.tool.name, invocation.caller, self._windows, now)

    def risk(self, invocation: Invocation) -> Mapping[str, Any]:
        """The `risk` root, worked out for the tool when the first condition reads it."""
        if self._risk is None:
            self._risk = Risk(self.tool)
        return self._risk.root(invocation.arguments)

    def note(self, invocation: Invocation) -> None:
        """Count a call that is let through; free for tools that no rule counts."""
        if self._windows:
            now = invocation.clock.monotonic()
            self._history.note(self.tool.name, invocation.caller, now)

    def under(self, policy_hash: str) -> "ToolPolicy":
        """The same for policy files that say something else of other tools."""
        if policy_hash == self.policy_hash:
            return self
        made = ToolPolicy.__new__(ToolPolicy)
        for name in ToolPolicy.__slots__:
            setattr(made, name, getattr(self, name))
        made.policy_hash = policy_hash
        made.variants = [each.under(policy_hash) for each in self.variants]
        return made

    def answered(self) -> "ToolPolicy":
        """The same for calls that somebody has said yes to: no question is put to people."""
        made = copy(self)
        made.may_ask = False
        made.variants = [each.answered() for each in self.variants]
        return made

    def explain(self, invocation: Invocation) -> Decision:
        """The same decision, with what every rule that can hit the tool has to say."""
        traces = tuple(each.trace(_Roots(self, invocation)) for each in self._clauses)
        return _with(self.decide(invocation), rules=traces)

    def is_hidden(self, invocation: Invocation) -> bool:
        """Whether the caller of `invocation` does not even see the tool (P15).

        A deny that holds whatever the arguments are hides it; so does having no rule that could
        let a call through.
        """
        roots = _Roots(self, invocation)
        if any(each.matches(roots) for each in self._hiding):
            return True
        if self._is_open:
            return False
        return not any(each.matches(roots) for each in (*self._asks, *self._allows))

    def _lets_through_somebody(self) -> bool:
        """Whether some call of any caller might get past: what is left depends on the caller."""
        if self.posture.own_terms is not None or self.posture.default != "deny":
            return True
        open_ = (*self._asks, *self._allows)
        return any(not each.is_about_callers or not each.is_conditional for each in open_)

    def _settled(self) -> Decision | None:
        """The decision, if no call can change it."""
        if self._audits:
            return None
        denied = next((each for each in self._denies if not each.is_conditional), None)
        if denied is not None and not any(each.is_conditional for each in self._denies):
            return _denial(denied)
        if any(each.is_conditional for each in (*self._denies, *self._asks)):
            return None
        if self._asks or self.posture.own_terms is not None:
            return self._asking(self._asks)
        if self.posture.default == "allow" and not self._allows:
            return BY_DEFAULT
        certain = next((each for each in self._allows if not each.is_conditional), None)
        if certain is not None and not any(each.is_conditional for each in self._allows):
            return _leave(certain)
        return None if self._allows else NO_RULE

    def _verdict(self, roots: "_Roots") -> Decision:
        if self.fixed is not None:
            return self.fixed
        for each in self._denies:
            if each.matches(roots):
                return self._ends[each.id]
        asking = [each for each in self._asks if each.matches(roots)]
        if asking or self.posture.own_terms is not None:
            return self._asking(asking)
        for each in self._allows:
            if each.matches(roots):
                return self._ends[each.id]
        return BY_DEFAULT if self.posture.default == "allow" else NO_RULE

    def _asking(self, asking: Sequence[Clause]) -> Decision:
        rules = [asked_by(each.terms or Terms(), each.id, each.reason) for each in asking]
        terms = strictest([*self._own, *rules])
        rule = asking[0].id if asking else None
        return Decision("ask", rule=rule, reason=reason_of(terms.asks), terms=terms)


class _Roots(dict[str, Any]):
    """The roots that conditions read, each made once a call."""

    __slots__ = ("_invocation", "_policy")

    def __init__(self, policy: ToolPolicy, invocation: Invocation) -> None:
        self._policy = policy
        self._invocation = invocation

    def __contains__(self, name: object) -> bool:
        return name in _MAKE

    def __missing__(self, name: str) -> Any:
        made = self[name] = _MAKE[name](self._policy, self._invocation)
        return made


_MAKE: Mapping[str, Any] = {
    "args": lambda _policy, invocation: invocation.arguments,
    "caller": lambda _policy, invocation: invocation.caller.document(),
    "call": lambda _policy, invocation: call_root(invocation),
    "tool": lambda policy, _invocation: policy.tool.root,
    "vars": lambda policy, _invocation: policy.tool.vars,
    "history": ToolPolicy.counts,
    "risk": ToolPolicy.risk,
    "now": lambda _policy, invocation: datetime.fromtimestamp(invocation.clock.wall(), UTC),
}


def _leave(clause: Clause) -> Decision:
    return Decision("allow", rule=clause.id, reason=clause.reason)


def _denial(clause: Clause) -> Decision:
    return Decision("deny", "denied", clause.id, clause.reason)


def _with(
    decision: Decision,
    rules: tuple[RuleTrace, ...] | None = None,
    would_be: tuple[str, ...] | None = None,
) -> Decision:
    return Decision(
        decision.verdict,
        decision.code,
        decision.rule,
        decision.reason,
        decision.rules if rules is None else rules,
        decision.terms,
        decision.would_be if would_be is None else would_be,
    )
