"""A Python callable as its caller sees it: name, place, parameters with resolved types.

First step from a callable to a tool: `functions` describes what is read here to a model,
`conversion` turns a model's arguments into a call of it.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typing_extensions import Unpack, is_typeddict

from toolrt.core.context import Context
from toolrt.core.faults import Fault, FaultError
from toolrt.schemas.annotations import optional, unqualified, why_not_read, without_metadata
from toolrt.schemas.foreign import ForeignError, looking

EMPTY = inspect.Parameter.empty
POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD
VARIADIC = frozenset({VAR_POSITIONAL, VAR_KEYWORD})
WRITE_PARAMETERS = "write `parameters` in the manifest"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `name` in Python, `key` in JSON, the type with string names resolved.

    `default` is EMPTY when there is none, or when the type's own `Field(default=…)` fills it in
    (`fills`). `unresolved` says why a type could not be read.
    """

    name: str
    key: str
    kind: Any
    annotation: Any
    default: Any = EMPTY
    fills: bool = False
    is_required: bool = True
    is_annotated: bool = True
    is_context: bool = False
    unresolved: str | None = None


@dataclass(frozen=True, slots=True)
class Callee:
    """A callable that can be called by name. `place` is `file:line` of its definition.

    `parameters` are all that a call fills in, and `visible` those that arguments may fill; `hidden`
    are the names that `**kwargs` must not reach: bound by a partial.
    """

    name: str
    place: str
    parameters: tuple[Parameter, ...]
    returns: Any = EMPTY
    doc: str | None = None
    hidden: frozenset[str] = frozenset()
    visible: tuple[Parameter, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        visible = tuple(each for each in self.parameters if not each.is_context)
        object.__setattr__(self, "visible", visible)

    @property
    def is_opaque(self) -> bool:
        """Whether it is a bare `(*args, **kwargs)`, as of a decorator without functools.wraps."""
        kinds = {each.kind for each in self.visible}
        return kinds == VARIADIC and not any(each.is_annotated for each in self.visible)

    @property
    def label(self) -> str:
        """Name and place, for messages."""
        return f"`{self.name}` ({self.place})" if self.place else f"`{self.name}`"

    def of_kind(self, kind: Any) -> Parameter | None:
        """The `*args` or the `**kwargs` parameter, if there is one."""
        return next((each for each in self.visible if each.kind == kind), None)


def read_callee(fn: Callable[..., Any], root: Path | None = None, *, skip: int = 0) -> Callee:
    """Read a callable; files in `place` are relative to `root`, and its first `skip` parameters,
    such as `self`, are somebody else's to fill.

    Raises FaultError when there is no signature to read.
    """
    function = _function(fn)
    name = name_of(fn)
    signature = _signature(fn, function, name)
    place = place_of(fn, root)
    hints = _Hints(function)
    bound = frozenset(fn.keywords) if isinstance(fn, functools.partial) else frozenset()
    raw = list(signature.parameters.values())[skip:]
    _refuse_unbound(function, raw, name, place)
    if raw and _is_dispatched(function):
        raw[0] = raw[0].replace(kind=POSITIONAL_ONLY)
    read = [_parameter(each, hints) for each in raw if each.name not in bound]
    return Callee(
        name=name,
        place=place,
        parameters=tuple(made for each in read for made in _unpacked(each)),
        returns=hints.returns(),
        doc=_doc(fn, function),
        hidden=bound,
    )


def name_of(fn: Any) -> str:
    """The name that a callable goes by."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) and name else type(fn).__name__


def place_of(fn: Any, root: Path | None = None) -> str:
    """`file:line` of a definition, relative to `root` when below it; empty when unknown."""
    code = getattr(inspect.unwrap(_function(fn)), "__code__", None)
    if code is None:
        return ""
    filename: str = code.co_filename
    below = f"{root.absolute()}/" if root is not None else ""
    return f"{filename.removeprefix(below)}:{code.co_firstlineno}"


def _signature(fn: Any, function: Any, name: str) -> inspect.Signature:
    why = "it is not written in Python"
    try:
        inspect.unwrap(function)
        return inspect.signature(fn)
    except (ValueError, TypeError) as error:
        if "wrapper loop" in str(error):
            why = "its `__wrapped__` leads back to itself"
        elif isinstance(fn, functools.partial):
            why = "the partial binds arguments that it does not take"
    message = f"the signature of `{name}` cannot be read: {why}"
    raise FaultError(Fault("unreadable-signature", message, hint=WRITE_PARAMETERS))


def _function(fn: Any) -> Any:
    """What carries the annotations: behind partials, and the `__call__` of an object."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isroutine(fn) or isinstance(fn, type):
        return fn
    return type(fn).__call__


def _doc(fn: Any, function: Any) -> str | None:
    is_object = not (isinstance(fn, functools.partial) or function is fn)
    return inspect.getdoc(type(fn) if is_object and not function.__doc__ else function)


def _refuse_unbound(function: Any, raw: list[inspect.Parameter], name: str, place: str) -> None:
    """Refuse `Class.method`, which has nobody to be its `self`."""
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not (owner and raw) or owner.endswith("<locals>") or inspect.ismethod(function):
        return
    if raw[0].name == "self" and raw[0].annotation is EMPTY and isinstance(function, _PLAIN):
        cls = owner.rpartition(".")[2]
        message = f"`{name}` ({place}) is a method of `{cls}`, without an object to call it on"
        hint = f"write `object: pkg.mod:{cls}` and `call: {name}`"
        raise FaultError(Fault("unbound-method", message, hint=hint))


def _is_dispatched(function: Any) -> bool:
    """Whether `functools.singledispatch` chooses by the first argument, which has no name then."""
    names = vars(function) if isinstance(function, types.FunctionType) else {}
    return {"dispatch", "registry", "register"} <= names.keys()


_PLAIN = (types.FunctionType, types.BuiltinFunctionType)


class _Hints:
    """The annotations of a function, with string names resolved, each for itself if need be."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._written: Mapping[str, Any] = getattr(function, "__annotations__", {})
        self._hints: Mapping[str, Any] | None = None
        with suppress(ForeignError), looking():
            if all(why_not_read(each) is None for each in self._written.values()):
                self._hints = typing.get_type_hints(function, include_extras=True)

    def of(self, name: str, written: Any) -> Any:
        """The type of a parameter. Raises ForeignError, or what its own code does."""
        found = self._resolved(name, written)
        is_looked_at = self._hints is not None and found is self._written.get(name, EMPTY)
        why = None if is_looked_at else why_not_read(found)
        if why is not None:
            raise ForeignError(why)
        return found

    def returns(self) -> Any:
        written = self._written.get("return", EMPTY)
        with suppress(ForeignError), looking():
            return EMPTY if written is EMPTY else self.of("return", written)
        return EMPTY

    def _resolved(self, name: str, written: Any) -> Any:
        if self._hints is not None:
            return self._hints.get(name, written)
        if why_not_read(written) is not None:
            return written
        stand_in = types.SimpleNamespace(__annotations__={name: written})
        scope = getattr(inspect.unwrap(self._function), "__globals__", {})
        return typing.get_type_hints(stand_in, scope, include_extras=True)[name]


def _parameter(raw: inspect.Parameter, hints: _Hints) -> Parameter:
    try:
        with looking():
            return _read(raw, hints)
    except ForeignError as error:
        return Parameter(
            name=raw.name,
            key=raw.name,
            kind=raw.kind,
            annotation=Any,
            default=raw.default,
            is_required=raw.default is EMPTY and raw.kind not in VARIADIC,
            unresolved=str(error) or "pydantic cannot read it",
        )


def _read(raw: inspect.Parameter, hints: _Hints) -> Parameter:
    is_annotated = raw.annotation is not EMPTY and not isinstance(
        raw.annotation, typing.ParamSpecArgs | typing.ParamSpecKwargs
    )
    annotation = hints.of(raw.name, raw.annotation) if is_annotated else Any
    made = Parameter(
        name=raw.name,
        key=raw.name,
        kind=raw.kind,
        annotation=annotation,
        default=raw.default,
        is_required=raw.default is EMPTY and raw.kind not in VARIADIC,
        is_annotated=is_annotated,
        is_context=_is_context(annotation),
    )
    if raw.default is None and is_annotated:
        return replace(made, annotation=optional(annotation))
    return _with_fields(made)


def _is_context(annotation: Any) -> bool:
    bare = without_metadata(annotation)
    return bare is Context or (
        Context in typing.get_args(bare) and typing.get_origin(bare) in _UNIONS
    )


_UNIONS = (typing.Union, types.UnionType)


def _with_fields(read: Parameter) -> Parameter:
    """Take pydantic's `Field(…)` into account, as default or as metadata."""
    default, annotation = read.default, read.annotation
    fields = [each for each in (default, *_metadata(annotation)) if _is_field(each)]
    if not fields:
        return read
    if _is_field(default):
        annotation, default = typing.Annotated[annotation, default], EMPTY
    fills = default is EMPTY and any(not each.is_required() for each in fields)
    aliases = [each.validation_alias or each.alias for each in fields]
    return replace(
        read,
        annotation=annotation,
        default=default,
        fills=fills,
        is_required=default is EMPTY and not fills and read.kind not in VARIADIC,
        key=next((each for each in aliases if isinstance(each, str)), read.key),
    )


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__metadata__", ())


def _is_field(value: Any) -> bool:
    return type(value).__module__ == "pydantic.fields" and hasattr(value, "default_factory")


def _unpacked(read: Parameter) -> Iterator[Parameter]:
    """`**kwargs: Unpack[SomeTypedDict]` as the keyword parameters that it stands for."""
    inner = typing.get_args(read.annotation)
    is_unpacked = typing.get_origin(read.annotation) in {typing.Unpack, Unpack}
    if read.kind != VAR_KEYWORD or not is_unpacked or not is_typeddict(inner[0]):
        yield read
        return
    required = inner[0].__required_keys__
    for name, qualified in typing.get_type_hints(inner[0], include_extras=True).items():
        one = _with_fields(Parameter(name, name, KEYWORD_ONLY, unqualified(qualified)))
        yield replace(one, is_required=name in required)
