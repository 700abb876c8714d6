"""One folder that file tools work in, and its parts that they leave alone.

Everything is opened from the folder's own descriptor, which a call holds as long as it runs.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolrt.core.errors import ToolError
from toolrt.core.relative import parts_of
from toolrt.packs.beneath import FOLDER, open_beneath
from toolrt.packs.refusals import refusal, telling

READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
"""A pipe or a device keeps nobody waiting (F5)."""
_UNSEEN: Final = frozenset({".toolrt"})
"""State and keys of a project: no tool sees them."""
_UNWRITTEN: Final = frozenset({".git", "policies.d", "tools.d", "toolrt.yaml"})
"""What would give whoever writes it more than the tool does."""


def encoded(name: str) -> bytes:
    """A name as the system has it."""
    return name.encode("utf-8", "surrogateescape")


def is_unseen(name: str) -> bool:
    return name.casefold() in _UNSEEN


def names_of(path: str, parameter: str = "path") -> list[str]:
    """The names that lead to `path`. Raises ToolError (invalid-arguments) before anything is
    opened.
    """
    try:
        parts = parts_of(path)
    except ValueError as error:
        hint = "give a path inside the workspace, such as sub/name.txt"
        raise ToolError(f"`{parameter}` {error}", code="invalid-arguments", hint=hint) from None
    if any(map(is_unseen, parts)):
        raise refusal("/".join(parts), "access-denied", "is not for tools")
    return parts


def refuse_unwritten(parts: Sequence[str]) -> None:
    """Raise ToolError where the path is one that tools may read at most."""
    if any(name.casefold() in _UNWRITTEN for name in parts):
        raise refusal("/".join(parts), "access-denied", "may be read, but not written, by tools")


class Workspace:
    """An open folder."""

    def __init__(self, root: int) -> None:
        self.root = root

    def open(self, parts: Sequence[str], flags: int) -> int:
        """A descriptor. Raises OSError."""
        return open_beneath(self.root, [encoded(name) for name in parts], flags)

    @contextmanager
    def folder(self, parts: Sequence[str]) -> Iterator[int]:
        """The folder at `parts`, while it is used. Raises ToolError."""
        shown = "/".join(parts) or "."
        with telling(shown):
            held = self.open(parts, FOLDER)
        try:
            yield held
        finally:
            os.close(held)

    @contextmanager
    def file(self, parts: Sequence[str]) -> Iterator[int]:
        """The regular file at `parts`, to be read. Raises ToolError."""
        shown = "/".join(parts) or "."
        with telling(shown):
            held = self.open(parts, READ)
        try:
            check_regular(held, shown)
            yield held
        finally:
            os.close(held)


def check_regular(held: int, shown: str) -> os.stat_result:
    """Raise ToolError where it is no regular file (F5)."""
    found = os.fstat(held)
    if stat.S_ISDIR(found.st_mode):
        raise refusal(shown, "access-denied", "is a folder", "list it, or name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise refusal(shown, "access-denied", "is no regular file")
    return found


@contextmanager
def opened(root: str, project: Path) -> Iterator[Workspace]:
    """The workspace that a manifest names: below the project, unless it is written absolute.

    Raises ToolError (unavailable).
    """
    try:
        held = _opened(root, project)
    except (OSError, ValueError) as error:
        message = f"the workspace cannot be used: {_reason(error)}"
        hint = "tell the operator; only the manifest can change that"
        raise ToolError(message, code="unavailable", hint=hint) from error
    try:
        yield Workspace(held)
    finally:
        os.close(held)


def _opened(root: str, project: Path) -> int:
    if root.startswith("/"):
        return os.open(root, FOLDER)
    parts = [encoded(name) for name in parts_of(root)]
    base = os.open(project, FOLDER)
    try:
        return open_beneath(base, parts, FOLDER)
    finally:
        os.close(base)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return f"`root` {error}"
    reasons = {errno.ENOENT: "there is no such folder", errno.ELOOP: "it is a symbolic link"}
    return reasons.get(error.errno or 0, error.strerror or "it cannot be opened")
