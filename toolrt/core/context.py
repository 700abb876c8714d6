"""What a Python callable may ask of the call it serves.

A parameter annotated `toolrt.Context` is left out of the schema and filled in here.
"""

import asyncio
import logging
from pathlib import Path

from toolrt.core import logs
from toolrt.core.calls import Caller, Invocation
from toolrt.core.redaction import redacted
from toolrt.core.unseen import harmless

_LOG = logs.TOOLS
_LONGEST_LINE = 64 * 1024


class Context:
    """The running call: who asked, how long is left, and ways to be heard.

    Made where the call is served; may be used in any thread.
    """

    __slots__ = ("_invocation", "_loop", "_project")

    def __init__(self, invocation: Invocation, project: Path | None = None) -> None:
        self._invocation = invocation
        self._project = project or Path()
        self._loop = _running_loop()

    @property
    def caller(self) -> Caller:
        return self._invocation.caller

    @property
    def call_id(self) -> str:
        return self._invocation.call_id

    @property
    def tool(self) -> str:
        """The tool's full name."""
        return self._invocation.tool

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self._project

    @property
    def expected(self) -> str | None:
        """The version that the caller has seen of what this call changes, by the tool's
        `freshness`: compare it in the same step as you change it, and raise a `ToolError` of the
        code `conflict` where it is another. None where nobody told one.
        """
        sighting = self._invocation.sighting
        return sighting.expected if sighting is not None else None

    def saw(self, version: str) -> None:
        """Tell the version of what this call has read, or made: a text that is another one
        whenever the thing is. It counts once the call has gone well.
        """
        sighting = self._invocation.sighting
        if sighting is not None:
            sighting.told = str(version)

    @property
    def idempotency_key(self) -> str | None:
        """What the tool's `idempotency_key` made: the same for the same effect, and for all
        attempts. Hand it on to whoever does the work. None where the tool has none.
        """
        return self._invocation.idempotency_key

    @property
    def deadline_s(self) -> float:
        """Seconds until the whole call must have ended; never negative."""
        return max(0.0, self._invocation.remaining_s())

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell whoever waits how far the work is, secrets masked; nothing happens when nobody
        listens.
        """
        if self._invocation.on_progress is None or self._invocation.is_orphaned:
            return
        message = harmless(redacted(str(message)))
        if self._loop is None or _running_loop() is self._loop:
            self._tell(done, total, message)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, done, total, message)

    def log(self, message: str, level: str = "info") -> None:
        """Write a line to the operator's log `toolrt.tools`, whatever characters it holds, secrets
        masked, at most 64 Ki characters; `level` is a name of the logging module.
        """
        number = logging.getLevelNamesMapping().get(str(level).upper(), logging.INFO)
        if not _LOG.isEnabledFor(number):
            return
        details = {"call_id": self.call_id, "tool": self.tool}
        text = redacted(str(message))
        if len(text) > _LONGEST_LINE:
            text = f"{text[:_LONGEST_LINE]}…"
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
        _LOG.log(number, "%s [%s]: %s", self.tool, self.call_id, line, extra=details)

    def _tell(self, done: float, total: float | None, message: str) -> None:
        listener = self._invocation.on_progress
        if listener is None or self._invocation.is_orphaned:
            return
        try:
            listener(done, total, message)
        except Exception as error:  # it is the host's own, and no failure of the tool
            if self._loop is None:
                raise
            told = {"message": "a listener of progress failed", "exception": error}
            self._loop.call_exception_handler(told)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
