"""Files that belong to one user: made whole, at once, and for nobody else's eyes."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolrt.stores.base import StoreError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def make_folder(folder: Path) -> None:
    """Make `folder` (0700) unless it is there; the one around it must be there."""
    with reaching(folder):
        folder.mkdir(mode=0o700, exist_ok=True)


def is_there(path: Path) -> bool:
    """Whether anything of that name is there, a link to nothing included.

    Raises StoreError where that cannot be looked for.
    """
    return _mode(path) is not None


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and number of the file, by which it is known whatever it is called."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_plain(*paths: Path) -> None:
    """Raise StoreError where something else than a file stands at one of these. Nothing is fine.

    A link is refused, too: what is written, or closed to others, would be somebody else's file.
    """
    for path in paths:
        mode = _mode(path)
        if mode is None or stat.S_ISREG(mode):
            continue
        kind = next((word for is_it, word in _KINDS if is_it(mode)), "a device")
        raise StoreError(
            "unreachable",
            f"{path} is {kind}, and no file",
            hint="move it away and bring the file back, or name another place under `state`",
        )


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
        draft = _draft(path)
    try:
        yield draft
        with reaching(path), suppress(FileExistsError):
            os.link(draft, path)
            _sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put `content` in place of what is at `path`, at once: nobody ever reads half of it.

    Raises OSError; what was there stays then.
    """
    draft = _draft(path)
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(path)
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


def _draft(path: Path) -> Path:
    """A new file (0600) beside `path`."""
    number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(number)
    return Path(name)


def _mode(path: Path) -> int | None:
    """What stands there itself; None for nothing."""
    with reaching(path):
        try:
            return path.lstat().st_mode
        except FileNotFoundError:
            return None


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
