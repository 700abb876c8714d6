"""`paginate`: the pages of a list, asked for one after the other and read as one answer.

Whatever a page says of the next one, the next request goes to the same origin and path with the
same headers: of a link only the query is used (H8), of a cursor only its value. All pages together
are one attempt, under one deadline and one cap.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from toolrt.bindings.http_answer import Reading
from toolrt.bindings.http_next import Paging, Turn
from toolrt.bindings.http_request import Draft
from toolrt.bindings.network import MOST_BYTES
from toolrt.core.calls import Invocation
from toolrt.core.errors import BindingError, CallError
from toolrt.core.results import HttpAnswer

if TYPE_CHECKING:
    from toolrt.bindings.network import Response

Ask = Callable[[Draft], Awaitable["Response"]]


class PagedAnswer(HttpAnswer):
    """The items of all pages, with status and headers of the last one.

    `truncated_bytes` is above 0 when there are more pages; nobody knows by how much.
    """

    __slots__ = ("truncated_bytes",)

    def __init__(self, items: list[Any], last: HttpAnswer, *, has_more: bool) -> None:
        super().__init__(items, last.status, last.headers)
        self.truncated_bytes = int(has_more)


async def read_pages(
    paging: Paging, first: Draft, ask: Ask, reading: Reading, invocation: Invocation
) -> PagedAnswer:
    """The items of all pages, up to the most that the tool reads.

    Raises CallError for a page that fails: its number is in the details.
    """
    walk = _Walk(paging, first)
    while True:
        try:
            reply = await ask(walk.draft)
            answer = reading.answer(reply, invocation.clock.wall)
            has_more = walk.take(reply, answer)
        except CallError as error:
            error.details["page"] = walk.number
            raise
        if has_more and walk.number < paging.pages:
            walk.turn()
            continue
        if has_more:
            note = f"read {walk.number} pages, the most that this tool reads; there are more"
            invocation.notes += (note,)
        return PagedAnswer(walk.items, answer, has_more=has_more)


def read_page(paging: Paging, answer: HttpAnswer) -> HttpAnswer:
    """A page that stands for all, as in tests. Raises BindingError."""
    return PagedAnswer(paging.items_of(answer.value), answer, has_more=False)


class _Walk:
    """Where the reading of one call is."""

    def __init__(self, paging: Paging, first: Draft) -> None:
        self.draft = first
        self.number = 1
        self.items: list[Any] = []
        self._paging = paging
        self._turn = Turn(paging, first)
        self._size = 0
        self._seen = {(first.url.target, first.body)}
        self._next: Draft | None = None

    def take(self, reply: "Response", answer: HttpAnswer) -> bool:
        """Add a page; whether there is another one. Raises CallError."""
        self._size += len(reply.content)
        if self._size > MOST_BYTES:
            raise _flood()
        items = self._paging.items_of(answer.value)
        self.items += items
        self._next = self._turn.after(answer, len(items))
        if self._next is None:
            return False
        key = (self._next.url.target, self._next.body)
        if key in self._seen:
            message = "the pages go round in circles: the next one was read before"
            raise BindingError(message, code="bad-response", target_fault=True)
        self._seen.add(key)
        return True

    def turn(self) -> None:
        """Go on to the next page."""
        if self._next is not None:
            self.draft = self._next
            self.number += 1


def _flood() -> BindingError:
    return BindingError(
        f"the pages together are larger than {MOST_BYTES // (1024 * 1024)} MiB",
        code="output-flood",
        hint="ask for less, such as fewer fields, or read fewer pages",
        details={"limit_bytes": MOST_BYTES},
    )
