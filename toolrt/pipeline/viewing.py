"""Approvals and standing yeses as people may see them: known secrets masked, and said to be.

What is kept, and what will run, has them still (A12): a person who decides is told where they are.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolrt.core.decisions import Need
from toolrt.core.redaction import MASK
from toolrt.policy.needs import needs_of
from toolrt.stores.approval_votes import Vote
from toolrt.stores.approvals import Approval
from toolrt.stores.grants import Grant

Mask = Callable[[Mapping[str, Any]], dict[str, Any]]
"""A copy of a JSON object without known secrets."""


@dataclass(frozen=True, slots=True)
class Viewed:
    """An approval without known secrets, what was said about it, and what it needs.

    `secrets` are the arguments, such as `headers.token`, that hold one, each with whether it is
    nothing but that.
    """

    record: Approval
    votes: Sequence[Vote]
    needs: tuple[Need, ...]
    secrets: Mapping[str, bool]


def viewed(record: Approval, votes: Sequence[Vote], mask: Mask) -> Viewed:
    """The record as people may see it."""
    arguments = json.loads(record.arguments)
    masked = mask(arguments)
    shown = replace(
        record,
        asked_arguments=_text(mask(json.loads(record.asked_arguments))),
        arguments=_text(masked),
        view=_masked(record.view, mask),
        outcome=_masked(record.outcome, mask),
    )
    said = [replace(each, note=_note(each.note, mask)) for each in votes]
    return Viewed(shown, said, needs_of(record, votes), dict(_secrets(arguments, masked)))


def masked_grant(grant: Grant, mask: Mask) -> Grant:
    """The grant as people may see it; its values are JSON texts."""
    return replace(grant, pattern=mask(grant.pattern))


def _masked(text: str | None, mask: Mask) -> str | None:
    """JSON that may be missing, or no object."""
    return None if text is None else _text(mask({"": json.loads(text)})[""])


def _note(note: str | None, mask: Mask) -> str | None:
    return None if note is None else str(mask({"": note})[""])


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
