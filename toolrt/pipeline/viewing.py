"""Approvals and standing yeses as people may see them: known secrets masked, and said to be.

What is kept, and what will run, has them still (A12): a person who decides is told where they are.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolrt.core.decisions import Need
from toolrt.core.redaction import MASK
from toolrt.pipeline.people import masked_needs
from toolrt.policy.needs import needs_of
from toolrt.stores.approval_outcomes import outcome_of, without_sensitive
from toolrt.stores.approval_sealed import is_untouched
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approval_twins import Twin, twin_of
from toolrt.stores.approval_votes import Vote, votes_on
from toolrt.stores.approvals import Approval
from toolrt.stores.base import Database, Session
from toolrt.stores.grants import Grant, shown_pattern
from toolrt.stores.plans import plan_above

Mask = Callable[[Mapping[str, Any]], dict[str, Any]]
"""A copy of a JSON object without known secrets."""


@dataclass(frozen=True, slots=True)
class Viewed:
    """An approval without known secrets, what was said about it, and what it needs.

    `secrets` are the arguments, such as `headers.token`, that hold one, each with whether it is
    nothing but that. `is_altered`: somebody changed its row by hand, so that nothing runs. `twin`
    is an earlier approval of the same call, which may have taken effect. `plan` is the outermost
    plan that waits for it at one of its steps.
    """

    record: Approval
    votes: Sequence[Vote]
    needs: tuple[Need, ...]
    secrets: Mapping[str, bool]
    is_altered: bool = False
    twin: Twin | None = None
    plan: str | None = None


async def looked_at(
    database: Database, records: Sequence[Approval], mask: Mask, seals: ApprovalSeals | None
) -> list[Viewed]:
    """These records as people may see them, with all that the store has beside them."""
    found = await database.read(
        lambda session: [
            (votes_on(session, each.id), twin_of(session, each), _plan(session, each))
            for each in records
        ]
    )
    return [
        replace(viewed(record, votes, mask, seals, twin), plan=plan)
        for record, (votes, twin, plan) in zip(records, found, strict=True)
    ]


def _plan(session: Session, record: Approval) -> str | None:
    return plan_above(session, record.id) if record.state in {"pending", "approved"} else None


def viewed(
    record: Approval,
    votes: Sequence[Vote],
    mask: Mask,
    seals: ApprovalSeals | None = None,
    twin: Twin | None = None,
) -> Viewed:
    """The record as people may see it; without `seals` it is taken for what it is."""
    is_altered = _is_altered(record, seals)
    arguments = json.loads(record.arguments)
    masked = mask(arguments)
    shown = replace(
        record,
        caller=str(_masked(record.caller, mask)),
        **_names(record, ("principal", "tenant", "session", "edited_by"), mask),
        asked_arguments=_text(mask(json.loads(record.asked_arguments))),
        arguments=_text(masked),
        view=_masked(record.view, mask),
        outcome=_masked(_outcome(record), mask),
        fields=None if is_altered else record.fields,
    )
    said = [_vote(each, mask) for each in votes]
    needs = masked_needs(needs_of(record, votes), lambda name: str(mask({"": name})[""]))
    return Viewed(shown, said, needs, dict(_secrets(arguments, masked)), is_altered, twin)


def _is_altered(record: Approval, seals: ApprovalSeals | None) -> bool:
    is_open = record.state in {"pending", "approved"}
    return is_open and seals is not None and not is_untouched(record, seals)


def masked_grant(grant: Grant, mask: Mask) -> Grant:
    """The grant as people may see it; its values are JSON texts, or masked."""
    people = ("principal", "tenant", "session", "granted_by", "revoked_by")
    return replace(grant, pattern=mask(shown_pattern(grant)), **_names(grant, people, mask))


def _masked(text: str | None, mask: Mask) -> str | None:
    """JSON that may be missing, or no object."""
    return None if text is None else _text(mask({"": json.loads(text)})[""])


def _outcome(record: Approval) -> str | None:
    """In the one shape, and without what is sensitive: that is erased from it only at the end."""
    made = outcome_of(without_sensitive(record.outcome, record.sealed))
    return None if made is None else _text(made)


def _vote(vote: Vote, mask: Mask) -> Vote:
    roles = tuple(mask({"": vote.roles})[""])
    return replace(vote, roles=roles, **_names(vote, ("actor", "note"), mask))


def _names(of: object, fields: Iterable[str], mask: Mask) -> dict[str, Any]:
    """Texts that may be missing."""
    return mask({name: getattr(of, name) for name in fields})


def _secrets(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """The places that were masked; of a key that is a secret, the object that it stands in."""
    if before == after:
        return
    inner = list(_inner(before, after, path))
    if not inner:
        yield path or "arguments", after == MASK
    for one, other, place in inner:
        yield from _secrets(one, other, place)


def _inner(before: Any, after: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key, value in before.items():
            yield value, after[key], f"{path}.{key}" if path else key
    elif isinstance(before, list) and isinstance(after, list):
        for at, (one, other) in enumerate(zip(before, after, strict=True)):
            yield one, other, f"{path}[{at}]"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
