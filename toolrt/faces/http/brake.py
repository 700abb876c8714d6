"""A brake on guessing keys: so many wrong ones from an address, and from all of them, in a time.

Once they are used up, each key that was not proven before is held for a moment before it is looked
at, right or wrong; a right one is let in all the same, so nobody who shares an address with a
guesser is locked out. A wrong one is told exactly when the next guess counts again. Keys are looked
up by their SHA-256: how long that takes says nothing about any key.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Final

from toolrt.faces.http.problems import ProblemError
from toolrt.observe.metrics import Reading

EACH_S: Final = 6.0
AT_ONCE: Final = 10
"""Wrong keys of one address: ten, and one more every six seconds."""

ALL_EACH_S: Final = 0.1
ALL_AT_ONCE: Final = 200
"""The same of all addresses."""

HELD_S: Final = 1.0
MOST_HELD: Final = 200
"""How long keys are held, and how many at a time; others wait for their turn."""

_NOTHING_S: Final = 1e-6
"""What sums of fractions may be off by."""

_MOST_ADDRESSES: Final = 4096
_BITS_OF_ONE: Final = 64
"""Of an IPv6 address; the rest is given out by whoever has it."""


@dataclass(slots=True)
class _Bucket:
    """Places for wrong keys. `until` is when all of them are free again."""

    each_s: float
    at_once: int
    until: float = 0.0

    def wait_s(self, now: float) -> float:
        """Seconds until the next place is free."""
        wait_s = self.until - now - (self.at_once - 1) * self.each_s
        return wait_s if wait_s > _NOTHING_S else 0.0

    def take(self, now: float) -> None:
        self.until = max(self.until, now) + self.each_s


@dataclass(slots=True)
class Brake:
    """Counts wrong keys; `clock` tells seconds."""

    clock: Callable[[], float] = time.monotonic
    counted: Counter[str] = field(default_factory=Counter)
    _all: _Bucket = field(default_factory=lambda: _Bucket(ALL_EACH_S, ALL_AT_ONCE))
    _by_address: dict[str, _Bucket] = field(default_factory=dict)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_HELD))

    def wait_s(self, address: str) -> float:
        """How long guesses from there have to wait; 0 while the brake is off."""
        now, own = self.clock(), self._by_address.get(_network(address))
        return max(self._all.wait_s(now), own.wait_s(now) if own is not None else 0.0)

    async def hold(self, address: str) -> None:
        """Wait for a place, and there for a moment, where the brake is on. Whoever goes meanwhile
        must be cancelled: their place is for others.
        """
        if self.wait_s(address):
            async with self._places:
                await asyncio.sleep(HELD_S)

    def check(self, address: str) -> None:
        """Count a wrong key. Raises ProblemError while guesses from there have to wait: those do
        not count, so that the time for it does not grow.
        """
        wait_s = self.wait_s(address)
        if wait_s:
            raise self._too_many(wait_s)
        self.counted["refused"] += 1
        now = self.clock()
        self._all.take(now)
        self._of(_network(address), now).take(now)

    def readings(self) -> Iterator[Reading]:
        """How many there were, for the page of metrics."""
        for answer in ("refused", "braked"):
            yield Reading("toolrt_wrong_keys_total", (answer,), self.counted[answer])

    def _too_many(self, wait_s: float) -> ProblemError:
        self.counted["braked"] += 1
        after_s = math.ceil(wait_s)
        return ProblemError(
            429,
            "rate-limited",
            "there were too many wrong keys",
            hint=f"try again in {after_s} s",
            headers=[(b"retry-after", b"%d" % after_s)],
        )

    def _of(self, network: str, now: float) -> _Bucket:
        known = self._by_address
        if len(known) >= _MOST_ADDRESSES and network not in known:
            for name in [name for name, each in known.items() if each.until <= now]:
                del known[name]
            if len(known) >= _MOST_ADDRESSES:
                del known[next(iter(known))]
        return known.setdefault(network, _Bucket(EACH_S, AT_ONCE))


def _network(address: str) -> str:
    """What stands for who has an address."""
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return address
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return str(int(read) >> (128 - _BITS_OF_ONE))
