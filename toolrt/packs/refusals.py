"""What a file tool says when it does not do what it was asked; never a path of this machine."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from toolrt.core.errors import ToolError

_LINK = "is a symbolic link, or lies behind one, and links are not followed"
_WHY = {
    errno.EACCES: ("access-denied", "may not be used: the operating system says no"),
    errno.EDQUOT: ("unavailable", "could not be written: the disk is full"),
    errno.EISDIR: ("access-denied", "is a folder"),
    errno.ELOOP: ("blocked-target", _LINK),
    errno.ENAMETOOLONG: ("invalid-arguments", "is too long a name"),
    errno.ENOENT: ("not-found", "is not there"),
    errno.ENOSPC: ("unavailable", "could not be written: the disk is full"),
    errno.ENOTDIR: ("not-found", "is not there: a name on the way is no folder"),
    errno.ENXIO: ("access-denied", "is no regular file"),
    errno.EPERM: ("access-denied", "may not be used: the operating system says no"),
    errno.EROFS: ("access-denied", "may not be written here"),
    errno.EXDEV: ("blocked-target", "leads out of the workspace"),
}
_OTHER = ("execution-failed", "cannot be used")
_HINTS = {"not-found": "look what is there: list the folder, or search with a pattern"}


def refusal(shown: str, code: str, why: str, hint: str | None = None) -> ToolError:
    """The failure about the path `shown`."""
    return ToolError(f"`{visible(shown)}` {why}", code=code, hint=hint or _HINTS.get(code))


@contextmanager
def telling(shown: str) -> Iterator[None]:
    """What the system says about `shown`, as a failure of the call."""
    try:
        yield
    except OSError as error:
        raise refusal(shown, *_WHY.get(error.errno or 0, _OTHER)) from error


def visible(name: str) -> str:
    r"""A name or a line in which nothing can hide: what is not to be seen is spelled (`\x1b`)."""
    if name.isprintable():
        return name
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)
