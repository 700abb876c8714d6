"""Callables that fail in ways a runtime should know about."""

import asyncio

import toolrt

tries = 0


async def busy(until: int = 2) -> str:
    """Busy at first; answers at the attempt after `until`."""
    global tries  # noqa: PLW0603 - the point of it is to remember
    tries += 1
    if tries <= until:
        raise toolrt.ToolError(f"busy, try {tries}", code="unavailable", retryable=True)
    return f"answered at try {tries}"


async def slow(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return f"after {seconds} s"
