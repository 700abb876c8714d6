"""Ways to sessions beside their requests: `GET /mcp`, each a connection that stays open.

A session has a few at most: with one more its oldest ends, which may be one that its client has
lost. All of them together leave room for requests.
"""

from collections.abc import Iterator
from typing import Final

from toolrt.faces.mcp.exchange import Exchange

MOST: Final = 256
"""At one endpoint; a server has a thousand connections."""

MOST_OF_ONE: Final = 4
"""Of one session."""


class Streams:
    """The streams that are open, the oldest first."""

    def __init__(self) -> None:
        self._open: dict[Exchange, None] = {}

    def __iter__(self) -> Iterator[Exchange]:
        return iter(list(self._open))

    @property
    def has_room(self) -> bool:
        return len(self._open) < MOST

    async def stay(self, exchange: Exchange) -> None:
        """Keep a stream open until its client goes, or it is let go."""
        session = exchange.session
        if session is None:
            return
        own = [each for each in self._open if each.session is session]
        if len(own) >= MOST_OF_ONE:
            self._leave(own[0])
            own[0].let_go()
        self._open[exchange] = None
        session.streams.append(exchange.send)
        try:
            await exchange.stay()
        finally:
            self._leave(exchange)

    def close(self) -> None:
        """Let all of them go."""
        for each in self:
            each.let_go()

    def _leave(self, exchange: Exchange) -> None:
        session = exchange.session
        if exchange not in self._open or session is None:
            return
        del self._open[exchange]
        session.streams.remove(exchange.send)
