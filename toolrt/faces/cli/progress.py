"""One line on the terminal while a call takes long: what runs, for how long, what it says.

Nothing is written when stderr is no terminal, with `--quiet`, or within the first second.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator

from toolrt.faces.output import Screen, columns, one_line

Report = tuple[float, float | None, str]

_AFTER_S = 1.0
_EVERY_S = 0.1
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_CLEAR = "\r\x1b[K"


class Progress:
    """Draws the line; `report` is what a call tells about itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = time.monotonic()
        self._said = ""
        self._is_drawn = False

    def report(self, progress: float, total: float | None, message: str) -> None:
        """Takes `progress` of `total` and a message; drawn with the next frame."""
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}" if progress else ""
        self._said = " ".join(filter(None, (share, one_line(message))))

    async def draw(self) -> None:
        """Draws until cancelled."""
        await asyncio.sleep(_AFTER_S)
        frame = 0
        while True:
            self._is_drawn = True
            sys.stderr.write(f"{_CLEAR}{self._line(frame)}")
            sys.stderr.flush()
            frame += 1
            await asyncio.sleep(_EVERY_S)

    def clear(self) -> None:
        """Leaves the terminal as it was."""
        if self._is_drawn:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()

    def _line(self, frame: int) -> str:
        elapsed = time.monotonic() - self._started
        line = f"{_FRAMES[frame % len(_FRAMES)]} {self._name} {elapsed:.0f} s {self._said}"
        return line.rstrip()[: columns(sys.stderr) - 1]


@contextlib.asynccontextmanager
async def watched(name: str, screen: Screen) -> AsyncIterator[Progress]:
    """Draws progress around a call, when there is somebody to see it."""
    progress = Progress(name)
    if screen.is_quiet or not sys.stderr.isatty():
        yield progress
        return
    drawing = asyncio.create_task(progress.draw())
    try:
        yield progress
    finally:
        drawing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await drawing
        progress.clear()
