"""Which of several processes a request belongs to: sessions, tasks and calls that wait for their
client live in the one that opened them, and its mark stands in front of their names.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolrt.faces.mcp.messages import Wrong, read

if TYPE_CHECKING:
    from toolrt.faces.mcp.parking import Lot
    from toolrt.faces.mcp.sessions import Sessions

_END = "."
_DIGITS = 2
"""Of the number of a process: there are 64 at most."""

_WORDS = (b"requestState", b"tasks", b"\\u00")
"""One of these stands in what only one process knows; the last is any letter, written otherwise."""


def mark_of(number: int | None) -> str:
    """What names begin with in the process of that number; nothing where there is only one."""
    return "" if number is None else f"{number}{_END}"


class Owners:
    """Reads whose a request is."""

    def __init__(self, sessions: "Sessions", lot: "Lot") -> None:
        self._sessions = sessions
        self._lot = lot

    def of(self, headers: Mapping[bytes, bytes], body: bytes) -> int | None:
        """The number of the process that knows what the request is about; None for what any can
        answer, and for what is wrong.
        """
        id_ = headers.get(b"mcp-session-id")
        if id_ is not None:
            return _number(self._sessions.name_of(id_))
        if not any(word in body for word in _WORDS):
            return None
        try:
            message = read(body)
        except Wrong:
            return None
        if message.method.startswith("tasks/"):
            return _number(message.params.get("taskId"))
        return _number(self._lot.name_of(message.params.get("requestState")))


def _number(name: object) -> int | None:
    number, end, _ = name.partition(_END) if isinstance(name, str) else ("", "", "")
    is_ours = bool(end) and len(number) <= _DIGITS and number.isdecimal() and number.isascii()
    return int(number) if is_ours else None
