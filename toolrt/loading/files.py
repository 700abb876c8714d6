"""Which files of a folder are manifests, and their bytes; the first step from YAML to a snapshot.

Nothing is passed over in silence: a rule that cannot be read must not look like no rule. Hence what
has the name of a manifest and is no file, and a folder that is none, say why.
"""

import os
import stat
from pathlib import Path

from toolrt.loading.reader import SIZE_LIMIT

_SUFFIXES = {".yaml", ".yml"}


class UnreadableError(Exception):
    """A file or folder cannot be read; the message says why, without its place."""


def manifest_files(folder: Path) -> list[Path]:
    """What is named as YAML files are, in order; editors' backups and hidden files are not.

    Raises UnreadableError for a folder that is there and cannot be looked into.
    """
    try:
        found = list(folder.iterdir())
    except FileNotFoundError:
        if folder.is_symlink():
            raise UnreadableError("its link leads nowhere") from None
        return []
    except OSError as error:
        raise UnreadableError(_reason(error)) from error
    return sorted(
        path for path in found if path.suffix in _SUFFIXES and not path.name.startswith((".", "#"))
    )


def content(path: Path) -> bytes:
    """The bytes of a regular file, or of its start when it is larger than a manifest may be.

    Raises UnreadableError for anything else; a pipe or a device is not waited for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _start(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UnreadableError(_reason(error)) from error


def _start(descriptor: int) -> bytes:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise UnreadableError("it is no regular file")
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(SIZE_LIMIT + 1)


def _reason(error: OSError) -> str:
    return (error.strerror or "unknown error").lower()
