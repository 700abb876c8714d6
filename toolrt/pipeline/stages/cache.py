"""cache: an answer of a short while ago, to the same question of somebody who may share it.

Behind everything that decides about the call and before the binding; hooks and shape see a kept
answer like a fresh one. Equal calls at the same time are one: the first one asks, and the others
wait for it, each as long as it may.
"""

import asyncio
from typing import Any, Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.results import Answer, Failure, Outcome
from toolrt.pipeline.caching import ToolAnswers
from toolrt.pipeline.kept import Kept, Quick, write
from toolrt.pipeline.stage import Chain, Equipment
from toolrt.schemas.plain import NotJsonError

_ALONE: Final = object()
"""What a flight ends with whose answer cannot be shared: everybody asks for himself."""
_NOT_SHARED = frozenset({"timeout", "cancelled"})
"""Failures of the first one alone: it had less time than others, or gave up."""

Shared = Kept | Failure | object | None


def cache(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Absent where nothing is kept."""
    options = entry.manifest.cache
    if options is None:
        return following
    return _Caching(equipment.answers.of(entry, options), following).chain()


class _Caching:
    """The questions to one tool."""

    def __init__(self, answers: ToolAnswers, following: Chain) -> None:
        self.answers = answers
        self.following = following

    def chain(self) -> Chain:
        """The quick way for what was asked in the same words before; all else goes on to `find`.

        What it needs of the tool is looked up here and not per call.
        """
        answers, find = self.answers, self.find
        owners, quick, ttl_s = answers.owners, answers.shelf.quick, answers.ttl_s
        monotonic = answers.monotonic

        async def handle(invocation: Invocation) -> Outcome:
            caller = invocation.caller
            known = owners.get(id(caller))
            if known is not None and known[0] is caller:
                try:
                    kept = quick.get((known[1], write(invocation.arguments)))
                except ValueError:  # half a character
                    kept = None
                if kept is not None and monotonic() - kept.made_s < ttl_s:
                    kept.is_used = invocation.is_cached = True
                    return kept.answer()
            return await find(invocation)

        return handle if answers.is_quick else find

    async def find(self, invocation: Invocation) -> Outcome:
        """A kept answer to the same call, or else the binding's."""
        answers = self.answers
        try:
            owner, quick = answers.key(invocation)
            digest = answers.digest(invocation, owner)
        except (NotJsonError, ValueError):
            return await self.following(invocation)
        kept = answers.fresh(digest, quick)
        if kept is not None:
            return _hit(invocation, kept)
        return await self._asked(invocation, digest, quick)

    async def _asked(self, invocation: Invocation, digest: str, quick: Quick | None) -> Outcome:
        """The answer, by this call or by an equal one that is under way; where that is given up,
        one of those who wait goes on with it.
        """
        flights = self.answers.shelf.flights
        while digest in flights:
            flight: asyncio.Future[Shared] = flights[digest]
            patience_s = max(0.0, invocation.remaining_s())
            done, _ = await asyncio.wait([flight], timeout=patience_s)
            if not done:
                message = "an equal call was under way, and did not answer in time"
                return Failure("timeout", message, "try again", retryable=True)
            shared = flight.result()
            if isinstance(shared, Kept):
                return _hit(invocation, shared)
            if isinstance(shared, Failure):
                return shared
            if shared is _ALONE:
                return await self.following(invocation)
        return await self._first(invocation, digest, quick)

    async def _first(self, invocation: Invocation, digest: str, quick: Quick | None) -> Outcome:
        flights: dict[str, Any] = self.answers.shelf.flights
        flight = flights[digest] = asyncio.get_running_loop().create_future()
        shared: Shared = None
        try:
            kept = shared = await self.answers.recalled(digest, quick)
            if kept is not None:
                return _hit(invocation, kept)
            outcome = await self.following(invocation)
            shared = self._shared(outcome, digest, quick)
            return outcome
        finally:
            del flights[digest]
            flight.set_result(shared)

    def _shared(self, outcome: Outcome, digest: str, quick: Quick | None) -> Shared:
        """What those who wait are told; None: one of them is to ask again."""
        if isinstance(outcome, Answer):
            return self.answers.keep(digest, quick, outcome) or _ALONE
        if isinstance(outcome, Failure) and outcome.code not in _NOT_SHARED:
            return outcome
        return None


def _hit(invocation: Invocation, kept: Kept) -> Answer:
    invocation.is_cached = kept.is_used = True
    return kept.answer()
