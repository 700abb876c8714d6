"""The shapes that Python code may have, and the tools in each (U33 to U41).

The first shape of the table that knows an object says what its tools are. None of them calls
anything of the object's but what lists its tools.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolrt.bindings.python_imports import run_at_load
from toolrt.catalog.sources.agents import agent, is_agent
from toolrt.catalog.sources.base import SourceTool, Yielded
from toolrt.catalog.sources.methods import Method, methods_of
from toolrt.catalog.sources.subjects import Subject
from toolrt.catalog.sources.tool_objects import is_tool_object, tool_object
from toolrt.core.faults import Fault, FaultError
from toolrt.core.marks import Toolkit, mark_of
from toolrt.schemas.phrases import with_article

Shape = Callable[[Subject], Yielded | None]

_DECORATED = "mark some with @toolrt.tool; or name them under `include`, `*` for all"


def tools_of(subject: Subject) -> Yielded:
    """The tools of an object. Raises FaultError where it has none, or does not say which."""
    for shape in SHAPES:
        made = shape(subject)
        if made is not None:
            return made
    raise FaultError(_nothing(subject, "has no public method"))


def is_single(found: Any) -> bool:
    """Whether an object is one tool itself, rather than something that has tools."""
    if inspect.isroutine(found) or isinstance(found, functools.partial) or is_tool_object(found):
        return True
    if is_agent(found) and not _has_method(type(found), "get_tools"):
        return True
    has_more = isinstance(found, type | Toolkit) or _has_method(type(found), "get_tools")
    return callable(found) and not has_more


def _ready(subject: Subject) -> Yielded | None:
    """An object that is a tool already."""
    made = tool_object(subject)
    return None if made is None else _single(subject, made)


def _agent(subject: Subject) -> Yielded | None:
    """An agent, or its class (U40)."""
    made = agent(subject)
    return None if made is None else Yielded([made])


def _callable(subject: Subject) -> Yielded | None:
    """A function, a bound method, a partial, or an object that is called like one."""
    found = subject.found
    if inspect.isroutine(found) or isinstance(found, functools.partial):
        return _single(subject, subject.whole())
    is_one = is_single(found) and subject.select is None
    return Yielded([subject.whole()]) if is_one else None


def _module(subject: Subject) -> Yielded | None:
    """A module: the functions that are marked, or all public ones that it defines itself."""
    module = subject.found
    if not inspect.ismodule(module):
        return None
    functions = [
        (name, each)
        for name, each in vars(module).items()
        if callable(each) and not isinstance(each, type)
    ]
    marked = [_of_module(subject, name, each) for name, each in functions if mark_of(each)]
    public = [
        _of_module(subject, name, each)
        for name, each in functions
        if not name.startswith("_") and _is_defined_in(module, each)
    ]
    if subject.select == "async":
        raise FaultError(_select("a module", "`decorated` or `public`"))
    if subject.select == "public":
        return _some(subject, public, None, "defines no public function")
    keys = {each.key for each in marked}
    more = [each for each in public if each.key not in keys]
    return _some(subject, marked, more, "has no function that is marked", _DECORATED)


def _of_module(subject: Subject, name: str, found: Any) -> SourceTool:
    address = f"{subject.address or subject.label}:{name}"
    return subject.item(found, name).at(address).whole(name)


def _is_defined_in(module: Any, found: Any) -> bool:
    return inspect.isfunction(found) and found.__module__ == module.__name__


def _provider(subject: Subject) -> Yielded | None:
    """An object, or a class of one, that gives its tools itself, with `get_tools()` (U39)."""
    if issubclass(subject.kind, Toolkit) or not _has_method(subject.kind, "get_tools"):
        return None
    late = subject.late() if isinstance(subject.found, type) else None
    key = ("provider", id(late.found if late is not None else subject.found))
    given = subject.lives.given(key, lambda: _given(subject, late.found.made if late else None))
    for tool in given:
        tool.keep(given, late, subject.found)  # what the key names by its id
    return Yielded(given)


def _given(subject: Subject, make: Callable[[], Any] | None) -> Sequence[SourceTool]:
    """What a provider gives now. Its context goes before what its tools say of themselves."""

    def asked() -> tuple[list[tuple[str | None, Any]], str | None]:
        provider = make() if make is not None else subject.found
        context = provider.build_context() if _has_method(type(provider), "build_context") else None
        return _named(provider.get_tools()), context if isinstance(context, str) else None

    items, context = run_at_load(f"{subject.label}.get_tools", subject.project, asked)
    return [each for name, item in items for each in _item(subject, item, name, context)]


def _named(given: Any) -> list[tuple[str | None, Any]]:
    """The items of what `get_tools` gives, with names where it is a mapping."""
    if inspect.iscoroutine(given):
        given.close()
        message = "`get_tools` is async, and tools are listed without a loop"
        raise FaultError(Fault("no-tools", message, ("object",), "make it a plain method"))
    if not isinstance(given, Iterable):
        message = f"`get_tools` gave {with_article(type(given).__name__)}, and no list of tools"
        raise FaultError(Fault("no-tools", message, ("object",)))
    return list(given.items()) if isinstance(given, Mapping) else [(None, each) for each in given]


def _item(
    subject: Subject, item: Any, name: str | None, context: str | None
) -> Iterator[SourceTool]:
    made = tools_of(subject.item(item, name))
    for tool in made.tools:
        says = {"instructions": context} if context else {}
        yield SourceTool(tool.name, {**says, **tool.written}, place=tool.place, key=tool.key)


def _list(subject: Subject) -> Yielded | None:
    """A list of tools in any of these shapes."""
    if not isinstance(subject.found, list | tuple | set | frozenset):
        return None
    items: Iterable[Any] = subject.found
    return Yielded([tool for item in items for tool in tools_of(subject.item(item)).tools])


def _kit(subject: Subject) -> Yielded | None:
    """A `Toolkit`, or its class: the methods that are marked (U38, U42)."""
    if not issubclass(subject.kind, Toolkit):
        return None
    return _methods(subject, subject.select or "decorated")


def _instance(subject: Subject) -> Yielded | None:
    """Any other object, or a class: all its public methods (U41)."""
    return _methods(subject, subject.select or "public")


def _methods(subject: Subject, select: str) -> Yielded:
    found = methods_of(subject.kind)
    _refuse_twins(subject, found)
    chosen = [each for each in found if select == "public" or _is_chosen(each, select)]
    more = [each for each in found if each not in chosen]
    tools = [subject.method(each.name, each.attribute, each.raw) for each in chosen]
    others = [subject.method(each.name, each.attribute, each.raw) for each in more]
    why = {
        "public": "has no public method",
        "async": "has no method that is async",
        "decorated": "has no method that is marked",
    }[select]
    hint = _DECORATED if select == "decorated" and found else None
    return _some(subject, tools, None if select == "public" else others, why, hint)


def _is_chosen(method: Method, select: str) -> bool:
    return method.is_async if select == "async" else method.is_marked


def _refuse_twins(subject: Subject, methods: Sequence[Method]) -> None:
    """Two methods whose tools would have one name are told with both places."""
    first: dict[str, Method] = {}
    for each in methods:
        known = first.setdefault(each.name, each)
        if known is not each:
            one, other = (subject.method(m.name, m.attribute, m.raw).place for m in (known, each))
            message = (
                f"`{known.attribute}` ({one}) and `{each.attribute}` ({other}) of "
                f"`{subject.label}` are both called `{each.name}`"
            )
            hint = "call one of them otherwise: @toolrt.tool(name=…)"
            raise FaultError(Fault("duplicate-tool", message, ("object",), hint))


def _has_method(kind: type, name: str) -> bool:
    return callable(inspect.getattr_static(kind, name, None))


def _single(subject: Subject, tool: SourceTool) -> Yielded:
    if subject.select is not None:
        raise FaultError(_select("one tool", "nothing"))
    return Yielded([tool])


def _some(
    subject: Subject,
    tools: Sequence[SourceTool],
    more: Sequence[SourceTool] | None,
    why: str,
    hint: str | None = None,
) -> Yielded:
    """The tools; none at all is a fault, unless some of the others are named."""
    is_empty = not tools and not (more and subject.has_include)
    return Yielded(tools, more, [_nothing(subject, why, hint)] if is_empty else [])


def _nothing(subject: Subject, why: str, hint: str | None = None) -> Fault:
    found = subject.found
    is_named = isinstance(found, type) or inspect.ismodule(found)
    what = "" if is_named else f", {with_article(type(found).__name__)},"
    return Fault("no-tools", f"`{subject.label}`{what} {why}", ("object",), hint)


def _select(what: str, instead: str) -> Fault:
    message = f"`select` chooses among methods, and this is {what}: {instead} may stand here"
    return Fault("no-effect", message, ("select",), on_key=True)


SHAPES: tuple[Shape, ...] = (
    _ready,
    _module,
    _list,
    _provider,
    _agent,
    _kit,
    _callable,
    _instance,
)
"""From the plainest to what anything is; the first that is not None counts."""
