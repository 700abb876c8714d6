"""Bugs: what the log tells of one, and a report worth pasting, free of what the user typed.

Whatever is told of an exception, and of those behind it, has its secrets masked.
"""

import contextlib
import logging
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence

from toolrt import __version__
from toolrt.core.redaction import redacted
from toolrt.faces.output import visible

_TOLD = ("toolrt.calls", "toolrt.http", "toolrt.tools")
"""What `--verbose` shows: a line for each call, one for each request without an answer, one for
each attempt that is repeated, and what a tool says with `ctx.log`.
"""

_LONGEST_KEY = 60


def write_report(error: BaseException, args: Sequence[str]) -> str:
    """Writes it to a private file of the temporary folder and says where."""
    handle, path = tempfile.mkstemp(prefix="toolrt-bug-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(_report(error, args))
    return path


def show_trace(error: BaseException) -> None:
    """Says on stderr where it came from."""
    sys.stderr.write(_trace(error) + "\n")


class Witness(logging.Handler):
    """Remembers what ended a call inside toolrt; it is logged, and the result is without it."""

    cause: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.name != "toolrt.tools":  # what a project's own code raised
            self.cause = record.exc_info[1]
        self.cause = getattr(record, "cause", self.cause)


@contextlib.contextmanager
def witnessed(*, is_verbose: bool) -> Iterator[Witness]:
    """Takes the log of toolrt for a while; verbose, its lines about calls go to stderr."""
    log, witness = logging.getLogger("toolrt"), Witness()
    log.addHandler(witness)
    try:
        with _shown(_TOLD) if is_verbose else contextlib.nullcontext():
            yield witness
    finally:
        log.removeHandler(witness)


@contextlib.contextmanager
def _shown(names: Sequence[str]) -> Iterator[None]:
    """The lines of these logs on stderr, each once, whatever logging a tool sets up."""
    handler = logging.StreamHandler()
    logs = [logging.getLogger(name) for name in names]
    for log in logs:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(handler)
            log.setLevel(logging.NOTSET)
            log.propagate = True


def _report(error: BaseException, args: Sequence[str]) -> str:
    return "\n".join(
        [
            f"toolrt {__version__} on Python {platform.python_version()}, {platform.platform()}",
            redacted(visible(f"command: toolrt {' '.join(map(_masked, args))}")),
            f"executable: {sys.executable}",
            "",
            _trace(error),
            "",
        ]
    )


def _trace(error: BaseException) -> str:
    return visible(redacted("".join(traceback.format_exception(error)).rstrip("\n")))


def _masked(arg: str) -> str:
    """An argument without its value: `key=value` is `key=…`, JSON and long texts are `…`."""
    key, sign, _ = arg.partition("=")
    if len(key) > _LONGEST_KEY or arg.lstrip().startswith(("{", "[", '"')):
        return "…"
    return f"{key}=…" if sign else arg
