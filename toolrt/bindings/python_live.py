"""Python objects that no dotted name leads to, and those that are still to be made.

A manifest holds them under a label, which is a text for whoever prints, hashes or compares it.
"""

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

Make = Callable[[], Mapping[str, Any]]
"""Gives the arguments of an object's class, when the object is made."""

T = TypeVar("T")


class LateObject:
    """An object of a class that is made at the first call that needs it, once."""

    def __init__(self, cls: type, init: Make | None = None) -> None:
        self.cls = cls
        self._init = init
        self._lock = threading.Lock()
        self._made: Any = None
        self._is_made = False

    def made(self) -> Any:
        """The object. Raises what its class does; then the next one who asks tries again."""
        if not self._is_made:
            with self._lock:
                if not self._is_made:
                    self._made = self.cls(**(self._init() if self._init else {}))
                    self._is_made = True
        return self._made


class Live(str):
    """The label of a callable, an object or a `LateObject`, and the thing itself under `found`.

    It is equal only to itself, for two things may have one label.
    """

    __slots__ = ("__weakref__", "found", "is_dotted", "kept", "targets")

    found: Any
    is_dotted: bool
    kept: Any
    targets: dict[str | None, Any]

    def __new__(cls, label: str, found: Any, *, is_dotted: bool = False) -> Self:
        """`is_dotted` says that the label is a name by which other processes find it, too. `kept`
        lives as long as the label, and `targets` are what was found in it, by names of methods.
        """
        made = super().__new__(cls, label)
        made.found, made.is_dotted, made.kept, made.targets = found, is_dotted, None, {}
        return made

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Given(list[T]):
    """What an object gave when it was asked."""

    __slots__ = ("__weakref__",)


class Lives:
    """What has a label in one runtime: the same thing has the same one in each generation.

    Nothing is kept that no tool has any more.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakValueDictionary[object, Live] = weakref.WeakValueDictionary()
        self._given: weakref.WeakValueDictionary[object, Given[Any]] = weakref.WeakValueDictionary()

    def of(self, key: object, make: Callable[[], Live]) -> Live:
        """The label of what `key` stands for. What `make` gives has to keep the key's objects
        alive, where these are named by their ids.
        """
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = make()
        return known

    def given(self, key: object, ask: Callable[[], Iterable[T]]) -> "Given[T]":
        """What `ask` gives; an object that tools are known of is not asked again."""
        known = self._given.get(key)
        if known is None:
            known = self._given[key] = Given(ask())
        return known

    async def close(self) -> None:
        """There is nothing to end: the objects belong to those who made them."""
