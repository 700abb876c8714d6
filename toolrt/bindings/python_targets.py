"""What `python:` names: a callable, a method of an object, or of one still to be made.

Also used by the worker processes of `run_in: process`, which find the same callable there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from toolrt.bindings.python_imports import attribute_of, import_from
from toolrt.bindings.python_live import LateObject, Live, Make
from toolrt.core.faults import Fault, FaultError
from toolrt.schemas.phrases import with_article
from toolrt.schemas.signatures import Callee, read_callee


@dataclass(frozen=True, slots=True)
class Target:
    """`fn` is called, `declared` is read: its signature without the first `skip` parameters.

    `cls` is the class whose object is made at the first call. `owner` is the object that `fn`
    belongs to, or the one that is still to be made.
    """

    fn: Callable[..., Any]
    declared: Callable[..., Any]
    label: str
    skip: int = 0
    cls: type | None = None
    owner: Any = None
    read: list[Callee] = field(default_factory=list, compare=False)

    def callee(self, project: Path) -> Callee:
        """What its signature says, read once. Raises FaultError where it says nothing."""
        if not self.read:
            self.read.append(read_callee(self.declared, project, skip=self.skip))
        return self.read[0]


def find_target(
    project: Path, call: Any, owner: str | None = None, init: Make | None = None
) -> Target:
    """The target of `call` (a dotted name, an attribute of `owner`, or a live callable).

    A class as `owner` is made into an object at the first call, with what `init` gives then.
    Raises FaultError at the paths ("call",) and ("object",).
    """
    live = call if isinstance(call, Live) else owner
    if isinstance(live, Live):
        method = None if live is call else call
        if method not in live.targets:
            live.targets[method] = _found_in(live, method)
        return cast("Target", live.targets[method])
    if callable(call):
        module = getattr(call, "__module__", None) or type(call).__module__
        name = getattr(call, "__qualname__", None) or type(call).__qualname__
        return _callable(call, f"{module}:{name}")
    if owner is None:
        return _callable(_imported(project, call, "call"), call)
    found = _imported(project, owner, "object")
    if isinstance(found, type):
        return _late(LateObject(found, init), owner, call or "__call__")
    return _of_object(found, owner, call)


def _found_in(live: Live, method: str | None) -> Target:
    """The target of a thing that is given alive, or of a method of it."""
    found, label = live.found, str(live)
    if isinstance(found, LateObject):
        return _late(found, label, method or "__call__")
    if method is not None:
        return _of_object(found, label, method)
    return replace(_callable(found, label), owner=getattr(found, "__self__", None))


def _of_object(found: Any, owner: str, method: str | None) -> Target:
    if method is None:
        return replace(_callable(found, owner, "object"), owner=found)
    return replace(_callable(_attribute(found, method, owner), f"{owner}.{method}"), owner=found)


def callee_of(target: Target, project: Path) -> tuple[Callee, tuple[Fault, ...]]:
    """What a target's signature says, and why it says nothing: then it is called by name."""
    try:
        return target.callee(project), ()
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


def _late(late: LateObject, owner: str, method: str) -> Target:
    cls = late.cls
    raw = next((vars(each)[method] for each in cls.__mro__ if method in vars(each)), None)
    if raw is None and method == "__call__":
        message = f"a `{cls.__name__}` cannot be called"
        hint = "name its method under `call`"
        raise FaultError(Fault("not-callable", message, ("object",), hint))
    declared = _attribute(cls, method, owner)
    target = _callable(declared, owner if method == "__call__" else f"{owner}.{method}")
    if isinstance(raw, classmethod | staticmethod):
        return target
    return replace(target, fn=LateMethod(late, method), skip=1, cls=cls, owner=late)


class LateMethod:
    """A method of an object that is made at the first call."""

    __slots__ = ("_bound", "_late", "_method")

    def __init__(self, late: LateObject, method: str) -> None:
        self._late = late
        self._method = method
        self._bound: Callable[..., Any] | None = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._bound is None:
            self._bound = getattr(self._late.made(), self._method)
        return self._bound(*args, **kwargs)
