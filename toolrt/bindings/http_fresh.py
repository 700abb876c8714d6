"""Versions of what http tools show and change: the entity tag of an answer (F4; RFC 9110, 8.8.3).

What a read tool was told goes along with the change as `If-Match`, so that the service compares it
in the same step as it writes. A weak tag compares with nothing, and is none.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from toolrt.bindings.http_request import Draft
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError

_TAG: Final = re.compile(r'"[!#-~]{0,1000}"')
_CHANGED: Final = 412


def expected_tag(invocation: Invocation) -> str | None:
    """The tag that a change is made for; None where nobody was told one."""
    sighting = invocation.sighting
    tag = sighting.expected if sighting is not None else None
    return tag if tag is not None and _TAG.fullmatch(tag) else None


def conditional(draft: Draft, tag: str | None) -> Draft:
    """The same request, for that version alone, unless it has a condition of its own."""
    if tag is None or any(name.lower() == "if-match" for name in draft.headers):
        return draft
    return replace(draft, headers={**draft.headers, "If-Match": tag})


def saw(invocation: Invocation, headers: Mapping[str, str]) -> None:
    """Tell which version an answer has shown, where somebody wants to hear of it."""
    tag = headers.get("etag", "")
    if invocation.sighting is not None and _TAG.fullmatch(tag):
        invocation.sighting.told = tag


def change_refused(error: BindingError, invocation: Invocation) -> BindingError | None:
    """What is told of a change that was refused because of its condition; None for all else."""
    if error.status != _CHANGED:
        return None
    by = ", perhaps by an earlier attempt of this call" if invocation.attempts > 1 else ""
    return BindingError(
        f"what this would change has changed since it was read{by}",
        code="conflict",
        hint="this attempt changed nothing; read it again, then decide anew what to change",
        status=error.status,
        details=error.details,
        body=error.body,
    )
