"""Files of the project on their way into a request: opened below their root, read under a cap.

The path was checked when the arguments were; here it is walked again name by name without following
a link (F1), so that nothing that was moved in between leads elsewhere. Only a regular file is read
(F5).
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NoReturn

from toolrt.bindings.os_text import encoded
from toolrt.bindings.paths import PathRule
from toolrt.core.errors import RefusedError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 1024 * 1024
_WHY = {
    errno.EACCES: "may not be read",
    errno.ELOOP: "is a symbolic link, which is not followed",
    errno.ENOENT: "is not there",
    errno.ENOTDIR: "does not lead through folders alone; links are not followed",
    errno.ENXIO: "is no regular file",
}


class Upload(str):
    """A path argument as it was handed on, that knows the file which it names."""

    __slots__ = ("names", "root")

    names: list[str]
    root: bytes

    @classmethod
    def of(cls, rule: PathRule, value: str) -> "Upload":
        made = cls(value)
        made.root, made.names = rule.root, rule.below(value)
        return made

    @property
    def shown(self) -> str:
        """The path below its root, as the caller knows it."""
        return "/".join(self.names) or "."

    @property
    def media_type(self) -> str:
        """What its name says that it is."""
        _, dot, extension = self.names[-1].rpartition(".")
        return _types().get(f"{dot}{extension.lower()}", "application/octet-stream")

    def read(self, most_bytes: int) -> bytes:
        """The file. Raises RefusedError when it cannot be read whole, or is larger."""
        with self._opened() as file:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                self._refuse("is no regular file")
            pieces, size = [], 0
            while piece := os.read(file, min(_PIECE, most_bytes + 1 - size)):
                pieces.append(piece)
                size += len(piece)
                if size > most_bytes:
                    self._refuse("is larger than what a request may carry")
        return b"".join(pieces)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        held: list[int] = []
        try:
            held.append(os.open(self.root, _FOLDER))
            for name in map(encoded, self.names[:-1]):
                held.append(os.open(name, _FOLDER, dir_fd=held[-1]))
            last = encoded(self.names[-1]) if self.names else b"."
            held.append(os.open(last, _FILE, dir_fd=held[-1]))
            yield held[-1]
        except OSError as error:
            self._refuse(_WHY.get(error.errno or 0, "cannot be read"), error)
        finally:
            for descriptor in held:
                os.close(descriptor)

    def _refuse(self, why: str, error: OSError | None = None) -> NoReturn:
        is_missing = error is not None and error.errno == errno.ENOENT
        raise RefusedError(
            f"the file `{self.shown}` {why}",
            code="not-found" if is_missing else "invalid-arguments",
        ) from error


@cache
def _types() -> dict[str, str]:
    """Media types by extension: those of the library, whatever this machine has beside."""
    from mimetypes import MimeTypes  # noqa: PLC0415 - it reads files

    return dict(MimeTypes().types_map[True])
