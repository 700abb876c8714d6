"""What is in a folder, and below it: always in the same order, never through a link."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from toolrt.packs.beneath import FOLDER, open_beneath
from toolrt.packs.drafts import is_draft
from toolrt.packs.workspace import Workspace, encoded, is_unseen

MOST_SEEN: Final = 100_000
"""Names that are looked at in one walk."""
_DEEPEST: Final = 64
_SKIPPED: Final = frozenset({".git"})
"""What a walk leaves out unless it begins there."""

Form = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class Found:
    """One name: its path below where the walk began, what it is, and a file's size in bytes."""

    parts: tuple[str, ...]
    form: Form
    size: int | None = None


class Walk:
    """One walk; `is_whole` says afterwards whether nothing had to be left out for its length."""

    def __init__(self, workspace: Workspace, go_on: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._go_on = go_on
        self._seen = 0
        self.is_whole = True

    def children(self, parts: Sequence[str]) -> list[Found]:
        """What is directly in a folder. Raises ToolError where there is none."""
        with self._workspace.folder(parts) as folder:
            return self._listed(folder, ())

    def below(
        self, parts: Sequence[str], leads_on: Callable[[Sequence[str]], bool]
    ) -> Iterator[Found]:
        """Everything below a folder, each folder before what is in it; `leads_on` says which ones
        are worth a look. Raises ToolError where there is no such folder.
        """
        with self._workspace.folder(parts) as folder:
            yield from self._below(folder, (), leads_on)

    def _below(
        self, folder: int, at: tuple[str, ...], leads_on: Callable[[Sequence[str]], bool]
    ) -> Iterator[Found]:
        for found in self._listed(folder, at):
            if not self._go_on():
                self.is_whole = False
                return
            yield found
            if found.form != "folder" or found.parts[-1] in _SKIPPED or not leads_on(found.parts):
                continue
            if len(found.parts) >= _DEEPEST:
                self.is_whole = False
                continue
            yield from self._inside(folder, found.parts, leads_on)

    def _inside(
        self, folder: int, at: tuple[str, ...], leads_on: Callable[[Sequence[str]], bool]
    ) -> Iterator[Found]:
        try:
            held = open_beneath(folder, [encoded(at[-1])], FOLDER)
        except OSError:  # gone, closed to us, or a link by now
            return
        try:
            yield from self._below(held, at, leads_on)
        finally:
            os.close(held)

    def _listed(self, folder: int, at: tuple[str, ...]) -> list[Found]:
        """What is in an open folder, by name; all of it counts."""
        found: list[Found] = []
        with os.scandir(folder) as listed:
            for entry in listed:
                if self._seen >= MOST_SEEN:
                    self.is_whole = False
                    break
                self._seen += 1
                if not is_unseen(entry.name) and not is_draft(entry.name):
                    found.append(_found(entry, at))
        return sorted(found, key=lambda each: encoded(each.parts[-1]))


def _found(entry: "os.DirEntry[str]", at: tuple[str, ...]) -> Found:
    parts = (*at, entry.name)
    if entry.is_symlink():
        return Found(parts, "link")
    if entry.is_dir(follow_symlinks=False):
        return Found(parts, "folder")
    if not entry.is_file(follow_symlinks=False):
        return Found(parts, "other")
    try:
        return Found(parts, "file", entry.stat(follow_symlinks=False).st_size)
    except OSError:
        return Found(parts, "file")
