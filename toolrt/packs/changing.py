"""Files changed under the folder's lock: looked at, compared with what was seen, replaced (F3, F4).

What the caller has seen and what is replaced are compared on the same descriptor; whoever writes
without the lock is noticed up to the moment of the exchange.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from toolrt.core.context import Context
from toolrt.core.errors import ToolError
from toolrt.packs import drafts
from toolrt.packs.beneath import open_beneath
from toolrt.packs.locks import only_writer
from toolrt.packs.refusals import refusal, telling
from toolrt.packs.versions import Sight, marks, seen
from toolrt.packs.workspace import READ, Workspace, check_regular, encoded, refuse_unwritten

_FOLDER_MODE: Final = 0o777
_READ_AGAIN: Final = "nothing was changed; read it again, then decide anew what to change"

Change = Callable[[Sight, str], bytes]
"""From what a file holds, and how it is called, to what it is to hold. It may raise ToolError."""


def change(workspace: Workspace, parts: Sequence[str], make: Change, call: Context) -> bool:
    """Put what `make` gives in the file's place; its new version is what the caller has seen.

    False where there is no such file, nor was one seen. Raises ToolError, and then nothing has
    changed.
    """
    shown = "/".join(parts)
    with _locked(workspace, parts, call) as folder, telling(shown):
        try:
            held = open_beneath(folder, [encoded(parts[-1])], READ)
        except FileNotFoundError:
            if call.expected is not None:
                raise _deleted(shown) from None
            return False
        try:
            made = _exchange(folder, held, parts, make, call)
        finally:
            os.close(held)
        call.saw(made.version)
    return True


def create(workspace: Workspace, parts: Sequence[str], body: bytes, call: Context) -> bool:
    """Make a new file, and the folders around it; False where there is something already."""
    shown = "/".join(parts)
    _make_folders(workspace, parts[:-1])
    with _locked(workspace, parts, call) as folder, telling(shown):
        try:
            status = drafts.create(folder, parts[-1], body)
        except FileExistsError:
            return False
        call.saw(Sight(body, status).version)
    return True


def _exchange(folder: int, held: int, parts: Sequence[str], make: Change, call: Context) -> Sight:
    """The file as it is afterwards."""
    shown = "/".join(parts)
    status = check_regular(held, shown)
    if status.st_nlink > 1:
        why = "has another name somewhere else (a hard link), which would change with it"
        raise refusal(shown, "blocked-target", why, "write a new file in its place")
    sight = seen(held, shown)
    if call.expected is not None and call.expected != sight.version:
        raise _changed(shown)
    body = make(sight, shown)
    is_same = marks(os.fstat(held)) == marks(sight.status)
    if not is_same or not _is_still(folder, parts[-1], sight.status):
        raise _changed(shown)
    return Sight(body, drafts.replace(folder, parts[-1], body, sight.status))


@contextmanager
def _locked(workspace: Workspace, parts: Sequence[str], call: Context) -> Iterator[int]:
    """The folder of a file, for us alone."""
    refuse_unwritten(parts)
    if not parts:
        raise refusal(".", "access-denied", "is a folder", "name a file in it")
    with (
        workspace.folder(parts[:-1]) as folder,
        only_writer(folder, lambda: call.deadline_s),
    ):
        drafts.sweep(folder)
        yield folder


def _is_still(folder: int, name: str, before: os.stat_result) -> bool:
    """Whether the name stands for the same file as before."""
    now = os.stat(encoded(name), dir_fd=folder, follow_symlinks=False)
    return marks(now) == marks(before)


def _changed(shown: str) -> ToolError:
    return refusal(shown, "conflict", "has changed since it was read", _READ_AGAIN)


def _deleted(shown: str) -> ToolError:
    hint = "nothing was changed; create it anew if it is still wanted"
    return refusal(shown, "conflict", "has been deleted since it was read", hint)


def _make_folders(workspace: Workspace, parts: Sequence[str]) -> None:
    refuse_unwritten(parts)
    for number in range(len(parts)):
        shown = "/".join(parts[: number + 1])
        with workspace.folder(parts[:number]) as folder, telling(shown):
            try:
                os.mkdir(encoded(parts[number]), _FOLDER_MODE, dir_fd=folder)
            except FileExistsError:
                continue  # the next step looks whether it is a folder
            os.fsync(folder)
