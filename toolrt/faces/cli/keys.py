"""Single keys of a terminal, without an Enter behind them, while the event loop goes on."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


class Keys:
    """What is typed; `next` is None where nothing came in time."""

    def __init__(self) -> None:
        self._typed: asyncio.Queue[str] = asyncio.Queue()

    def take(self) -> None:
        """Reads what is there."""
        for char in os.read(sys.stdin.fileno(), 64).decode("utf-8", "replace"):
            self._typed.put_nowait(char)

    def forget(self) -> None:
        """What was typed before a question is no answer to it."""
        while not self._typed.empty():
            self._typed.get_nowait()

    async def next(self, timeout_s: float) -> str | None:
        try:
            return await asyncio.wait_for(self._typed.get(), timeout_s)
        except TimeoutError:
            return None


@contextmanager
def keys() -> Iterator[Keys]:
    """Reads keys off stdin, which is a terminal; that is as it was afterwards. ^C still ends us."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    typed = Keys()
    loop = asyncio.get_running_loop()
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, typed.take)
    try:
        yield typed
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
