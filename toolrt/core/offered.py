"""Which tools somebody may come to who names them in the arguments of a call.

A face that offers some tools alone puts it in place for the time of such a call; where nothing
stands here, all tools are meant.
"""

from collections.abc import Callable
from contextvars import ContextVar

IsOffered = Callable[[str, str | None], bool]
"""Whether the tool of that name and version is offered."""

OFFERED: ContextVar[IsOffered | None] = ContextVar("toolrt_offered", default=None)


def is_offered(name: str, version: str | None) -> bool:
    """Whether a call that is on its way may come to this tool."""
    offers = OFFERED.get()
    return offers is None or offers(name, version)
