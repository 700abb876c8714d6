"""Files that belong to one user: made whole, at once, and for nobody else's eyes."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolrt.stores.base import StoreError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(folder: Path) -> None:
    """Make `folder` (0700) unless it is there; the one around it must be there."""
    with reaching(folder):
        folder.mkdir(mode=0o700, exist_ok=True)


def is_there(path: Path) -> bool:
    """Whether there is such a file. Raises StoreError where that cannot be looked for."""
    with reaching(path):
        return path.exists()


def close_to_others(path: Path) -> None:
    """Take from everybody else what they may do with the file."""
    with reaching(path):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & _OTHERS:
            path.chmod(mode & ~_OTHERS)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """An empty file (0600) to fill, which becomes `path` in the end, if nothing else has.

    Of several processes that make the same file one wins, and nobody ever sees half of it.
    """
    with reaching(path):
        number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(number)
    draft = Path(name)
    try:
        yield draft
        with reaching(path), suppress(FileExistsError):
            os.link(draft, path)
            _sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def reaching(path: Path) -> Iterator[None]:
    """Tell an operating system's error about `path` as a `StoreError`."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            "unreachable",
            f"{path} cannot be used: {error.strerror or error}",
            hint="check that the folder is there, is yours, may be written and has room",
        ) from error


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
