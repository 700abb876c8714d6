"""Answers that are kept for a while: in memory, and in the store for the next process.

A call is known by its tool's definition, its checked arguments and for whom the answer is. What is
kept is the binding's own value as JSON, so that each hit gets a copy of its own, of the same types.
"""

import hmac
import logging
import os
from collections import OrderedDict
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.results import Answer
from toolrt.manifest.limits import Cache
from toolrt.pipeline.asking import sensitive_of
from toolrt.pipeline.copies import written
from toolrt.pipeline.kept import LONGEST_WORDING, Kept, Quick, Shelf, write
from toolrt.policy.hashes import texts
from toolrt.schemas.canonical import canonical_json
from toolrt.schemas.plain import NotJsonError
from toolrt.stores.base import StoreError
from toolrt.stores.cache import KeptAnswer, KeptAnswers

log = logging.getLogger("toolrt")

MOST_BYTES: Final = 64 << 20
"""Of all kept answers of a runtime; those used longest ago go first."""
MOST_BYTES_EACH: Final = 4 << 20
MOST_WRITTEN: Final = 1000
MOST_BYTES_WRITTEN: Final = 16 << 20
"""Of the answers that a runtime leaves behind in the store when it ends."""
STALE_S: Final = 7 * 24 * 3600.0
"""How old an answer may be that stands in for a fresh one."""
_MOST_CALLERS = 256


class Answers:
    """All kept answers of a runtime. Times are those of `clock`."""

    def __init__(self, clock: Clock, store: KeptAnswers) -> None:
        self.clock = clock
        self._store: KeptAnswers | None = store
        self._hides = store.secret
        self._shelves: dict[str, Shelf] = {}
        self._order: OrderedDict[Kept, None] = OrderedDict()
        self._size = 0
        self._left: dict[Shelf, ToolAnswers] = {}

    def of(self, entry: ToolEntry, options: Cache) -> "ToolAnswers":
        """The answers of one tool; those of the same tool in another generation are the same."""
        made = ToolAnswers(self, entry, options)
        known = self._left.setdefault(made.shelf, made)
        if known.entry is not entry:
            known = self._left[made.shelf] = made
        return known

    def shelf(self, fingerprint: str) -> Shelf:
        return self._shelves.setdefault(fingerprint, Shelf())

    @cached_property
    def secret(self) -> bytes:
        """What hides sensitive values in digests; where the key is not to be had, one for this
        process alone, which then leaves nothing behind.
        """
        try:
            return self._hides()
        except StoreError as error:
            self._give_up(error)
            return os.urandom(32)

    def put(self, kept: Kept, most: int) -> None:
        """Keep an answer, of which a tool has so many at most; those not used for long make room.

        "Not used" is found out by second chance, so that a hit need not keep an order.
        """
        shelf = kept.shelf
        before = shelf.kept.get(kept.digest)
        if before is not None:
            self.drop(before)
        while len(shelf.kept) >= most:
            self._pass_by(next(iter(shelf.kept.values())))
        while self._order and self._size + kept.size > MOST_BYTES:
            self._pass_by(next(iter(self._order)))
        shelf.kept[kept.digest] = kept
        self._order[kept] = None
        self._size += kept.size

    def _pass_by(self, oldest: Kept) -> None:
        """Forget an answer, unless it was used: then it is the youngest one again."""
        if not oldest.is_used:
            self.drop(oldest)
            return
        oldest.is_used = False
        oldest.shelf.kept.move_to_end(oldest.digest)
        self._order.move_to_end(oldest)

    def drop(self, kept: Kept) -> None:
        """Forget an answer."""
        kept.shelf.forget(kept)
        del self._order[kept]
        self._size -= kept.size

    async def found(self, tool: str, shelf: Shelf, digest: str) -> KeptAnswer | None:
        """What an earlier process has left in the store; it is looked through once a tool."""
        if self._store is None:
            return None
        try:
            if shelf.stored is None:
                shelf.stored = await self._store.digests(tool)
            return await self._store.find(tool, digest) if digest in shelf.stored else None
        except StoreError as error:
            self._give_up(error)
            return None

    async def close(self) -> None:
        """Leave the answers used last to the next process."""
        left = self._worth_keeping()
        if self._store is None or not left:
            return
        try:
            await self._store.keep(left)
        except StoreError as error:
            self._give_up(error)

    def _worth_keeping(self) -> list[KeptAnswer]:
        left: list[KeptAnswer] = []
        size = 0
        for kept in reversed(self._order):
            size += kept.size
            if len(left) >= MOST_WRITTEN or size > MOST_BYTES_WRITTEN:
                break
            told = None if kept.is_written else self._left[kept.shelf].left(kept)
            if told is not None:
                left.append(told)
        return left

    def _give_up(self, error: StoreError) -> None:
        log.warning("answers are kept in memory only: %s", error.message)
        self._store = None


class ToolAnswers:
    """The kept answers of one tool."""

    def __init__(self, answers: Answers, entry: ToolEntry, options: Cache) -> None:
        self.ttl_s = options.ttl
        self._answers = answers
        self.monotonic = answers.clock.monotonic
        self.entry = entry
        self._options = options
        self._sensitive = sensitive_of(entry)
        self._keeps_stale = entry.fallback is not None and entry.fallback.is_stale
        self.owners: dict[int, tuple[Caller, bytes]] = {}
        self.is_quick = not self._sensitive
        self._fingerprint = _fingerprint(entry)
        self.shelf = answers.shelf(self._fingerprint)

    def key(self, invocation: Invocation) -> tuple[bytes, Quick | None]:
        """For whom an answer to this call is, and how it is found soonest, if it may be.

        Raises NotJsonError where it cannot be told.
        """
        caller = invocation.caller
        known = self.owners.get(id(caller))
        owner = self._owner(caller) if known is None or known[0] is not caller else known[1]
        if not self.is_quick:
            return owner, None
        words = write(invocation.arguments)
        return owner, (owner, words) if len(words) <= LONGEST_WORDING else None

    def digest(self, invocation: Invocation, owner: bytes) -> str:
        """What the call is known by. Sensitive arguments enter as HMAC with the store's key."""
        secret = self._answers.secret if self._sensitive else b""
        named = texts(invocation.arguments, self._sensitive, secret)
        return sha256(owner + b"\0" + canonical_json(named)).hexdigest()

    def fresh(self, digest: str, quick: Quick | None) -> Kept | None:
        """An answer in memory that is not too old."""
        kept = self.shelf.kept.get(digest)
        if kept is None:
            return None
        if self.monotonic() - kept.made_s >= self.ttl_s:
            if not self._keeps_stale:
                self._answers.drop(kept)
            return None
        kept.is_used = True
        self._shorten(kept, quick)
        return kept

    def keep(self, digest: str, quick: Quick | None, answer: Answer) -> Kept | None:
        """Keep an answer; None where it is cut, too big, or would not come back as it is."""
        body = None if answer.truncated_bytes else written(answer.value)
        if body is None or len(body) > MOST_BYTES_EACH:
            return None
        kept = Kept(self.shelf, digest, body, self.monotonic())
        self._put(kept, quick)
        return kept

    async def recalled(self, digest: str, quick: Quick | None) -> Kept | None:
        """A fresh answer that an earlier process has left; a stale one is kept for need."""
        found = await self._answers.found(self._fingerprint, self.shelf, digest)
        if found is None:
            return None
        is_stale = found.age_s >= self.ttl_s
        if is_stale and not self._keeps_stale:
            return None
        kept = Kept(self.shelf, digest, found.body, self.monotonic() - found.age_s)
        kept.is_written = True
        self._put(kept, quick)
        return None if is_stale else kept

    async def stale(self, invocation: Invocation) -> tuple[Answer, float] | None:
        """The last answer to the same call, however old, with its age in seconds."""
        try:
            owner, _ = self.key(invocation)
            digest = self.digest(invocation, owner)
        except NotJsonError:
            return None
        if digest not in self.shelf.kept:
            await self.recalled(digest, None)
        kept = self.shelf.kept.get(digest)
        if kept is None:
            return None
        age_s = self.monotonic() - kept.made_s
        return (kept.answer(), age_s) if age_s < STALE_S else None

    def left(self, kept: Kept) -> KeptAnswer | None:
        """An answer as the next process finds it; what may be sensitive stays in memory."""
        age_s = self.monotonic() - kept.made_s
        lasts_s = STALE_S if self._keeps_stale else self.ttl_s
        is_private = self._sensitive or self.entry.manifest.result.redact
        if is_private or self._options.scope == "session" or age_s >= lasts_s:
            return None
        return KeptAnswer(self._fingerprint, kept.digest, kept.body, age_s, lasts_s)

    def _put(self, kept: Kept, quick: Quick | None) -> None:
        if quick is not None:
            kept.allow_for(quick)
        self._answers.put(kept, self._options.max_entries)
        self._shorten(kept, quick)

    def _shorten(self, kept: Kept, quick: Quick | None) -> None:
        if kept.quick is None and quick is not None:
            kept.quick = quick
            self.shelf.quick[quick] = kept

    def _owner(self, caller: Caller) -> bytes:
        scope = self._scope(caller)
        owner = canonical_json([*scope, self._brought(caller, scope[0])])
        if len(self.owners) >= _MOST_CALLERS:
            self.owners.clear()
        self.owners[id(caller)] = caller, owner
        return owner

    def _scope(self, caller: Caller) -> list[Any]:
        """Who shares an answer. A caller without a tenant, or a session, has it for itself."""
        scope = self._options.scope
        if scope == "global":
            return ["global"]
        if scope == "tenant" and caller.tenant is not None:
            return ["tenant", caller.tenant]
        if scope == "session" and caller.session is not None:
            return ["session", caller.tenant, caller.principal, caller.session]
        told = {**caller.document(), "session": None, "roles": sorted(caller.roles)}
        return ["caller", told]

    def _brought(self, caller: Caller, scope: str) -> list[Any]:
        """What the caller brings for the references of the tool, or for its code: part of the
        question.
        """
        kinds = {each.kind for each in self.entry.references}
        told: list[Any] = [caller.tenant] if "tenant" in kinds else []
        is_for_one = scope in {"caller", "session"}
        if "caller" not in kinds and not (is_for_one and _sees_credentials(self.entry)):
            return told
        secret = self._answers.secret
        for name, value in sorted(caller.credentials.items()):
            mac = hmac.digest(secret, value.reveal().encode(), "sha256").hex()
            told.append([name, mac])
        return told


def _sees_credentials(entry: ToolEntry) -> bool:
    """Whether code of the project is handed the caller whole, and may tell of what it brought."""
    auth = entry.service.auth if entry.service else None
    return entry.kind == "python" or (auth is not None and auth.python is not None)


def _fingerprint(entry: ToolEntry) -> str:
    """What the tool is, and what it takes for a failure: the rest is done to each answer anew."""
    failed_when = entry.manifest.result.failed_when
    return sha256(canonical_json([entry.definition_hash, failed_when])).hexdigest()
