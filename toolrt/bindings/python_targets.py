"""What `python:` names: a callable, a method of an object, or of one still to be made.

Also used by the worker processes of `run_in: process`, which find the same callable there.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolrt.bindings.python_imports import attribute_of, import_from
from toolrt.core.faults import Fault, FaultError
from toolrt.schemas.phrases import with_article
from toolrt.schemas.signatures import Callee, read_callee

Make = Callable[[], Mapping[str, Any]]
"""Gives the arguments of an object's class, when the object is made."""


@dataclass(frozen=True, slots=True)
class Target:
    """`fn` is called, `declared` is read: its signature without the first `skip` parameters.

    `cls` is the class whose object is made at the first call. `owner` is the object that `fn`
    belongs to, or what makes it.
    """

    fn: Callable[..., Any]
    declared: Callable[..., Any]
    label: str
    skip: int = 0
    cls: type | None = None
    owner: Any = None


def find_target(
    project: Path, call: Any, owner: str | None = None, init: Make | None = None
) -> Target:
    """The target of `call` (a dotted name, an attribute of `owner`, or a live callable).

    A class as `owner` is made into an object at the first call, with what `init` gives then.
    Raises FaultError at the paths ("call",) and ("object",).
    """
    if callable(call):
        module = getattr(call, "__module__", None) or type(call).__module__
        name = getattr(call, "__qualname__", None) or type(call).__qualname__
        return _callable(call, f"{module}:{name}")
    if owner is None:
        return _callable(_imported(project, call, "call"), call)
    found = _imported(project, owner, "object")
    if isinstance(found, type):
        return _late(found, owner, call or "__call__", init)
    if call is None:
        return replace(_callable(found, owner, "object"), owner=found)
    return replace(_callable(_attribute(found, call, owner), f"{owner}.{call}"), owner=found)


def callee_of(target: Target, project: Path) -> tuple[Callee, tuple[Fault, ...]]:
    """What a target's signature says, and why it says nothing: then it is called by name."""
    try:
        return read_callee(target.declared, project, skip=target.skip), ()
    except FaultError as error:
        return Callee(target.label, "", ()), error.faults


def _imported(project: Path, dotted: str, key: str) -> Any:
    try:
        return import_from(project, dotted)
    except FaultError as error:
        raise FaultError(*error.under(key)) from error


def _attribute(owner: Any, name: str, label: str) -> Any:
    try:
        return attribute_of(owner, name, label)
    except FaultError as error:
        raise FaultError(*error.under("call")) from error


def _callable(found: Any, label: str, key: str = "call") -> Target:
    if isinstance(found, type):
        name = found.__name__
        hint = f"write `object: {label}`, and the method under `call`"
        raise FaultError(Fault("not-callable", f"`{name}` is a class", (key,), hint))
    if not callable(found):
        message = f"`{label}` is {with_article(type(found).__name__)}, which cannot be called"
        raise FaultError(Fault("not-callable", message, (key,)))
    return Target(found, found, label)


def _late(cls: type, owner: str, method: str, init: Make | None) -> Target:
    raw = next((vars(each)[method] for each in cls.__mro__ if method in vars(each)), None)
    if raw is None and method == "__call__":
        message = f"a `{cls.__name__}` cannot be called"
        hint = "name its method under `call`"
        raise FaultError(Fault("not-callable", message, ("object",), hint))
    declared = _attribute(cls, method, owner)
    target = _callable(declared, owner if method == "__call__" else f"{owner}.{method}")
    if isinstance(raw, classmethod | staticmethod):
        return target
    fn = LateMethod(cls, method, init)
    return replace(target, fn=fn, skip=1, cls=cls, owner=fn)


class LateMethod:
    """A method of an object that is made at the first call, once."""

    def __init__(self, cls: type, method: str, init: Make | None) -> None:
        self.cls = cls
        self._method = method
        self._init = init
        self._lock = threading.Lock()
        self._made: Any = None
        self._bound: Callable[..., Any] | None = None

    def made(self) -> Any:
        """The object."""
        if self._bound is None:
            self._bind()
        return self._made

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return (self._bound or self._bind())(*args, **kwargs)

    def _bind(self) -> Callable[..., Any]:
        with self._lock:
            if self._bound is None:
                self._made = self.cls(**(self._init() if self._init else {}))
                self._bound = getattr(self._made, self._method)
        return self._bound
