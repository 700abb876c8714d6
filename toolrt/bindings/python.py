"""The kind `python`: a tool is a Python callable, named by a dotted name or given alive.

When a tool is bound its callable is imported, read and compared with the manifest; a call goes to
the loop, a thread or a worker process, as the callable is and the manifest says.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, WrapValidator, model_validator
from pydantic_core import PydanticCustomError

from toolrt.bindings.base import BindContext, Binding, Described, Kind, Spec, Unfinished
from toolrt.bindings.python_calls import AtOnce, Inline, InThread, Linked, OnLoop, is_async, link
from toolrt.bindings.python_drift import drift
from toolrt.bindings.python_hosts import Hosts, never_waits
from toolrt.bindings.python_imports import DOTTED, import_from, looking_at, meant_by
from toolrt.bindings.python_live import Live, Make
from toolrt.bindings.python_owners import owned
from toolrt.bindings.python_targets import Target, callee_of, find_target
from toolrt.bindings.threads import ThreadPool
from toolrt.core.faults import Fault, FaultError
from toolrt.core.marks import defaults_of, mark_of
from toolrt.expressions.scope import Scope
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, compile_tree
from toolrt.schemas.docstrings import read_docstring
from toolrt.schemas.functions import describe_function
from toolrt.schemas.signatures import Callee

__all__ = ["KIND", "PythonSpec", "import_from"]

_ATTRIBUTE = r"[A-Za-z_]\w*"
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


def _named(value: Any) -> Any:
    if isinstance(value, str) or callable(value) or value is None:
        return value
    raise PydanticCustomError("not-a-name", "expected a dotted name such as pkg.mod:fn")


def _dotted(value: Any, checked: Callable[[Any], str]) -> str:
    if isinstance(value, Live):
        return value
    if isinstance(value, str) and not re.match(DOTTED, value):
        right = meant_by(value)
        wanted = f", write {right}" if right else " such as pkg.mod:Class"
        raise PydanticCustomError(
            "not-a-name", "expected a dotted name{wanted}", {"wanted": wanted}
        )
    return checked(value)


ObjectName = Annotated[str, WrapValidator(_dotted)]
"""`pkg.mod:name`, or something alive under its label."""


class PythonSpec(Spec):
    """`call: pkg.mod:fn`, or `object: pkg.mod:Cls` with `init` and the method under `call`."""

    call: Annotated[Any, BeforeValidator(_named), WithJsonSchema({"type": "string"})] = Field(
        default=None, description="`pkg.mod:fn`; beside `object` the name of its method."
    )
    object: ObjectName | None = Field(
        default=None, description="`pkg.mod:name` of an object, or of a class to make one of."
    )
    init: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of the class: constants and ${references}."
    )
    run_in: Literal["thread", "process", "inline"] | None = Field(
        default=None, description="Built in: an `async def` on the loop, all else in a thread."
    )

    @model_validator(mode="after")
    def _names_something(self) -> "PythonSpec":
        if self.call is None and self.object is None:
            raise PydanticCustomError("no-callable", "needs `call`, or `object`")
        if not isinstance(self.call, str) or isinstance(self.call, Live):
            return self
        if self.object is None and not re.match(DOTTED, self.call):
            right = meant_by(self.call)
            wanted = f"write {right}" if right else "expected module:function, as in pkg.mod:fn"
            message = "`{call}` is no dotted name: {wanted}"
            raise PydanticCustomError("not-a-name", message, {"call": self.call, "wanted": wanted})
        if self.object is not None and not re.fullmatch(_ATTRIBUTE, self.call):
            message = "`{call}` is no method of `object`: expected one name"
            raise PydanticCustomError("not-a-name", message, {"call": self.call})
        return self


def describe(spec: PythonSpec, context: BindContext) -> Described:
    """Schema and description from signature and docstring; faults are in the context."""
    try:
        with looking_at(_label(spec), context.project):
            return _described(spec, context)
    except FaultError as error:
        context.faults.extend(error.under("call"))
        return Described(_NO_PARAMETERS, "")


def _described(spec: PythonSpec, context: BindContext) -> Described:
    target = _target(spec, context, dict)
    if target is None:
        return Described(_NO_PARAMETERS, "")
    try:
        made = describe_function(target.declared, callee=target.callee(context.project))
    except FaultError as error:
        context.faults.extend(error.under("call"))
        doc = read_docstring(inspect.getdoc(target.declared))
        return Described(_NO_PARAMETERS, doc.description)
    context.faults.extend(fault.under("call") for fault in made.warnings)
    return Described(made.input_schema, made.description, made.output_schema)


def marked(spec: PythonSpec, context: BindContext) -> Mapping[str, Any]:
    """Tool keys that the callable's author wrote with `@tool`; its toolkit's defaults win."""
    try:
        with looking_at(_label(spec), context.project):
            target = find_target(context.project, spec.call, spec.object, dict)
            mark = mark_of(target.declared)
            return {**(mark.options if mark else {}), **defaults_of(target.cls or target.owner)}
    except FaultError:
        return {}  # `bind` reports it


def bind(spec: PythonSpec, context: BindContext) -> Binding:
    """Link a tool to its callable; faults are in the context."""
    if not context.imports:
        return Unfinished("it was loaded without imports")
    try:
        with looking_at(_label(spec), context.project):
            return _bound(spec, context)
    except FaultError as error:
        context.faults.extend(error.under("call"))
        return Unfinished("its callable is at fault")


def _bound(spec: PythonSpec, context: BindContext) -> Binding:
    init = init_of(spec.init, context)
    target = _target(spec, context, init)
    if target is None:
        return Unfinished("its callable is at fault")
    _check_init(spec, target, context)
    callee, faults = callee_of(target, context.project)
    if context.written_parameters:
        _check_written(callee, faults, context)
    linked = link(target, callee, context.input_schema.get("properties", ()), context.project)
    if spec.run_in == "process":
        return _in_process(spec, linked, init, context)
    return owned(_of_this_process(spec, target, linked, context), target, context)


def _of_this_process(
    spec: PythonSpec, target: Target, linked: Linked, context: BindContext
) -> Binding:
    hosts = context.services.share(Hosts)
    if is_async(target.declared):
        return AtOnce(linked) if never_waits(linked.fn) else OnLoop(linked, hosts)
    if spec.run_in == "inline":
        return Inline(linked, hosts)
    return InThread(linked, context.services.share(ThreadPool), hosts)


def _label(spec: PythonSpec) -> str:
    return spec.object or (spec.call if isinstance(spec.call, str) else "the callable")


def _target(spec: PythonSpec, context: BindContext, init: Make) -> Target | None:
    try:
        return find_target(context.project, spec.call, spec.object, init)
    except FaultError as error:
        context.faults.extend(error.faults)
        return None


def init_of(written: Mapping[str, Any], context: BindContext) -> Make:
    """Gives the arguments of an object's class, references resolved when it is asked."""
    names = Names(roots=frozenset({"vars"}), known_keys=context.names.known_keys)
    try:
        tree = compile_tree(dict(written), TEXT, names)
    except FaultError as error:
        context.faults.extend(error.under("init"))
        return dict
    context.used_references += tree.references
    for reference in tree.references:
        if reference.kind in {"caller", "tenant"}:
            message = f"{reference} differs by caller, and the object is made once for all"
            context.fault("bad-reference", message, "init")
    for reason in context.references.unusable(tree.references):
        context.unavailable = context.unavailable or reason
    scope = Scope(vars=context.vars, references=context.references)
    return lambda: dict(tree.render(scope))


def _check_init(spec: PythonSpec, target: Target, context: BindContext) -> None:
    if target.cls is None:
        if spec.init:
            message = "`init` makes an object of a class, and `object` names none"
            context.fault("signature-drift", message, "init", on_key=True)
        return
    try:
        inspect.signature(target.cls).bind(**spec.init)
    except TypeError as error:
        message = f"`init` does not fit `{target.cls.__name__}`: {error}"
        context.fault("signature-drift", message, "init" if spec.init else "object")
    except ValueError:
        return  # a class written in C may not say what it takes


def _check_written(callee: Callee, faults: Iterable[Fault], context: BindContext) -> None:
    """Written parameters make up for a signature that says nothing, and must fit any other."""
    unfit = [each for each in faults if each.code != "unreadable-signature"]
    context.faults.extend(each.under("call") for each in unfit)
    if not faults and not callee.is_opaque:
        context.faults.extend(drift(callee, context.input_schema))


def _in_process(spec: PythonSpec, linked: Linked, init: Make, context: BindContext) -> Binding:
    from toolrt.bindings.python_workers import (  # noqa: PLC0415 - few tools need it
        InProcess,
        WorkerPool,
    )

    named = (spec.call, spec.object)
    is_alive = any(isinstance(each, Live) and not each.is_dotted for each in named)
    if is_alive or not isinstance(spec.call, str | None):
        message = "a process finds a callable by its dotted name, and this one is given alive"
        context.fault("unsupported-callable", message, "run_in")
    target = {"call": spec.call, "object": spec.object, "is_shared": isinstance(spec.object, Live)}
    properties = context.input_schema.get("properties", ())
    pool = context.services.share(WorkerPool)
    return InProcess(linked, target, init, properties, pool, written=spec.init)


KIND = Kind(name="python", spec=PythonSpec, bind=bind, describe=describe, marked=marked)
