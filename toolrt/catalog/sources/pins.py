"""What was approved of foreign tools, against which what their servers say now is held (X1).

A definition is pinned when it is first seen. `toolrt.lock`, which people commit, wins over what
this machine has seen: where it names a source, what it does not name of it has yet to be approved.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolrt.bindings.mcp import Definition
from toolrt.loading.survey import LOCK
from toolrt.schemas.canonical import canonical_json
from toolrt.schemas.plain import NotJsonError
from toolrt.stores.pins import StoredPin

VERSION: Final = 1

__all__ = ["LOCK", "Lock", "LockError", "Pin", "PinBook", "read_lock", "written_lock"]

Verdict = Literal["same", "new", "changed", "unapproved", "unread"]


@dataclass(frozen=True)
class Pin:
    """One definition, and where its server is reached."""

    definition: Definition
    endpoint: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of name, title, description, schemas, annotations and endpoint."""
        endpoint = canonical_json(dict(self.endpoint))
        return sha256(f"{self.definition.digest} ".encode() + endpoint).hexdigest()

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self.definition.name,
            **self.definition.written,
            "endpoint": dict(self.endpoint),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Pin":
        """What `document` gave. Raises KeyError for anything else."""
        rest = {key: each for key, each in document.items() if key not in {"name", "endpoint"}}
        endpoint = document["endpoint"]
        if not isinstance(endpoint, Mapping):
            raise KeyError("endpoint")
        return cls(Definition(str(document["name"]), rest), dict(endpoint))

    def stored(self, source: str) -> StoredPin:
        text = json.dumps(self.document(), ensure_ascii=True, sort_keys=True)
        return StoredPin(source, self.definition.name, self.digest, text)


class _Locked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sha256: str
    definition: dict[str, Any]


class _LockFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    toolrt: Literal[1]
    sources: dict[str, dict[str, _Locked]] = Field(default_factory=dict)


Lock = Mapping[str, Mapping[str, Pin]]
"""Source -> tool -> what was approved."""


class LockError(ValueError):
    """`toolrt.lock` is not what `toolrt pins approve` writes; the text says why."""


def read_lock(content: bytes) -> Lock:
    """What the file says. Raises LockError."""
    try:
        _refuse_twice(content)
        written = _LockFile.model_validate_json(content)
        return {
            source: {name: _unlocked(name, each) for name, each in tools.items()}
            for source, tools in written.sources.items()
        }
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise LockError(f"{place}: {first['msg']}" if place else str(first["msg"])) from None
    except KeyError as error:
        raise LockError(f"a definition lacks {error}") from None
    except (NotJsonError, UnicodeEncodeError) as error:
        raise LockError(f"a definition {error}") from None


def _refuse_twice(content: bytes) -> None:
    """Refuse a key that stands twice: who reads the file may see the other one. Raises LockError.

    What is no JSON is told by whoever reads it next.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            [(name, _)] = Counter(key for key, _ in pairs).most_common(1)
            raise LockError(f"`{name}` stands there twice")
        return made

    try:
        json.loads(content, object_pairs_hook=once)
    except LockError:
        raise
    except (ValueError, RecursionError):
        return


def written_lock(lock: Lock) -> bytes:
    """The text of the file: sorted, ASCII alone, so that nothing in it can hide in a review."""
    sources = {
        source: {
            name: {"sha256": pin.digest, "definition": pin.document()}
            for name, pin in tools.items()
        }
        for source, tools in lock.items()
    }
    document = {"toolrt": VERSION, "sources": sources}
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n").encode()


def _unlocked(name: str, written: _Locked) -> Pin:
    pin = Pin.of(written.definition)
    if pin.digest != written.sha256 or pin.definition.name != name:
        raise LockError(f"`{name}` is not what its `sha256` says")
    return pin


@dataclass(frozen=True, slots=True)
class Judged:
    """What is to be thought of a definition, and what is pinned in its place."""

    verdict: Verdict
    pin: Pin | None = None


@dataclass
class PinBook:
    """The pins of one runtime: what the store had, and what was first seen since, by source and
    tool. `fresh` and `approved` are yet to be written there: first sights, and what a lock says.

    While it `is_unread` nobody knows what was pinned, and `damaged` are pins that say nothing any
    more: neither is a first sight.
    """

    known: dict[tuple[str, str], Pin] = field(default_factory=dict)
    fresh: dict[tuple[str, str], Pin] = field(default_factory=dict)
    approved: dict[tuple[str, str], Pin] = field(default_factory=dict)
    damaged: set[tuple[str, str]] = field(default_factory=set)
    is_unread: bool = False

    def load(self, stored: Iterable[StoredPin]) -> bool:
        """Take over what the store has; whether that is other than what was known."""
        before = {key: pin.digest for key, pin in self.known.items()}
        for each in stored:
            key = (each.source, each.tool)
            pin = _stored(each)
            if pin is None:
                self.damaged.add(key)
            elif key not in self.approved:
                self.known[key] = pin
        self.is_unread = False
        return any(self.known[key].digest != digest for key, digest in before.items())

    def judged(self, source: str, seen: Pin, lock: Lock) -> Judged:
        """What to think of a definition as it is now; a first sight is a pin."""
        key = (source, seen.definition.name)
        locked = lock.get(source)
        pin = locked.get(key[1]) if locked is not None else self.known.get(key)
        if pin is not None:
            if locked is not None:
                self._approve(key, pin)
            return Judged("same" if pin.digest == seen.digest else "changed", pin)
        if locked is not None or key in self.damaged:
            return Judged("unapproved")
        if self.is_unread:
            return Judged("unread")
        self.known[key] = self.fresh[key] = seen
        return Judged("new", seen)

    def _approve(self, key: tuple[str, str], pin: Pin) -> None:
        """What a lock says is known from then on, though the lock may go."""
        known = self.known.get(key)
        if known is None or known.digest != pin.digest or key in self.damaged:
            self.known[key] = self.approved[key] = pin
            self.fresh.pop(key, None)
            self.damaged.discard(key)

    def pinned(self, source: str, lock: Lock) -> Mapping[str, Pin]:
        """All that is pinned of a source, by tool."""
        if source in lock:
            return lock[source]
        return {tool: pin for (owner, tool), pin in self.known.items() if owner == source}

    def take_fresh(self) -> list[StoredPin]:
        """What was first seen, to be written to the store."""
        fresh, self.fresh = self.fresh, {}
        return [pin.stored(source) for (source, _), pin in fresh.items()]

    def take_approved(self) -> list[StoredPin]:
        """What a lock says, to be written in place of what is in the store."""
        approved, self.approved = self.approved, {}
        return [pin.stored(source) for (source, _), pin in approved.items()]

    async def close(self) -> None:
        """Nothing is held open."""


def _stored(written: StoredPin) -> Pin | None:
    """The pin that the store has; None for one that is damaged."""
    try:
        pin = Pin.of(json.loads(written.definition))
        is_sound = (pin.digest, pin.definition.name) == (written.digest, written.tool)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return pin if is_sound else None
