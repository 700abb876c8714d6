"""What people say to a question beside yes and no, and what refuses them.

Every check raises RefusedError.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.policy.needs import owner
from toolrt.stores.approvals import Approval


@dataclass(frozen=True, slots=True)
class Standing:
    """A yes for calls to come: for the session or for a pattern, so long, so many times.

    `free` are the arguments that may have any value; all others must be as they were approved.
    """

    scope: Literal["session", "pattern"]
    for_s: float
    uses: int = 100
    free: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Supplied:
    """The result of a call that a person makes: its value (JSON), or why there is none."""

    data: Any = None
    error: str | None = None


def check_scope(record: Approval, standing: Standing | None) -> None:
    """Raise RefusedError for a yes to calls to come that nobody can give here."""
    if standing is None:
        return
    if record.mode != "confirm":
        raise RefusedError(
            "a person is needed for each such call: no yes holds for calls to come",
            code="access-denied",
            hint="say yes to this one alone",
        )
    if standing.scope not in record.terms.scopes:
        raise RefusedError(
            f"the rules let nobody say yes for a {standing.scope} here",
            code="access-denied",
            hint=_who_says(record),
        )


def _who_says(record: Approval) -> str:
    """Where it is written for what a yes may hold: all who ask have to allow it."""
    asks = record.terms.asks
    rules = [f"of {owner(each.rule)}" for each in asks if each.rule is not None]
    own = [] if len(rules) == len(asks) else ["at the top of a policy file for the tool itself"]
    where = " and ".join([*rules, *own]) or "of the rule"
    return f"`approval.scopes` {where} says what is possible" + _all_must(len(rules) + len(own))


def _all_must(count: int) -> str:
    return "; each of them must allow it" if count > 1 else ""


def check_edits(edits: object) -> None:
    """Raise RefusedError for other arguments that have no names."""
    if edits is None or isinstance(edits, Mapping):
        return
    message = f"edits are arguments by name, not {type(edits).__name__}"
    raise RefusedError(message, code="invalid-arguments", hint='give a mapping: {"name": value}')


def check_bound(entry: ToolEntry, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Raise RefusedError where an edit changes what only the caller of the tool fills in."""
    for name, source in entry.parameters.bound.items():
        if (name in before, before.get(name)) != (name in after, after.get(name)):
            raise RefusedError(
                f"`{name}` is {source}, and no edit changes that",
                code="invalid-arguments",
                hint="leave it as it is, or deny the call",
            )


def check_run(record: Approval, by: Caller) -> None:
    """Raise RefusedError for who may not run this: one's own for who may call."""
    if by.principal != record.principal:
        check_right(by)
    elif "call" not in by.may:
        message = f"{by.principal} may make no calls here"
        hint = "`may: [call]` of an identity in toolrt.yaml lets somebody call"
        raise RefusedError(message, code="access-denied", hint=hint)


def check_supplied(record: Approval, supplied: Supplied | None) -> None:
    """Raise RefusedError where a result is missing, or nobody asked for one."""
    if (record.mode == "external") is (supplied is not None):
        return
    if supplied is None:
        message = "this call is made by a person: a yes brings its result along"
        raise RefusedError(message, code="missing-arguments", hint="give the result")
    message = "this call is made here: nobody but the tool gives its result"
    raise RefusedError(message, code="invalid-arguments", hint="leave the result away")


def check_right(by: object) -> None:
    """Raise RefusedError for who may not decide, TypeError for what is nobody."""
    if not isinstance(by, Caller):
        message = f"whoever decides is a `toolrt.Caller`, not {type(by).__name__}"
        raise TypeError(message)
    if "approve" not in by.may:
        raise RefusedError(
            f"{by.principal} may decide nothing here",
            code="access-denied",
            hint="`may: [approve]` of an identity in toolrt.yaml lets somebody decide",
        )
