"""What a Python source is about: an object, and how a tool's options lead to it or into it."""

import functools
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MethodType
from typing import Any

from toolrt.bindings.python_live import LateObject, Live, Lives, Make
from toolrt.catalog.sources.base import SourceTool
from toolrt.core.marks import mark_of
from toolrt.schemas.signatures import name_of, place_of


@dataclass(frozen=True, slots=True)
class Subject:
    """An object that is looked at for tools.

    `label` is its name for people; `address` is the dotted name that leads to it, where one does.
    `name` is what a single tool is called that does not say itself. `make` gives the arguments of
    a class, which are written as `init`; `select` is as the file has it, and `has_include` says
    that tools are named beside those that it selects.
    """

    found: Any
    label: str
    lives: Lives
    project: Path
    address: str | None = None
    name: str | None = None
    select: str | None = None
    init: Mapping[str, Any] = field(default_factory=dict)
    make: Make | None = None
    around: object = None
    has_include: bool = False

    @property
    def kind(self) -> type:
        """The class that its methods are looked up in."""
        return self.found if isinstance(self.found, type) else type(self.found)

    def item(self, found: Any, name: str | None = None) -> "Subject":
        """Something that this one holds or gives."""
        label = label_of(found)
        return Subject(found, label, self.lives, self.project, name=name)

    def at(self, address: str) -> "Subject":
        """The same, where a dotted name leads to it."""
        return replace(self, address=address)

    def whole(self, name: str | None = None) -> SourceTool:
        """The tool that the object itself is: a function, or what is called like one."""
        mark = mark_of(self.found)
        own = (mark.name if mark else None) or name or self.name or name_of(self.found)
        written = {"python": {"call": self._live()}}
        return SourceTool(own, written, place=self.place, key=key_of(self.found))

    def method(self, name: str, attribute: str, fn: Any) -> SourceTool:
        """The tool that a method of it is; `fn` is what stands in the class."""
        place = place_of(getattr(fn, "__func__", fn), self.project)
        if isinstance(self.found, type):
            late = self.late()
            options = {"object": late, "call": attribute, "init": dict(self.init)}
            key: object = ("late", id(late.found), attribute)
        else:
            options = {"object": self._live(), "call": attribute}
            key = ("method", id(self.found), id(getattr(fn, "__func__", fn)))
        return SourceTool(name, {"python": options}, place=place, key=key)

    def owner(self) -> Live:
        """The object itself, or the one that is still to be made of a class."""
        return self.late() if isinstance(self.found, type) else self._live()

    def late(self) -> Live:
        """The object of a class, which is made at the first call, once for all its methods."""
        cls, label = self.found, self.address or self.label
        key = ("late", id(cls), json.dumps(self.init, default=str, sort_keys=True), self.around)
        is_dotted = self.address is not None
        return self.lives.of(
            key, lambda: Live(label, LateObject(cls, self.make), is_dotted=is_dotted)
        )

    @property
    def place(self) -> str:
        """`file:line` of its definition; empty when unknown."""
        return place_of(self.found, self.project)

    def _live(self) -> Live:
        label, is_dotted = self.address or self.label, self.address is not None
        key = ("live", id(self.found), label)
        return self.lives.of(key, lambda: Live(label, self.found, is_dotted=is_dotted))


def label_of(found: Any) -> str:
    """`module:qualname` of a function or a class, and of the class of any other object."""
    while isinstance(found, functools.partial):
        found = found.func
    if inspect.ismodule(found):
        return found.__name__
    named = found if isinstance(found, type) or inspect.isroutine(found) else type(found)
    return f"{getattr(named, '__module__', None) or type(found).__module__}:{named.__qualname__}"


def key_of(fn: Any) -> object:
    """What a callable is in the program: the same for each way that leads to it."""
    if isinstance(fn, MethodType):
        return ("method", id(fn.__self__), id(fn.__func__))
    return ("callable", id(fn))
