"""`os._exit` in user code, which would end the command line with any status and without a word.

A module that is imported, or a callable, gets an exception in its place, which is then told like
any other. A forked child, and what is written in C, may still leave in its own way.
"""

import os
from typing import NoReturn


class HardExitError(SystemExit):
    """Stands where the process would have ended; passes every `except Exception`."""


def refuse_hard_exits() -> None:
    """From now on `os._exit` raises HardExitError in this process."""
    ours, leave = os.getpid(), os._exit

    def refused(status: int) -> NoReturn:
        if os.getpid() != ours:
            leave(status)
        raise HardExitError(f"os._exit({status}) would end toolrt itself, without a word")

    os._exit = refused
