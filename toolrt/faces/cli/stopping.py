"""Signals that ask the command line to end: the call ends first, with all that it started.

The first signal cancels the call: its children get TERM and time to clean up. With the next one
every wait is cut short: they are killed. Before the call there is nothing to clean up, and the
first signal ends the work at once, whatever module is just being imported.
"""

import asyncio
import signal
import threading
import time
from typing import Any, Self

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_EVERY_S = 0.05
_DEAF_S = 1.0


class Stopping:
    """Takes the signals while it is entered, which is in the task that is to end."""

    def __init__(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._before: dict[signal.Signals, Any] = {}
        self._signals = 0
        self._waits_since: float | None = None
        self._is_gentle = False

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in _NUMBERS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # such as by `nohup`
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def be_gentle(self) -> None:
        """From here on there may be children: the task is cancelled, nothing is interrupted."""
        self._is_gentle = True

    def check(self) -> None:
        """Raises CancelledError when a signal has come, heard by the loop or not."""
        if self._is_gentle and self._signals:
            raise asyncio.CancelledError

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._signals += 1
        if not self._is_gentle or self._is_deaf():
            raise KeyboardInterrupt
        if self._waits_since is None:
            self._waits_since = time.monotonic()
        self._loop.call_soon_threadsafe(self._cancel)

    def _is_deaf(self) -> bool:
        """Whether user code blocks the loop, so that it has not even heard of the signal before."""
        since = self._waits_since
        return since is not None and time.monotonic() - since > _DEAF_S

    def _cancel(self) -> None:
        self._waits_since = None
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        if self._signals > 1:
            self._loop.call_later(_EVERY_S, self._cancel)
