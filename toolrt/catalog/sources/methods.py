"""The methods of a class that may be tools, in the order that they are written in."""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from toolrt.bindings.python_calls import is_async
from toolrt.bindings.python_finder import OURS
from toolrt.core.marks import mark_of

_STEPS: Final = frozenset({"setup", "teardown", "get_tools", "build_context"})
"""Methods that toolrt itself calls; they are tools only when they are marked."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method: the name of its tool, that of the attribute, and what stands there."""

    name: str
    attribute: str
    raw: Any
    is_marked: bool
    is_async: bool


def methods_of(cls: type) -> list[Method]:
    """The methods that are public or marked; those of Python's own classes and of libraries that
    toolrt brings are left out. Nothing is called, no property is asked.
    """
    found: dict[str, Method] = {}
    for base in reversed(cls.__mro__):
        names = vars(base)
        for name in names:
            found.pop(name, None)  # whatever stands there now, a subclass has the last word
        if not _is_of_others(base):
            found |= {each.attribute: each for each in _own(names)}
    return list(found.values())


def _own(names: Any) -> Iterator[Method]:
    for attribute, raw in names.items():
        function = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        mark = mark_of(function)
        is_public = not attribute.startswith("_") and attribute not in _STEPS
        if not (mark or is_public) or not _is_method(function):
            continue
        name = (mark.name if mark else None) or attribute
        yield Method(name, attribute, raw, mark is not None, is_async(function))


def _is_method(function: Any) -> bool:
    """Whether it is called: not a class inside the class, nor an object of one that is callable."""
    return inspect.isroutine(function) or (
        callable(function) and not isinstance(function, type) and mark_of(function) is not None
    )


def _is_of_others(base: type) -> bool:
    top = base.__module__.partition(".")[0]
    return top in sys.stdlib_module_names or top in OURS
