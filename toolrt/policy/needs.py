"""What an approval still needs, in plain words: whose yes, how many there are, for which rule."""

from collections.abc import Iterable

from toolrt.core.calls import Caller
from toolrt.core.decisions import Ask, Group, Need
from toolrt.stores.approval_votes import Vote, needs
from toolrt.stores.approvals import Approval


def needs_of(record: Approval, votes: Iterable[Vote]) -> tuple[Need, ...]:
    """What each group has and needs; a yes to other arguments than those of now is none."""
    given = [vote for vote in votes if vote.final_hash == record.final_hash]
    return needs(record.terms, {record.principal}, given)


def is_simple(record: Approval) -> bool:
    """Whether a single yes does, so that there is none as long as the question is open."""
    return [each.count for each in record.terms.groups] in ([], [0], [1])


def whom(group: Group) -> str:
    """Whose yes counts."""
    people = [*(f"role {each}" for each in group.roles), *group.principals]
    return " or ".join(people) or "anybody who may approve"


def yeses(count: int) -> str:
    """So many."""
    return "a yes" if count == 1 else f"{count} yeses"


def owner(rule: str | None) -> str:
    """Who asks."""
    return "the tool itself" if rule is None else f"rule `{rule}`"


def owners(rules: Iterable[str | None]) -> str:
    """All who ask for one thing."""
    return " and ".join(map(owner, rules))


def told(need: Need, requester: str, me: str | None = None, *, of: tuple[Ask, ...] = ()) -> str:
    """A need in words. `me` is who reads it, where that is known; `of` are all who ask, and where
    there are several it says who of them asks for this.
    """
    said, left = len(need.said), need.left
    source = f", for {owners(need.rules)}" if len(of) > 1 and need.rules else ""
    if not said:
        return f"{yeses(need.count)} of {whom(need.group)}{_but(need, requester, me)}{source}"
    if not left:
        return f"{yeses(need.count)} of {whom(need.group)}{source}: given"
    more = "another is" if left == 1 else f"{left} more are"
    whose = f"{whom(need.group)}{_but(need, requester, me)}{source}"
    return f"{said} of {need.count} yeses; {more} needed, of {whose}"


def told_to(need: Need, requester: str, me: Caller, *, of: tuple[Ask, ...] = ()) -> str:
    """The same to somebody who may not be one of those that are asked."""
    said = told(need, requester, me.principal, of=of)
    is_open = need.is_any and not awaits(need, requester, me)
    return f"{said} (not you)" if is_open else said


def missing(record: Approval, every: Iterable[Need], me: Caller) -> str:
    """Whose yes is missing, told to `me`."""
    asks, open_ = record.terms.asks, (each for each in every if each.left)
    return "; ".join(told_to(each, record.principal, me, of=asks) for each in open_)


def awaits(need: Need, requester: str, me: Caller) -> bool:
    """Whether a yes of `me` could be one of those that are missing."""
    name = me.principal
    is_excluded = name in need.said or (need.is_strict and name == requester)
    may = "approve" in me.may and need.group.holds(name, me.roles)
    return need.left > 0 and may and not is_excluded


def _but(need: Need, requester: str, me: str | None) -> str:
    """Who is not asked any more, or never."""
    others = ["not you" if each == me else f"not {each}" for each in need.said]
    if need.is_strict:
        others.append("not you, who asked" if me == requester else "not the requester")
    return f" ({', '.join(others)})" if others else ""
