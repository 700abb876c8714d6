"""Kind `agent`: a tool that hands a request to another agent: an object of Python, a service, or a
tool of an MCP server.

It is bound as the kind of that way; here is only what the agent is given: the request, or what
`input` makes of it.
"""

import inspect
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from toolrt.bindings.base import BindContext, Binding, Described, Kind, Spec, Unfinished
from toolrt.bindings.python import ObjectName
from toolrt.bindings.python_imports import import_from, looking_at
from toolrt.bindings.python_live import LateObject, Live
from toolrt.core.calls import Invocation
from toolrt.core.faults import Fault, FaultError
from toolrt.core.names import did_you_mean
from toolrt.core.results import Answer
from toolrt.expressions.scope import Scope
from toolrt.expressions.templates import Tree
from toolrt.schemas.docstrings import read_docstring
from toolrt.schemas.functions import describe_function
from toolrt.schemas.phrases import with_article

REQUEST = "request"
METHODS = ("do_async", "do")
"""How agents of Python are asked; the first that an object has is called."""

_WAYS = ("python", "http", "mcp")
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {REQUEST: {"type": "string", "description": "What the agent should do."}},
    "required": [REQUEST],
    "additionalProperties": False,
}
_GIVEN: Mapping[str, Any] = {REQUEST: "{{ request }}"}


class AgentSpec(Spec):
    """Where the agent is, in exactly one of three ways, and what it is given."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [way]} for way in _WAYS]})

    python: ObjectName | None = Field(
        default=None, description="`pkg.mod:name` of an object or a class with `do` or `do_async`."
    )
    http: Any = Field(default=None, description="A URL, or options of the kind `http`.")
    mcp: Any = Field(default=None, description="`{server, tool}`, as of the kind `mcp`.")
    input: Any = Field(
        default=None,
        description="What it is given: the JSON of a request, or arguments by name; built in:"
        " `{request: '{{ request }}'}`.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> "AgentSpec":
        if sum(getattr(self, way) is not None for way in _WAYS) != 1:
            message = "needs exactly one of python, http or mcp"
            raise PydanticCustomError("one-of", message)
        return self


class Asked:
    """An agent that takes arguments by name: what `input` makes of a request."""

    __slots__ = ("_context", "_inner", "_input", "uses")

    def __init__(self, inner: Binding, input_: Tree, context: BindContext) -> None:
        self._inner = inner
        self._input = input_
        self._context = context
        self.uses: frozenset[object] = getattr(inner, "uses", frozenset())

    async def call(self, invocation: Invocation) -> Answer:
        asked = invocation.arguments
        references = self._input.references
        if references:
            await self._context.references.prepare(references, invocation.caller)
        invocation.arguments = self._arguments(invocation)
        try:
            return await self._inner.call(invocation)
        finally:
            invocation.arguments = asked

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        shown = copy(invocation)
        shown.arguments = self._arguments(invocation)
        return self._inner.preview(shown)

    def _arguments(self, invocation: Invocation) -> dict[str, Any]:
        scope = Scope.of(invocation, self._context.vars, self._context.references)
        return dict(self._input.render(scope))


def bind(spec: AgentSpec, context: BindContext) -> Binding:
    """Bind the way to the agent; faults are in the context."""
    if spec.http is not None:
        return context.bind_as(context, "http", _request(spec), ("http",))
    written = spec.input
    if spec.mcp is not None:
        inner = context.bind_as(context, "mcp", spec.mcp, ("mcp",))
        return Asked(inner, context.tree(written or _GIVEN, ("input",)), context)
    if not context.imports:
        return Unfinished("it was loaded without imports")
    try:
        with looking_at(str(spec.python), context.project):
            method, names, schema = _method(spec, context)
    except FaultError as error:
        context.faults.extend(error.under("python"))
        return Unfinished("its agent is at fault")
    own = replace(context, input_schema=schema, visible=frozenset(names), written_parameters=True)
    options = {"object": spec.python, "call": method}
    inner = context.bind_as(own, "python", options, ("python",))
    given = written if written is not None else {names[0]: "{{ request }}"} if names else {}
    _check_input(given, schema, context)
    return Asked(inner, context.tree(given, ("input",)), context)


def describe(spec: AgentSpec, context: BindContext) -> Described:
    """What an agent of Python says of itself: what it is for, and its role and goal."""
    if spec.python is None or not context.imports:
        return Described(dict(_SCHEMA))
    try:
        with looking_at(str(spec.python), context.project):
            found = _agent(spec.python, context)
            return Described(dict(_SCHEMA), described(found))
    except FaultError:
        return Described(dict(_SCHEMA))  # `bind` reports it


def described(agent: Any) -> str:
    """What a model is told of an agent."""
    name = getattr(agent, "name", None) or getattr(agent, "__name__", type(agent).__name__)
    own = agent if isinstance(agent, type) else type(agent)
    says = read_docstring(inspect.getdoc(own)).description if own.__doc__ else None
    lines = [says or f"Ask the agent {name} to do something."]
    for key in ("role", "goal"):
        value = getattr(agent, key, None)
        if isinstance(value, str) and value.strip():
            lines.append(f"{key.capitalize()}: {value.strip().rstrip('.')}.")
    return " ".join(lines)


def _request(spec: AgentSpec) -> dict[str, Any]:
    """Options of the kind `http`: the agent is given JSON, unless they say otherwise."""
    written = {"url": spec.http} if isinstance(spec.http, str) else dict(spec.http)
    given = spec.input if spec.input is not None else _GIVEN
    has_body = {"json", "form", "multipart", "graphql", "body", "args_in"} & written.keys()
    return {"method": "POST", **({} if has_body else {"json": given}), **written}


def _agent(named: object, context: BindContext) -> Any:
    """The agent itself, or its class where it is still to be made. Raises FaultError."""
    if not isinstance(named, Live):
        return import_from(context.project, str(named))
    return named.found.cls if isinstance(named.found, LateObject) else named.found


def _check_input(given: Any, schema: Mapping[str, Any], context: BindContext) -> None:
    """Report arguments that the agent does not take, and those that it lacks."""
    if not isinstance(given, Mapping):
        context.fault("wrong-type", "arguments of the agent, by name", "input")
        return
    known = schema.get("properties", {})
    for name in given:
        if name not in known:
            message = f"the agent takes no `{name}`"
            context.fault("signature-drift", message, "input", name, hint=did_you_mean(name, known))
    for name in schema.get("required", ()):
        if name not in given:
            message = f"the agent needs `{name}`"
            context.fault("signature-drift", message, "input", hint="write it under `input`")


def _method(spec: AgentSpec, context: BindContext) -> tuple[str, list[str], dict[str, Any]]:
    """The method that is called, the names of its parameters, and their schema.

    Raises FaultError.
    """
    found = _agent(spec.python, context)
    method = next((each for each in METHODS if callable(getattr(found, each, None))), None)
    if method is None:
        kind_ = with_article(type(found).__name__)
        message = f"`{spec.python}` is {kind_} without `do` or `do_async`"
        raise FaultError(Fault("not-callable", message))
    skip = 1 if isinstance(found, type) else 0
    made = describe_function(getattr(found, method), context.project, skip=skip)
    return method, list(made.input_schema.get("properties", {})), made.input_schema


KIND = Kind(name="agent", spec=AgentSpec, bind=bind, describe=describe)
