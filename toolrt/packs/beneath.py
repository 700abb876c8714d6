"""Opens what lies below a folder, and nothing else, whatever is moved meanwhile (F1).

Linux does it in one step (`openat2`); where that is missing the names are walked one by one. No
symbolic link is followed either way.
"""

import ctypes
import errno
import os
from collections.abc import Sequence
from functools import cache
from typing import Final

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OPENAT2: Final = 437
"""The number of the call, the same on every architecture (linux/openat2.h)."""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_RESOLVE: Final = _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS
_MOST_TRIES: Final = 100
"""The kernel gives up (EAGAIN) where something is renamed at the same time."""


class _How(ctypes.Structure):
    """`struct open_how`."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(folder: int, parts: Sequence[bytes], flags: int) -> int:
    """A descriptor of what `parts` lead to from `folder`, itself where there are none.

    Raises OSError: ELOOP for a link on the way, ENOENT, ENOTDIR and the others of `open`.
    """
    if has_openat2():
        return _at_once(folder, b"/".join(parts) or b".", flags)
    return _step_by_step(folder, parts, flags)


@cache
def has_openat2() -> bool:
    """Whether this system has the call, and lets us make it."""
    try:
        here = os.open("/", FOLDER)
    except OSError:
        return False
    try:
        os.close(_at_once(here, b".", FOLDER))
    except OSError:
        return False
    finally:
        os.close(here)
    return True


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _at_once(folder: int, path: bytes, flags: int) -> int:
    how = _How(flags | os.O_CLOEXEC, 0, _RESOLVE)
    for _ in range(_MOST_TRIES):
        made: int = _libc().syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if made >= 0:
            return made
        number = ctypes.get_errno()
        if number not in {errno.EAGAIN, errno.EINTR}:
            break
    raise OSError(number, os.strerror(number))


def _step_by_step(folder: int, parts: Sequence[bytes], flags: int) -> int:
    """Each name from the folder before it; a name is never more than one step."""
    here = os.open(b".", FOLDER, dir_fd=folder)
    for name in parts[:-1]:
        here = _next(here, name, FOLDER)
    return _next(here, parts[-1] if parts else b".", flags)


def _next(here: int, name: bytes, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    except NotADirectoryError:
        if _is_link(here, name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    finally:
        os.close(here)


def _is_link(here: int, name: bytes) -> bool:
    try:
        os.readlink(name, dir_fd=here)
    except OSError:
        return False
    return True
