"""What a tools file says about a source, on its way to the catalogue."""

from dataclasses import dataclass, replace
from typing import Any

from toolrt.core.faults import Path
from toolrt.loading.beneath import Beneath
from toolrt.loading.reader import Document
from toolrt.manifest.tool import Source


@dataclass(frozen=True, eq=False, slots=True)
class Given:
    """What a program adds as the source `name`; `document` says about it what a file would.

    `found` is what it is, and `address` the dotted name that leads to it, if any. Where it
    `is_alive` its tools are those of the object itself, else those of what the document names. The
    tools of one that `is_bare` are in no namespace. `removed` are tools that it lost again.
    """

    name: str
    found: Any
    document: Document
    address: str | None = None
    is_alive: bool = True
    is_bare: bool = False
    removed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WrittenSource:
    """A source and where it stands; `beneath` are the defaults that its tools lie upon.

    `given` is what a program has added.
    """

    name: str
    source: Source
    document: Document
    path: Path
    beneath: Beneath
    given: Given | None = None

    def of(self, given: Given | None) -> "WrittenSource":
        """The same, as what a program has added, if it has."""
        return self if given is None else replace(self, given=given)

    @property
    def namespace(self) -> str | None:
        """What stands before the dot in the names of its tools."""
        return None if self.given is not None and self.given.is_bare else self.name

    @property
    def origin(self) -> str:
        """The key that says where its tools come from."""
        return next(key for key in Source.choices if getattr(self.source, key) is not None)
