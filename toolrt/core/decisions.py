"""What policy says of one call: allow, ask or deny, why, and what a person must do where it asks.

Values only; `policy/engine` makes them, stages and faces read them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from toolrt.core.calls import Caller, Invocation

Verdict = Literal["allow", "ask", "deny"]
Mode = Literal["confirm", "input", "external"]
Scope = Literal["once", "session", "pattern"]

DEFAULT_TTL_S = 1800.0
"""How long a question waits for its answer where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Group:
    """People of whom `count` different ones must say yes; anybody where both tuples are empty."""

    roles: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    count: int = 1

    def holds(self, principal: str, roles: tuple[str, ...]) -> bool:
        """Whether this person belongs to the group."""
        if not self.roles and not self.principals:
            return True
        return principal in self.principals or not set(roles).isdisjoint(self.roles)

    def document(self) -> dict[str, Any]:
        """JSON-ready; `of` reads it back."""
        return {
            "roles": list(self.roles),
            "principals": list(self.principals),
            "count": self.count,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Group":
        """The group that `document()` was made of."""
        return cls(tuple(document["roles"]), tuple(document["principals"]), document["count"])


@dataclass(frozen=True, slots=True)
class Ask:
    """What one rule wants of people; the tool itself where `rule` is None.

    `ttl_s` is None where it writes no time.
    """

    rule: str | None
    reason: str | None = None
    groups: tuple[Group, ...] = (Group(),)
    exclude_requester: bool = False
    ttl_s: float | None = None

    def document(self) -> dict[str, Any]:
        """JSON-ready; `of` reads it back."""
        return {
            "rule": self.rule,
            "reason": self.reason,
            "groups": [each.document() for each in self.groups],
            "exclude_requester": self.exclude_requester,
            "ttl_s": self.ttl_s,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Ask":
        """The part that `document()` was made of."""
        groups = tuple(Group.of(each) for each in document["groups"])
        told = (document["rule"], document["reason"])
        return cls(*told, groups, document["exclude_requester"], document["ttl_s"])


@dataclass(frozen=True, slots=True)
class Need:
    """One group of an approval: who asks for it, and whose yes counts so far.

    `rules` has None for the tool itself. `is_strict`: whoever asked does not count.
    """

    group: Group
    rules: tuple[str | None, ...] = ()
    said: tuple[str, ...] = ()
    is_strict: bool = False

    @property
    def count(self) -> int:
        """How many must say yes."""
        return max(self.group.count, 1)

    @property
    def is_any(self) -> bool:
        """Whether a yes of anybody will do."""
        return self.count == 1 and self.group.holds("", ()) and not self.is_strict

    @property
    def left(self) -> int:
        """How many more must say yes."""
        return max(self.count - len(self.said), 0)

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            **self.group.document(),
            "count": self.count,
            "have": len(self.said),
            "exclude_requester": self.is_strict,
            "rules": list(self.rules),
        }


@dataclass(frozen=True, slots=True)
class Terms:
    """What an approval needs. Each rule that asks adds a group, and all must be satisfied.

    Times in seconds; `execute_by_s` counts from the last yes. `fields` are the parameters that a
    person fills in mode `input`. `asks` say who wants which part; terms are the same whoever does.
    """

    groups: tuple[Group, ...] = (Group(),)
    exclude_requester: bool = False
    ttl_s: float = DEFAULT_TTL_S
    execute_by_s: float = DEFAULT_TTL_S
    scopes: tuple[Scope, ...] = ("once",)
    mode: Mode = "confirm"
    fields: tuple[str, ...] = ()
    note: str | None = None
    asks: tuple[Ask, ...] = field(default=(), compare=False)

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that ask."""
        return tuple(each.rule for each in self.asks if each.rule is not None)

    def document(self) -> dict[str, Any]:
        """JSON-ready; `of` reads it back."""
        return {
            "groups": [each.document() for each in self.groups],
            "exclude_requester": self.exclude_requester,
            "ttl_s": self.ttl_s,
            "execute_by_s": self.execute_by_s,
            "scopes": list(self.scopes),
            "mode": self.mode,
            "fields": list(self.fields),
            "note": self.note,
            "asks": [each.document() for each in self.asks],
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Terms":
        """The terms that `document()` was made of."""
        return cls(
            tuple(Group.of(each) for each in document["groups"]),
            document["exclude_requester"],
            document["ttl_s"],
            document["execute_by_s"],
            tuple(document["scopes"]),
            document["mode"],
            tuple(document["fields"]),
            document["note"],
            tuple(Ask.of(each) for each in document.get("asks", ())),
        )


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """One rule's part in a decision; `because` is for operators, never for a model (P20)."""

    id: str
    decide: Verdict
    mode: Literal["enforce", "audit"]
    matched: bool
    because: str

    def document(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "decide": self.decide,
            "mode": self.mode,
            "matched": self.matched,
            "because": self.because,
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one call.

    `rule` is the id that decided (the first one by id where several say the same), `reason` its
    reason, or those of all that ask; `code` is the error of a denial. `terms` are there when a
    person is asked. `would_be` are the ids of audit rules that matched.
    """

    verdict: Verdict
    code: Literal["denied", "no-rule"] | None = None
    rule: str | None = None
    reason: str | None = None
    rules: tuple[RuleTrace, ...] = field(default=(), repr=False)
    terms: Terms | None = None
    would_be: tuple[str, ...] = ()

    def document(self, generation: int = 0, policy_hash: str = "") -> dict[str, Any]:
        """The wire shape."""
        return {
            "decision": self.verdict,
            "rule": self.rule,
            "reason": self.reason,
            "rules": [each.document() for each in self.rules],
            "generation": generation,
            "policy_hash": policy_hash,
        }


class CallHistory(Protocol):
    """Counts calls by tool and caller; times are seconds of the monotonic clock."""

    def is_known(self, tool: str, caller: "Caller") -> bool: ...

    def seed(self, tool: str, caller: "Caller", times: Iterable[float]) -> None: ...


class Decider(Protocol):
    """What decides the calls of one tool.

    `fixed` is the decision where it is the same for every call. `may_ask` says whether any call
    can end in a question, `always_asks` whether all do that are let through, `may_hide` whether any
    caller may not see the tool. `queues` says that a question waits even if nobody is attached.
    `variants` decide the calls of the tool's other forms. `counts_calls` says that a rule looks at
    the `history` of calls, as far back as `span_s` seconds. `bounds` are there where calls of the
    tool are counted by session.
    """

    @property
    def fixed(self) -> Decision | None: ...

    @property
    def may_ask(self) -> bool: ...

    @property
    def always_asks(self) -> bool: ...

    @property
    def may_hide(self) -> bool: ...

    @property
    def queues(self) -> bool: ...

    @property
    def variants(self) -> "Sequence[Decider]": ...

    @property
    def counts_calls(self) -> bool: ...

    @property
    def history(self) -> "CallHistory": ...

    @property
    def span_s(self) -> float: ...

    @property
    def policy_hash(self) -> str: ...

    @property
    def caps(self) -> "Caps": ...

    @property
    def bounds(self) -> "Bounds | None": ...

    def decide(self, invocation: "Invocation") -> Decision: ...

    def explain(self, invocation: "Invocation") -> Decision: ...

    def is_hidden(self, invocation: "Invocation") -> bool: ...

    def note(self, invocation: "Invocation") -> None: ...


@dataclass(frozen=True, slots=True)
class Caps:
    """How many questions one session may have open, and ask within a minute (A16)."""

    pending: int = 50
    asks: int = 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """How often one session may call a tool; None does not matter.

    `max_calls` counts its calls of all tools, `own_calls` those of this one. After `same_error`
    failures in a row with one code, and after `same_call` calls in a row with the same arguments,
    more of the same are refused.
    """

    max_calls: int | None = None
    own_calls: int | None = None
    same_error: int | None = None
    same_call: int | None = None


class Rules(Protocol):
    """The policy of one generation. `hash` changes with what the policy files say."""

    @property
    def tools(self) -> Mapping[str, Decider]: ...

    @property
    def hash(self) -> str: ...

    @property
    def is_written(self) -> bool: ...

    @property
    def caps(self) -> Caps: ...

    @property
    def bounds(self) -> Bounds | None: ...


Course = Literal["retry", "fallback", "return-error", "terminate", "escalate"]


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is to be done about a call that failed, and why.

    `retry`: the same call may be made again. `fallback`: something stood in for it. `return-error`:
    who called can do better with what the error says. `terminate`: going on makes no sense.
    `escalate`: only a person can help.
    """

    course: Course
    reason: str

    def document(self) -> dict[str, str]:
        """The wire shape."""
        return {"course": self.course, "reason": self.reason}
