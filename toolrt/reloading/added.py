"""What a program adds, as a file would say it: its name, its text, and the thing itself."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolrt.bindings.python_imports import import_from, module_from
from toolrt.catalog.sources.agents import agent_name, is_agent
from toolrt.catalog.sources.shapes import is_single
from toolrt.catalog.sources.subjects import label_of
from toolrt.core.errors import ProjectError
from toolrt.core.faults import FaultError
from toolrt.core.marks import mark_of
from toolrt.loading.reader import Document, read
from toolrt.loading.sources import Given
from toolrt.manifest.tool import Source
from toolrt.reloading.removing import source_text
from toolrt.schemas.foreign import ForeignError, looking
from toolrt.schemas.phrases import visible
from toolrt.schemas.signatures import name_of, place_of

_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(slots=True)
class Adding:
    """How what a program has added changes by something more; `problem` says why it may not."""

    given: Given
    problem: ProjectError | None = None

    def edit(self, before: tuple[Given, ...]) -> tuple[Given, ...]:
        """With what is new behind the others, or in place of what has lost some of its tools."""
        known = next((each for each in before if each.found is self.given.found), None)
        if known is None:
            return (*before, self.given)
        if known.removed and known.name == self.given.name:
            return tuple(self.given if each is known else each for each in before)
        message = (
            f"`{self.given.name}` ({self.given.document.file}) is there already, as "
            f"`{known.name}` ({known.document.file})"
        )
        hint = "one object is added once: `remove` takes it away"
        self.problem = ProjectError(message, hint=hint)
        return before


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is to be added: `origin` and `said` are what a file would say of it."""

    found: Any
    origin: str
    said: Any
    address: str | None = None
    is_alive: bool = True
    more: Mapping[str, Any] = field(default_factory=dict)

    def given(self, name: str | None, options: Mapping[str, Any], project: Path) -> Given:
        """What a program adds, under its own name or another one."""
        is_bare = self.is_alive and is_single(self.found)
        own = name or (_name(self.found, is_bare=is_bare) if self.is_alive else None)
        if own is None:
            raise ProjectError("a source needs a name", hint="write `name=` beside it")
        entry = {self.origin: self.said, **self.more, **options}
        document = read(source_text(own, entry), self._shown(own, project))
        if document.data is None:
            raise _unreadable(own, document)
        return Given(own, self.found, document, self.address, self.is_alive, is_bare)

    def _shown(self, name: str, project: Path) -> str:
        """What diagnostics call the place: what is added, and where it is defined."""
        place = _place(self.found, project) if self.is_alive else ""
        label = self.said if self.is_alive else name
        return f"added {label} ({place})" if place else f"added {label}"


def given_of(anything: Any, name: str | None, options: Mapping[str, Any], project: Path) -> Given:
    """What is to be added. Raises ProjectError for what cannot be, or fails when looked at."""
    try:
        with looking():
            return _looked_at(anything, project).given(name, options, project)
    except ForeignError as error:
        if isinstance(error.__cause__, ProjectError):
            raise error.__cause__ from None
        raise ProjectError(f"looking at what is to be added failed: {error}") from error


def _looked_at(anything: Any, project: Path) -> _Subject:
    """Raises ProjectError for a dotted name that leads to nothing."""
    if isinstance(anything, str):
        find = import_from if ":" in anything else module_from
        try:
            found = find(project, anything)
        except FaultError as error:
            hint = error.faults[0].hint
            raise ProjectError(f"`{anything}` cannot be added: {error}", hint=hint) from error
        return _Subject(found, "python", anything, address=anything)
    if isinstance(anything, Mapping) and any(key in Source.choices for key in anything):
        said = dict(anything)
        origin = next(key for key in said if key in Source.choices)
        return _Subject(anything, origin, said.pop(origin), is_alive=False, more=said)
    return _Subject(anything, "python", label_of(anything))


def _unreadable(name: str, document: Document) -> ProjectError:
    """What is wrong with texts that no file can hold, such as half a character."""
    why = document.faults[0].message if document.faults else "it says nothing"
    return ProjectError(f"what is said of `{visible(name)}` cannot stand in a file: {why}")


def _name(found: Any, *, is_bare: bool) -> str:
    """What a tool is called, or what its tools have before the dot."""
    mark = mark_of(found) if callable(found) else None
    if is_bare and is_agent(found):
        return agent_name(found)
    if is_bare:
        own = getattr(found, "name", None) if not inspect.isroutine(found) else None
        return (mark.name if mark else None) or (own if isinstance(own, str) else name_of(found))
    if inspect.ismodule(found):
        return str(found.__name__).rpartition(".")[2]
    kind = found if isinstance(found, type) else type(found)
    return _WORDS.sub("_", kind.__name__).lower()


def _place(found: Any, project: Path) -> str:
    """`file:line` of a function, of the class of an object, or the file of a module."""
    place = place_of(found, project) if callable(found) and not isinstance(found, type) else ""
    if place:
        return place
    kind = found if isinstance(found, type) or inspect.ismodule(found) else type(found)
    try:
        file, line = inspect.getsourcefile(kind), inspect.findsource(kind)[1] + 1
    except (OSError, TypeError):
        return ""
    below = f"{project.absolute()}/"
    shown = str(file).removeprefix(below)
    return shown if inspect.ismodule(found) else f"{shown}:{line}"
