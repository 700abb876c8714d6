"""The one way to a new generation: whoever asks for it, one at a time (L11).

Settled files are compiled aside and become the current generation in one assignment. What has an
error, or protects less than before, does not; the last good generation stays.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from toolrt.bindings.threads import aside
from toolrt.catalog.compiler import Compiled
from toolrt.catalog.registry import Registry
from toolrt.core.clock import Clock
from toolrt.loading.apart import TooMuchError, is_much, parsed
from toolrt.loading.findings import Finding
from toolrt.loading.loader import LoadedFiles
from toolrt.loading.owners import HINT as OWN_THEM
from toolrt.loading.owners import why_foreign
from toolrt.loading.sources import Given
from toolrt.loading.stock import Stock
from toolrt.manifest.project import ProjectFile
from toolrt.reloading.generation import Generation, Weighed, weighed
from toolrt.reloading.homing import at_home, loop_here
from toolrt.reloading.outcome import Reload, Standing
from toolrt.reloading.settling import settled
from toolrt.reloading.workspace import Workspace
from toolrt.stores.base import StoreError

AUTOMATIC: Final = frozenset({"watch", "poll", "second look"})
"""Reasons that nobody is waiting behind: what was refused is not told again."""

BESIDE_FILES: Final = frozenset({"source"})
"""Reasons of what changes where no file does: servers of sources."""

SECOND_LOOK_S: Final = 10.0
_SWITCH_S: Final = 0.0005
_FEW: Final = 5
_CONFIRM: Final = "`accept_loss` confirms it; so does leaving it unchanged for 10 s"
_NO_RULES: Final = "`default: allow` in a file of policies.d runs without rules"

Record = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Writes down that a generation is about to come into force; may raise StoreError."""

Edit = Callable[[tuple[Given, ...]], tuple[Given, ...]]
"""What a program has added, as it is to be; the same object for no change."""

log = logging.getLogger("toolrt.reload")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What was refused last; `guarded` is what its losses are made of, there `since` then."""

    stock: Stock
    outcome: Reload
    guarded: str
    since: float


class Reloader:
    """Reloads one open project.

    `allow_foreign` lets folders of others be (L10). `record` is told of each new generation once it
    is in force; that it cannot be written down is a warning: a new deny must not wait for a store.
    """

    def __init__(
        self,
        workspace: Workspace,
        registry: Registry,
        compiled: Compiled,
        clock: Clock,
        *,
        allow_foreign: bool = False,
        record: Record | None = None,
    ) -> None:
        current = Generation.of(compiled)
        if current is None:
            raise ValueError("a project with errors cannot be open")
        self._current: Generation = current
        self._workspace = workspace
        self._registry = registry
        self._clock = clock
        self._allow_foreign = allow_foreign
        self._record = record
        self._home, self._is_closed = loop_here(), False
        self._turn = asyncio.Lock()
        self._running: set[asyncio.Task[Reload]] = set()
        self._listeners: list[Callable[[Reload], object]] = []
        self._refusal: _Refusal | None = None
        self.standing = self._stands(is_success=True)

    @property
    def findings(self) -> Sequence[Finding]:
        """The warnings about the files in force."""
        return self._current.compiled.files.findings

    @property
    def written(self) -> ProjectFile:
        """toolrt.yaml as it is in force."""
        return self._current.compiled.files.project

    @property
    def files(self) -> LoadedFiles:
        """What is in force, as it was loaded."""
        return self._current.compiled.files

    @property
    def stock(self) -> Stock:
        """The files in force."""
        return self._current.stock

    @property
    def stocks(self) -> list[Stock]:
        """The files in force, and those that were refused last."""
        return [self.stock, *([self._refusal.stock] if self._refusal else [])]

    @property
    def second_look_s(self) -> float | None:
        """In how many seconds a loss that was refused is taken as meant; None where there is none.

        It counts from when the loss was first seen: what else changes does not matter.
        """
        known = self._refusal
        if known is None or not known.outcome.losses:
            return None
        return max(known.since + SECOND_LOOK_S - self._clock.monotonic(), 0.0)

    def on_reload(self, listener: Callable[[Reload], object]) -> Callable[[], None]:
        """Call `listener` with each outcome from now on; what is given back ends that."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    async def reload(self, reason: str = "asked", *, accept_loss: bool = False) -> Reload:
        """Bring what is written now into force, if it may be. Never raises for what is written.

        One that is cancelled while it waits is still carried out.
        """
        return await self._queued(reason, partial(self._outcome, reason, accept_loss=accept_loss))

    async def change(self, reason: str, edit: Edit) -> Reload:
        """Let what a program has added to the files be what `edit` makes of it, if it may be.

        The files themselves stay as they are in force. Losses count as meant.
        """
        return await self._queued(reason, partial(self._edited, reason, edit))

    async def _queued(self, reason: str, make: Callable[[], Awaitable[Reload]]) -> Reload:
        return await at_home(self._home, partial(self._carried_out, reason, make))

    async def _carried_out(self, reason: str, make: Callable[[], Awaitable[Reload]]) -> Reload:
        if self._is_closed:
            return replace(self._answer(reason), is_accepted=False, why="the project is closed")
        task = asyncio.create_task(self._in_turn(reason, make))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait for what is being reloaded, and take up nothing more."""
        self._is_closed = True
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _in_turn(self, reason: str, make: Callable[[], Awaitable[Reload]]) -> Reload:
        async with self._turn:
            started = self._clock.monotonic()
            known = self._refusal and self._refusal.outcome.refused
            was_sound = self.standing.reload_success
            try:
                outcome = await make()
            except Exception as error:
                log.exception("a bug ended a reload; the last good generation stays")
                outcome = self._refused(reason, f"a bug of toolrt: {type(error).__name__}")
            is_mended = self.standing.reload_success and not was_sound
            took_s = self._clock.monotonic() - started
            outcome = replace(outcome, took_s=took_s, is_mended=is_mended)
            is_told = known is not None and known == outcome.refused
            if reason not in AUTOMATIC or not (_is_nothing(outcome) or is_told):
                self._tell(outcome)
            return outcome

    async def _outcome(self, reason: str, *, accept_loss: bool) -> Reload:
        if reason in BESIDE_FILES:
            return await self._beside(reason)
        stock = await settled(self._workspace.stock, self._clock)
        if stock is None:
            return self._refused(reason, "the files are still being written")
        foreign = None if self._allow_foreign else why_foreign(stock.places)
        if foreign is not None:
            return self._refused(reason, foreign, hint=OWN_THEM)
        if stock.is_as(self.stock) and not self._waits(reason):
            return self._unchanged(reason)
        known = self._refusal if reason in AUTOMATIC and self.second_look_s != 0 else None
        if known is not None and stock.is_as(known.stock):
            return replace(known.outcome, reason=reason)
        return await self._tried(stock, reason, accept_loss=accept_loss)

    async def _beside(self, reason: str) -> Reload:
        """Compile what is in force once more; files that are broken wait for their own reload."""
        known, was_sound = self._refusal, self.standing.reload_success
        outcome = await self._tried(self.stock, reason, accept_loss=False)
        if known is not None and not known.stock.is_as(self.stock):
            self._refusal = known
            self.standing = replace(self.standing, reload_success=was_sound)
        return outcome

    async def _edited(self, reason: str, edit: Edit) -> Reload:
        before, known = self._workspace.given, self._refusal
        given, was_sound = edit(before), self.standing.reload_success
        if given is before:
            return self._answer(reason)
        outcome = await self._tried(self.stock.with_given(given), reason, accept_loss=True)
        given = given if outcome.is_accepted else before
        self._workspace.given = given
        self._refusal = known and replace(known, stock=known.stock.with_given(given))
        self.standing = replace(self.standing, reload_success=was_sound)  # that is about files
        return outcome

    async def _tried(self, stock: Stock, reason: str, *, accept_loss: bool) -> Reload:
        """Compile `stock`, and swap if it may come into force."""
        try:
            made = await aside(partial(self._weighed, stock))
        except TooMuchError as error:
            return self._keep(stock, self._refused(reason, str(error), hint="make the files fewer"))
        if made.new is None:
            return self._keep(stock, self._broken(reason, made))
        is_same = made.new.blocked == self._current.blocked and not made.changes
        if stock.is_as(self.stock) and is_same:
            self._current = replace(self._current, compiled=made.new.compiled)  # its warnings
            return self._unchanged(reason)
        if made.gone is not None:
            return self._keep(stock, self._refused(reason, made.gone, hint=_NO_RULES))
        lost = made.losses
        if lost and not accept_loss and not self._is_second_look(made):
            refused = self._refused(reason, _few(lost), hint=_CONFIRM)
            refused = replace(refused, losses=lost, changes=made.changes)
            return self._keep(stock, refused, made.guarded)
        return await self._accepted(made.new, made, reason)

    def _weighed(self, stock: Stock) -> Weighed:
        """Compile, in a thread that lets the others have their turns often. Raises TooMuchError."""
        with _in_short_turns():
            files = stock.unparsed()
            if is_much(files):
                for unread, document in zip(files, parsed(files), strict=True):
                    stock.library.put(unread, document)
            number = self._current.snapshot.generation + 1
            return weighed(self._current, self._workspace.compile(stock, number))

    async def _accepted(self, new: Generation, made: Weighed, reason: str) -> Reload:
        outcome = Reload(
            reason,
            is_accepted=True,
            generation=new.snapshot.generation,
            fingerprint=new.snapshot.fingerprint,
            is_new=True,
            changes=made.changes,
            diagnostics=made.diagnostics,
            sources=made.sources,
            needs_restart=made.needs_restart,
        )
        self._registry.swap(new.snapshot)
        self._workspace.services.keep_only(new.uses)
        self._current, self._refusal = new, None
        self.standing = self._stands(is_success=True)
        if self._record is not None:
            try:
                await self._record(outcome.document())
            except StoreError as error:  # a new deny is in force, whatever ails the journal
                log.warning("the new generation is not in the journal: %s", error.message)
        return outcome

    def _broken(self, reason: str, made: Weighed) -> Reload:
        errors = sum(one.severity == "error" for one in made.diagnostics)
        why = f"the files have {errors} error{'s' if errors != 1 else ''}"
        refused = self._refused(reason, why, hint="`toolrt check` shows them")
        return replace(refused, diagnostics=made.diagnostics, sources=made.sources)

    def _refused(self, reason: str, why: str, *, hint: str | None = None) -> Reload:
        self.standing = replace(self.standing, reload_success=False)
        return replace(self._answer(reason), is_accepted=False, why=why, hint=hint)

    def _unchanged(self, reason: str) -> Reload:
        """What is written is in force (L7)."""
        self._refusal = None
        self.standing = self._stands(is_success=True)
        return self._answer(reason)

    def _answer(self, reason: str) -> Reload:
        """That nothing is new."""
        now = self._current.snapshot
        return Reload(reason, True, now.generation, now.fingerprint)

    def _keep(self, stock: Stock, refused: Reload, guarded: str = "") -> Reload:
        """Remember what was refused, and since when there has been that very loss."""
        since = self._since(guarded)
        refused = replace(refused, refused=stock.fingerprint)
        since = self._clock.monotonic() if since is None else since
        self._refusal = _Refusal(stock, refused, guarded, since)
        return refused

    def _since(self, guarded: str) -> float | None:
        """Since when the same loss has been refused, without anything else in between."""
        known = self._refusal
        return known.since if known is not None and guarded and known.guarded == guarded else None

    def _is_second_look(self, made: Weighed) -> bool:
        """Whether a loss has been there, unchanged, for long enough to be meant."""
        since = self._since(made.guarded)
        return since is not None and self._clock.monotonic() - since >= SECOND_LOOK_S

    def _waits(self, reason: str) -> bool:
        """Whether somebody who asks may hope for a tool that could not be called so far."""
        return reason not in AUTOMATIC and bool(self._current.blocked)

    def _stands(self, *, is_success: bool) -> Standing:
        current = self._current.snapshot
        return Standing(is_success, self._clock.wall(), current.generation, current.fingerprint)

    def _tell(self, outcome: Reload) -> None:
        loop = asyncio.get_running_loop()
        for listener in list(self._listeners):
            loop.call_soon(listener, outcome)


def _is_nothing(outcome: Reload) -> bool:
    return outcome.is_accepted and not outcome.is_new and not outcome.is_mended


def _few(losses: Sequence[str]) -> str:
    more = [f"{len(losses) - _FEW} more"] if len(losses) > _FEW else []
    return "; ".join([*losses[:_FEW], *more])


@contextmanager
def _in_short_turns() -> Iterator[None]:
    """Lets the loop have the interpreter within half a millisecond when it asks for it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
