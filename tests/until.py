"""Waits for what tests bring about: the loop goes on meanwhile, and nobody sleeps by the clock."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def until(look: Callable[[], Any], within_s: float = 20.0) -> Any:
    """What `look` gives, or comes to, once that is something. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while True:
            found = look()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0)
