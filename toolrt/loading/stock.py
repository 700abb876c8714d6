"""The files of a project as they were at one moment, and what was made of them before.

Whoever looks for a change and whoever compiles see the same bytes; a file that has not changed is
not parsed again.
"""

import os
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

from toolrt.loading.files import UnreadableError, content, manifest_files, misnamed, not_read
from toolrt.loading.reader import LARGE_LIMIT, Document, read
from toolrt.loading.sources import Given

V = TypeVar("V")
Found = bytes | list[Path] | UnreadableError


@dataclass(frozen=True, slots=True)
class Unread:
    """A file as it is to be parsed: `shown` is its name in diagnostics."""

    shown: str
    source: bytes = field(repr=False)
    allow_merge: bool

    @property
    def key(self) -> tuple[str, bool, bytes]:
        return self.shown, self.allow_merge, sha256(self.source).digest()

    def parsed(self) -> Document:
        return read(self.source, self.shown, allow_merge=self.allow_merge)


class Library:
    """What was made of files so far: documents by content, and what their readers made of them.

    Only what the last generation asked for is kept, see `turn`.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._asked: dict[Hashable, Any] = {}

    def made(self, key: Hashable, make: Callable[[], V]) -> V:
        """What stands under `key`; made when it is not there."""
        if key not in self._asked:
            self._asked[key] = self._made[key] if key in self._made else make()
        return cast("V", self._asked[key])

    def document(self, unread: Unread) -> Document:
        """The document of a file; parsed when nobody has."""
        return self.made(unread.key, unread.parsed)

    def unknown(self, files: Collection[Unread]) -> list[Unread]:
        """Those of `files` that would be parsed now."""
        known = self._made.keys() | self._asked.keys()
        return [each for each in files if each.key not in known]

    def put(self, unread: Unread, document: Document) -> None:
        """Take over a document that was parsed elsewhere."""
        self._made[unread.key] = document

    def turn(self) -> None:
        """Another generation begins; what the one before did not ask for is forgotten."""
        self._made, self._asked = self._asked, {}


class Stock:
    """Bytes and listings of a project, each read once, and the library to read them with.

    `folders` are those of the tools and of the policies, once a survey has found them. `given` is
    what a program has added to the files.
    """

    def __init__(self, root: Path, library: Library | None = None) -> None:
        self.root = root
        self.library = library or Library()
        self.folders: tuple[Path, ...] = ()
        self.given: tuple[Given, ...] = ()
        self._contents: dict[Path, bytes | UnreadableError] = {}
        self._folders: dict[Path, list[Path] | UnreadableError] = {}
        self._below: dict[Path, dict[Path, list[Path]]] = {}
        self._misnamed: list[Path] | None = None
        self._wanted: dict[Path, Unread] = {}
        self._beside: set[Path] = set()

    def with_given(self, given: tuple[Given, ...]) -> "Stock":
        """The same files, and what a program has added to them."""
        made = copy(self)
        made.given = given
        return made

    @property
    def places(self) -> tuple[Path, ...]:
        """The folders, and the files in them that were found: who may write to one of them decides
        what the project is.
        """
        listed = (each for each in self._folders.values() if isinstance(each, list))
        files = dict.fromkeys((*chain.from_iterable(listed), *self._contents))
        return (self.root, *self.folders, *files)

    def manifest_files(self, folder: Path) -> list[Path]:
        """As `files.manifest_files`."""
        return _once(self._folders, folder, manifest_files)

    def not_read(self, folder: Path, *own: Path) -> dict[Path, list[Path]]:
        """As `files.not_read`; such a subfolder counts, by the names in it."""
        if folder not in self._below:
            self._below[folder] = not_read(folder, self.root, own)
            self._folders.update(self._below[folder])
        return self._below[folder]

    def misnamed(self, name: str) -> list[Path]:
        """As `files.misnamed`, of the project's own folder; that such a file is there counts."""
        if self._misnamed is None:
            self._misnamed = misnamed(self.root, name)
            self._folders.update({path: [] for path in self._misnamed})
        return self._misnamed

    def content(self, path: Path) -> bytes:
        """As `files.content`."""
        return _once(self._contents, path, content)

    def look(self, path: Path) -> None:
        """Let a file count that somebody else reads, such as a schema."""
        with suppress(UnreadableError):
            self.large(path)

    def large(self, path: Path) -> bytes:
        """The bytes of a file that is no manifest, as `look` has it. Raises UnreadableError."""
        self._beside.add(path)
        return _once(self._contents, path, _large)

    def want(self, path: Path, *, allow_merge: bool) -> None:
        """Read a manifest, which will be parsed."""
        with suppress(UnreadableError):
            self._wanted[path] = self.unread(path, allow_merge=allow_merge)

    def unparsed(self) -> list[Unread]:
        """The wanted files that nobody has parsed."""
        return self.library.unknown(self._wanted.values())

    def is_as(self, other: "Stock") -> bool:
        """Whether everything that counts for `other` is the same here.

        A file that is read by others counts where it was looked at.
        """
        is_same = self.given == other.given and self.manifests() == other.manifests()
        return is_same and all(self.beside(path) == said for path, said in other.besides().items())

    def manifests(self) -> dict[Path, bytes]:
        """What each folder and each manifest in it comes to."""
        read: dict[Path, Found] = {**self._folders, **self._contents}
        return {path: _body(found) for path, found in read.items() if path not in self._beside}

    def besides(self) -> dict[Path, bytes]:
        """The same of the files that others read."""
        return {path: self.beside(path) for path in self._beside}

    def beside(self, path: Path) -> bytes:
        """What such a file comes to."""
        self.look(path)
        return _body(self._contents[path])

    def document(self, path: Path, *, allow_merge: bool = True) -> Document:
        """The file, parsed. Raises UnreadableError."""
        return self.library.document(self.unread(path, allow_merge=allow_merge))

    def unread(self, path: Path, *, allow_merge: bool = True) -> Unread:
        """The file, to be parsed. Raises UnreadableError."""
        return Unread(self.shown(path), self.content(path), allow_merge)

    def shown(self, path: Path) -> str:
        """The name of a file in diagnostics: relative to the project where it is inside."""
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )

    @property
    def paths(self) -> list[Path]:
        """Everything that was looked at, folders too."""
        return sorted({*self._contents, *self._folders})

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the sorted names and bytes of all files; why one cannot be read counts, and
        so does what a program has added.
        """
        read: dict[Path, Found] = {**self._folders, **self._contents}
        digest = sha256()
        for path, found in sorted(read.items()):
            if isinstance(found, list):
                continue
            body = _body(found)
            digest.update(f"{self.shown(path)}\0{len(body)}\0".encode("utf-8", "surrogateescape"))
            digest.update(body)
        for given in self.given:
            digest.update(f"\0{given.document.text}".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def _body(found: Found) -> bytes:
    """What a file or a folder comes to, in bytes."""
    if isinstance(found, list):
        return b"\0".join(os.fsencode(path) for path in found)
    return found if isinstance(found, bytes) else f"\0{found}".encode()


def _large(path: Path) -> bytes:
    return content(path, LARGE_LIMIT)


def _once(known: dict[Path, V | UnreadableError], path: Path, find: Callable[[Path], V]) -> V:
    if path not in known:
        try:
            known[path] = find(path)
        except UnreadableError as error:
            known[path] = error
    found = known[path]
    if isinstance(found, UnreadableError):
        raise found.with_traceback(None)
    return found
