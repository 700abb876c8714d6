"""Clones of this process: user code may fork, and its child must not go on as the runtime.

Who calls user code compares `FORKS.count` before and after, which is free; a child has one more.
What a process forks for itself and then opens a project in is no clone, for it counts from there.
"""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

_FAILED = 1


class _Forks:
    """How many forks lie between the first process and this one."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def note(self) -> None:
        self.count += 1


FORKS = _Forks()
os.register_at_fork(after_in_child=FORKS.note)


@contextmanager
def without_clones() -> Iterator[None]:
    """User code runs inside: where it forks, the child ends with it and does not go on here."""
    forks = FORKS.count
    try:
        yield
    except BaseException as error:
        if FORKS.count != forks:
            leave_clone(error)
        raise
    if FORKS.count != forks:
        leave_clone()


def leave_clone(error: BaseException | None = None) -> NoReturn:
    """End this process as user code would have ended it, without any of the runtime's own exits.

    Nothing buffered is written, for the parent writes that too.
    """
    if isinstance(error, SystemExit):
        os._exit(_status(error.code))
    if error is not None:
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _report(error))
    os._exit(0 if error is None else _FAILED)


def _status(code: object) -> int:
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else _FAILED


def _report(error: BaseException) -> bytes:
    return "".join(traceback.format_exception(error)).encode("utf-8", "replace")
