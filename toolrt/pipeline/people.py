"""Names of people as others are shown them: somebody may be called by a known secret (O1)."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from toolrt.core.decisions import Need
from toolrt.core.redaction import Redactor
from toolrt.core.results import Pause

MaskText = Callable[[str], str]
"""A text without known secrets."""


def named(name: str | None, mask: MaskText) -> str | None:
    """A name that may be missing."""
    return None if name is None else mask(name)


def masked_needs(needs: Iterable[Need], mask: MaskText) -> tuple[Need, ...]:
    """What is needed, with the names of those that have said yes masked."""
    return tuple(replace(each, said=tuple(map(mask, each.said))) for each in needs)


def masked_pause(pause: Pause, redactor: Redactor) -> Pause:
    """The pause as it leaves the pipeline."""
    if not redactor.is_armed:
        return pause
    mask = redactor.text
    needs, requester = masked_needs(pause.needs, mask), mask(pause.requester)
    return replace(pause, needs=needs, requester=requester)
