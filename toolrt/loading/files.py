"""Which files of a folder are manifests, and their bytes; the first step from YAML to a snapshot.

Nothing is passed over in silence: a rule that cannot be read must not look like no rule. Hence what
has the name of a manifest and is no file, and a folder that is none, say why.
"""

import os
import stat
from collections.abc import Callable, Collection
from itertools import islice
from pathlib import Path
from typing import Final

from toolrt.loading.reader import SIZE_LIMIT

MOST_NOT_READ: Final = 1000
"""More files below one subfolder are not counted."""
_MOST_FOLDERS: Final = 1000
_SUFFIXES = {".yaml", ".yml"}
_OF_SETTINGS = frozenset({*_SUFFIXES, ".json", ".toml"})
_LEFT_BY_EDITORS = ("~", ".bak", ".orig", ".swo", ".swp", ".swx", ".tmp", ".pyc")


class UnreadableError(Exception):
    """A file or folder cannot be read; the message says why, without its place."""


class MissingError(UnreadableError):
    """There was nothing of that name, not even a link to nowhere."""


def manifest_files(folder: Path) -> list[Path]:
    """What is named as YAML files are, in order; editors' backups and hidden files are not.

    Raises UnreadableError for a folder that is there and cannot be looked into, and for a name
    that none can have.
    """
    try:
        found = list(folder.iterdir())
    except FileNotFoundError:
        if folder.is_symlink():
            raise UnreadableError("its link leads nowhere") from None
        return []
    except (OSError, ValueError) as error:
        raise UnreadableError(_reason(error)) from error
    return sorted(path for path in found if is_manifest_name(path.name))


def is_manifest_name(name: str) -> bool:
    """Whether a file of that name is a manifest; what editors leave beside one is not."""
    return Path(name).suffix.lower() in _SUFFIXES and not name.startswith((".", "#"))


def misnamed(root: Path, name: str) -> list[Path]:
    """The files in `root` that are named almost as `name`, a file of settings: another ending, or
    capitals. Never raises.
    """
    alike = {f"{Path(name).stem}{ending}" for ending in _OF_SETTINGS}
    return _files_in(root, lambda other: other != name and other.lower() in alike)


def passed_over(folder: Path, root: Path) -> list[Path]:
    """The files beside the manifests of `folder` that may well be meant to be some.

    Hidden files, what editors leave behind and what is to be read by people are not; nor is
    anything in a folder that holds all of the project at `root`. Never raises.
    """
    if _holds(folder, root):
        return []
    return _files_in(folder, _may_be_meant)


def _may_be_meant(name: str) -> bool:
    lower = name.lower()
    is_left = lower.endswith(_LEFT_BY_EDITORS) or lower.startswith((".", "#")) or lower == "4913"
    is_text = lower.startswith("readme") or lower.endswith(".md")
    return not (is_left or is_text or is_manifest_name(name))


def _files_in(folder: Path, is_meant: Callable[[str], bool]) -> list[Path]:
    """What is in a folder under such a name and is no folder, in order; nothing where it cannot be
    looked into.
    """
    try:
        meant = [each for each in folder.iterdir() if is_meant(each.name)]
    except (OSError, ValueError):
        return []
    return sorted(each for each in meant if not _is_folder(each))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _holds(folder: Path, root: Path) -> bool:
    """Whether all of the project is in the folder."""
    return root.absolute().is_relative_to(os.path.normpath(folder.absolute()))


def not_read(folder: Path, root: Path, own: Collection[Path]) -> dict[Path, list[Path]]:
    """The subfolders of `folder` that have manifests at any depth, with at most 1000 of these.

    `own` are the folders that are read themselves. Hidden folders and links are left alone, and so
    is what holds all of the project at `root`: its subfolders are for anything. Never raises; what
    cannot be looked into is passed over.
    """
    if _holds(folder, root):
        return {}
    read = {os.path.normpath(each) for each in own}
    tops = [each for each in _subfolders(folder, read) if not is_manifest_name(each.name)]
    found = {top: _manifests_below(top, read) for top in tops}
    return {top: files for top, files in found.items() if files}


def _subfolders(folder: Path, read: Collection[str]) -> list[Path]:
    """The folders in `folder` that are to be looked into."""
    try:
        _, names, _ = next(os.walk(folder), ("", [], []))
    except ValueError:  # a name that no folder can have
        return []
    return [folder / name for name in sorted(names) if _is_apart(folder / name, read)]


def _manifests_below(top: Path, read: Collection[str]) -> list[Path]:
    found: list[Path] = []
    for where, names, files in islice(os.walk(top, followlinks=False), _MOST_FOLDERS):
        here = Path(where)
        names[:] = [name for name in sorted(names) if _is_apart(here / name, read)]
        found += [here / name for name in sorted(files) if is_manifest_name(name)]
        if len(found) >= MOST_NOT_READ:
            break
    return found[:MOST_NOT_READ]


def _is_apart(folder: Path, read: Collection[str]) -> bool:
    """Whether nobody reads a folder that is neither hidden nor a link."""
    is_hidden = folder.name.startswith(".")
    return not (is_hidden or folder.is_symlink() or os.path.normpath(folder) in read)


def is_missing(path: Path) -> bool:
    """Whether surely nothing is there; what cannot be looked for may well be."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


def content(path: Path, limit: int = SIZE_LIMIT) -> bytes:
    """The bytes of a regular file; of a larger one than `limit` one byte more than that.

    Raises UnreadableError for anything else; a pipe or a device is not waited for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _start(descriptor, limit)
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        kind = UnreadableError if path.is_symlink() else MissingError
        raise kind(_reason(error)) from error
    except (OSError, ValueError) as error:
        raise UnreadableError(_reason(error)) from error


def _start(descriptor: int, limit: int) -> bytes:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise UnreadableError("it is no regular file")
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(limit + 1)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return "no file has a name with a NUL or half a character in it"
    return (error.strerror or "unknown error").lower()
