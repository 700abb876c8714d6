"""Bugs: what the log tells of one, and a report worth pasting, free of what the user typed."""

import contextlib
import logging
import os
import platform
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence

from toolrt import __version__

_VALUE = re.compile(r"^([^=]{1,60}=).*", re.DOTALL)


def write_report(error: BaseException, args: Sequence[str]) -> str:
    """Writes it to a private file of the temporary folder and says where."""
    handle, path = tempfile.mkstemp(prefix="toolrt-bug-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(_report(error, args))
    return path


class Witness(logging.Handler):
    """Remembers the bug that ended a call; the gateway logs it and gives a result without it."""

    bug: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.bug = record.exc_info[1]


@contextlib.contextmanager
def witnessed(*, is_verbose: bool) -> Iterator[Witness]:
    """Takes the log of toolrt for a while; verbose, its line for each call goes to stderr."""
    log, calls = logging.getLogger("toolrt"), logging.getLogger("toolrt.calls")
    witness, shown = Witness(), logging.StreamHandler()
    log.addHandler(witness)
    if is_verbose:
        calls.addHandler(shown)
        calls.setLevel(logging.INFO)
        calls.propagate = False  # one line a call, whatever logging a tool sets up
    try:
        yield witness
    finally:
        log.removeHandler(witness)
        calls.removeHandler(shown)
        calls.setLevel(logging.NOTSET)
        calls.propagate = True


def _report(error: BaseException, args: Sequence[str]) -> str:
    return "\n".join(
        [
            f"toolrt {__version__} on Python {platform.python_version()}, {platform.platform()}",
            f"command: toolrt {' '.join(_masked(args))}",
            f"executable: {sys.executable}",
            "",
            *(line.rstrip("\n") for line in traceback.format_exception(error)),
            "",
        ]
    )


def _masked(args: Sequence[str]) -> list[str]:
    """The arguments without values: `key=value` is `key=…`, JSON is `…`."""
    return ["…" if arg.lstrip().startswith("{") else _VALUE.sub(r"\1…", arg) for arg in args]
