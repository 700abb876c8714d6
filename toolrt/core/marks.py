"""`@tool`: what a callable's author says about it, kept on the callable itself.

The decorator marks and registers nothing: the function comes back as it is, and whoever binds it
reads the mark. A manifest's own keys win over it.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar, overload

from toolrt.core.names import did_you_mean

OPTIONS = frozenset(
    {
        "breaker",
        "cache",
        "coerce",
        "concurrency",
        "deprecated",
        "description",
        "effect",
        "enabled",
        "expose",
        "fallback",
        "freshness",
        "hitl",
        "hooks",
        "idempotency_key",
        "idempotent",
        "input_schema",
        "instructions",
        "output_schema",
        "parameters",
        "poll",
        "rate",
        "reject",
        "result",
        "retry",
        "tags",
        "tests",
        "timeout",
        "title",
        "verify",
        "version",
    }
)
"""The keys of a tool that the decorator takes; their values stay raw, as in YAML."""

_MARK = "__toolrt__"
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ToolMark:
    """`name`, when it is not the callable's own, and raw tool keys."""

    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@overload
def tool(fn: _F, /) -> _F: ...


@overload
def tool(*, name: str | None = None, **options: Any) -> Callable[[_F], _F]: ...


def tool(fn: Any = None, /, *, name: str | None = None, **options: Any) -> Any:
    """Mark a callable as a tool: `@tool`, or `@tool(effect="read", timeout="5s")`.

    Raises TypeError for an option that is no key of a tool, and for what cannot carry a mark.
    """
    _check(options)
    mark = ToolMark(name, MappingProxyType(options))
    return functools.partial(_put, mark) if fn is None else _put(mark, fn)


class Toolkit:
    """Methods marked with `@tool` are the tools of an object of this class, or of one below it.

    `defaults` are keys of a tool, as `@tool` takes them, and go before what it says; an object may
    have its own. `setup` and `teardown`, plain or async, are called before the first use of the
    object and after the last. Raises TypeError for a default that is no key of a tool.
    """

    defaults: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not isinstance(cls.defaults, Mapping):
            raise TypeError(f"`defaults` of {cls.__name__} are a mapping of tool keys")
        _check(cls.defaults, f"`defaults` of {cls.__name__} have")


def mark_of(fn: Any) -> ToolMark | None:
    """The mark of a callable, of what a partial wraps, or of an object's `__call__`."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    mark = getattr(fn, _MARK, None) or getattr(type(fn).__call__, _MARK, None)
    return mark if isinstance(mark, ToolMark) else None


def defaults_of(owner: Any) -> Mapping[str, Any]:
    """What a toolkit, an object of one or its class, says of all its tools."""
    kind = owner if isinstance(owner, type) else type(owner)
    if not issubclass(kind, Toolkit):
        return {}
    return owner.defaults if isinstance(owner.defaults, Mapping) else {}


def _check(options: Mapping[str, Any], whose: str = "@tool has") -> None:
    for option in options:
        if option not in OPTIONS:
            hint = did_you_mean(option, OPTIONS)
            raise TypeError(f"{whose} no option `{option}`" + (f": {hint}" if hint else ""))


def _put(mark: ToolMark, fn: Any) -> Any:
    if isinstance(fn, classmethod | staticmethod):
        _put(mark, fn.__func__)
        return fn
    if not callable(fn):
        raise TypeError(f"@tool marks callables, not {fn!r}: write @tool or @tool(name=...)")
    try:
        setattr(fn, _MARK, mark)
    except (AttributeError, TypeError):
        raise TypeError(f"@tool cannot mark {fn!r}: wrap it in a function of your own") from None
    return fn
