"""Who may write in a folder: one at a time, in this process and in all others that ask.

The lock is the folder's own (`flock` on its descriptor), so that it ends with whoever holds it.
"""

import errno
import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from toolrt.core.errors import ToolError

_LOOK_AGAIN_S: Final = 0.005
_BUSY: Final = frozenset({errno.EAGAIN, errno.EACCES})
_WITHOUT = threading.Lock()
"""For folders that cannot be locked: then only this process is held off."""


@contextmanager
def only_writer(folder: int, left_s: Callable[[], float]) -> Iterator[None]:
    """Be the only one who writes there. Raises ToolError (conflict) where that takes too long."""
    if _taken(folder, left_s):
        try:
            yield
        finally:
            fcntl.flock(folder, fcntl.LOCK_UN)
        return
    with _WITHOUT:
        yield


def _taken(folder: int, left_s: Callable[[], float]) -> bool:
    """Whether the folder's lock is ours now; False where it has none."""
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                return False
        else:
            return True
        if left_s() < _LOOK_AGAIN_S:
            message = "somebody else is writing in the same folder"
            raise ToolError(message, code="conflict", hint="nothing was changed; try again")
        time.sleep(_LOOK_AGAIN_S)
