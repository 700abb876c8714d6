"""Waits until nobody writes the files of a project any more.

Twice the same bytes, a moment apart, is what settled means: a file that is half written, or a
folder of which half has been copied, is not looked at (L3).
"""

from collections.abc import Callable
from typing import Final

from toolrt.bindings.threads import aside
from toolrt.core.clock import Clock
from toolrt.loading.stock import Stock

APART_S: Final = 0.05
MOST_S: Final = 2.0


async def settled(take: Callable[[], Stock], clock: Clock) -> Stock | None:
    """The files once two looks at them are the same; None when they never are within 2 s."""
    give_up = clock.monotonic() + MOST_S
    before = await aside(take)
    while clock.monotonic() < give_up:
        await clock.sleep(APART_S)
        again = await aside(take)
        if again.is_as(before) and before.is_as(again):
            return again
        before = again
    return None
