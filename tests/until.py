"""Waits for what tests bring about: the loop goes on meanwhile, and nobody sleeps by the clock."""

import asyncio
import inspect
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

PROC = Path("/proc")


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


def is_running(*command: str) -> bool:
    """Whether a process runs of exactly that command."""
    if not PROC.is_dir():
        wanted = f"^{' '.join(command)}$"
        return (
            subprocess.run(
                ["pgrep", "-f", wanted], check=False, stdout=subprocess.DEVNULL
            ).returncode
            == 0
        )
    wanted_ = "".join(f"{word}\0" for word in command).encode()
    for each in PROC.glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if each.read_bytes() == wanted_:
                return True
    return False
