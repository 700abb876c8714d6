"""Files made anew in one step: written apart, made durable, then put in place (F3).

The draft has no name until it is complete, so that a kill leaves nothing behind; where the file
system knows no such files it has one, which the next write in the folder takes away.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from toolrt.packs.workspace import encoded

_TMPFILE: Final = getattr(os, "O_TMPFILE", 0)
_DRAFT: Final = re.compile(r"\.toolrt-[0-9a-f]{16}\.draft")
_NEW: Final = 0o666
_MOST_LISTED: Final = 10_000


def create(folder: int, name: str, body: bytes) -> os.stat_result:
    """A new file. Raises FileExistsError where there is something of that name."""
    with _written(folder, body, _NEW) as (draft, number):
        if draft is None:
            os.link(f"/proc/self/fd/{number}", encoded(name), dst_dir_fd=folder)
        else:
            os.link(draft, encoded(name), src_dir_fd=folder, dst_dir_fd=folder)
        status = os.fstat(number)
    os.fsync(folder)
    return status


def replace(folder: int, name: str, body: bytes, before: os.stat_result) -> os.stat_result:
    """A file in place of the one that had been `before`: its mode and, where we may, its owner."""
    mode = stat.S_IMODE(before.st_mode) & 0o777
    with _written(folder, body, _NEW) as (draft, number):
        with suppress(PermissionError):
            os.fchown(number, before.st_uid, before.st_gid)
        os.fchmod(number, mode)
        os.fsync(number)
        named = draft or _named(folder, number)
        try:
            os.rename(named, encoded(name), src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            _drop(folder, named)
            raise
        status = os.fstat(number)
    os.fsync(folder)
    return status


def is_draft(name: str) -> bool:
    """Whether it is the name of a file that is not complete."""
    return _DRAFT.fullmatch(name) is not None


def sweep(folder: int) -> None:
    """Take away what a process that was killed has left; the folder's lock must be held."""
    with os.scandir(folder) as listed:
        for _, entry in zip(range(_MOST_LISTED), listed, strict=False):
            if is_draft(entry.name) and entry.is_file(follow_symlinks=False):
                _drop(folder, entry.name)


@contextmanager
def _written(folder: int, body: bytes, mode: int) -> Iterator[tuple[str | None, int]]:
    """A draft with its bytes on the disk, and its name where it needs one."""
    draft, number = _begun(folder, mode)
    try:
        view = memoryview(body)
        while view:
            view = view[os.write(number, view) :]
        os.fsync(number)
        yield draft, number
    finally:
        os.close(number)
        if draft is not None:
            _drop(folder, draft)


def _begun(folder: int, mode: int) -> tuple[str | None, int]:
    if _TMPFILE:
        with suppress(OSError):  # the file system, or the kernel, knows none
            return None, os.open(b".", os.O_WRONLY | os.O_CLOEXEC | _TMPFILE, mode, dir_fd=folder)
    name = _fresh_name()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return name, os.open(name, flags, mode, dir_fd=folder)


def _named(folder: int, number: int) -> str:
    """A name for a draft that has none: a moment later it is that of the file."""
    name = _fresh_name()
    os.link(f"/proc/self/fd/{number}", name, dst_dir_fd=folder)
    return name


def _fresh_name() -> str:
    return f".toolrt-{secrets.token_hex(8)}.draft"


def _drop(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
