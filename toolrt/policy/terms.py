"""What an approval needs, made of what rules, files and tools say about it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

from toolrt.core.decisions import DEFAULT_TTL_S, Ask, Group, Terms
from toolrt.manifest.policy import Approval
from toolrt.manifest.result import Hitl
from toolrt.policy.facts import ToolFacts
from toolrt.policy.needs import owner

OPEN = Approval()
"""Where nobody says anything: one yes of anybody who may approve."""


def laid_over(rule: Approval | None, file: Approval | None) -> Approval:
    """A rule's `approval` over its file's: what the rule writes holds."""
    if rule is None or file is None:
        return rule or file or OPEN
    return file.model_copy(update={key: getattr(rule, key) for key in rule.model_fields_set})


def terms_of(approval: Approval) -> Terms:
    """The terms of one rule. Times that it does not write are infinite, until `strictest`."""
    ttl_s = approval.ttl or inf
    approvers = approval.approvers
    group = Group(tuple(approvers.roles), tuple(approvers.principals), approval.count)
    return Terms(
        (group,),
        approval.exclude_requester,
        ttl_s,
        approval.execute_by or inf,
        tuple(approval.scopes),
    )


def own_terms(tool: ToolFacts, files: Iterable[Approval]) -> tuple[Terms | None, str | None]:
    """What the tool itself asks of people, and why; None when nothing.

    `files` are the `approval` keys of the policy files: they hold for these questions too.
    """
    hitl, reason = tool.hitl, None
    if hitl is None:
        reason = _why_asked(tool)
        hitl = Hitl(mode="confirm") if reason else None
    if hitl is None or hitl.mode == "none":
        return None, None
    merged = _together([terms_of(each) for each in files] or [terms_of(OPEN)])
    made = replace(
        merged,
        mode=hitl.mode,
        fields=tuple(hitl.fields),
        note=hitl.note,
        ttl_s=min(hitl.ttl or inf, merged.ttl_s),
    )
    return made, reason or hitl.note


def asked_by(terms: Terms, rule: str | None, reason: str | None) -> Terms:
    """The terms of one rule, or of the tool itself (None), which say that they are its."""
    ttl_s = None if terms.ttl_s == inf else terms.ttl_s
    ask = Ask(rule, reason, terms.groups, terms.exclude_requester, ttl_s)
    return replace(terms, asks=(ask,))


def reason_of(asks: Sequence[Ask]) -> str | None:
    """Why people are asked; with whose reason it is, where there are several."""
    return asks[0].reason if len(asks) == 1 else reasons_of(asks) or None


def reasons_of(asks: Iterable[Ask]) -> str:
    """Every reason, and whose it is."""
    return "; ".join(map(_reason, asks))


def also(new: Terms, before: Terms) -> Terms:
    """What an edited call needs: all that it asks for now, and nothing less than before."""
    known = {each.rule for each in new.asks}
    kept = tuple(each for each in before.asks if each.rule not in known)
    return strictest([new, replace(before, asks=kept)])


def added(after: Terms, before: Terms) -> tuple[Ask, ...]:
    """Who asks for something that nobody asked for before, whatever their reasons."""
    known = {replace(each, reason=None) for each in before.asks}
    return tuple(each for each in after.asks if replace(each, reason=None) not in known)


def strictest(every: list[Terms]) -> Terms:
    """Every group must be satisfied; the shortest times that somebody writes and the fewest scopes
    hold. A yes is to be used as long as it could have been waited for.

    Mode, fields and note are those of the first, which is the tool's own where it has terms.
    """
    made = _together(every)
    ttl_s = DEFAULT_TTL_S if made.ttl_s == inf else made.ttl_s
    execute_by_s = ttl_s if made.execute_by_s == inf else made.execute_by_s
    return replace(made, ttl_s=ttl_s, execute_by_s=execute_by_s)


def _together(every: list[Terms]) -> Terms:
    first = every[0]
    if len(every) == 1:
        return first
    asks = dict.fromkeys(ask for each in every for ask in each.asks)
    scopes = set(first.scopes).intersection(*(each.scopes for each in every))
    return replace(
        first,
        groups=tuple(dict.fromkeys(group for each in every for group in each.groups)),
        exclude_requester=any(each.exclude_requester for each in every),
        ttl_s=min(each.ttl_s for each in every),
        execute_by_s=min(each.execute_by_s for each in every),
        scopes=tuple(each for each in first.scopes if each in scopes) or ("once",),
        asks=tuple(sorted(asks, key=lambda each: each.rule is None)),
    )


def _reason(ask: Ask) -> str:
    whose = owner(ask.rule)
    return f"{ask.reason.rstrip('.')} ({whose})" if ask.reason else f"{whose} asks"


def _why_asked(tool: ToolFacts) -> str | None:
    """Why a tool without a word of its own asks all the same."""
    if tool.has_steps:
        return None  # each of its steps asks by itself
    if tool.effect == "irreversible":
        return "its effect cannot be undone"
    if tool.hands_text_on:
        return "it hands a caller's text to an interpreter"
    if tool.is_foreign and tool.effect != "read":
        return "it is defined elsewhere, and not known to only read"
    return None
