"""The kind `steps`: calls of other tools, each with what those before it came to.

Compiled here, and run by the stage `steps`, for every step is a call of the gateway like any other.
A step may read the results of earlier ones alone, so that no two can wait for each other.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from toolrt.bindings.base import BindContext, Kind
from toolrt.bindings.steps_spec import Instead, Step, StepsSpec
from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.faults import FaultError
from toolrt.core.faults import Path as FaultPath
from toolrt.core.results import Answer
from toolrt.expressions.condition_text import ConditionText
from toolrt.expressions.conditions import (
    CONDITION_KEYS,
    REJECT_ROOTS,
    Condition,
    RootType,
    compile_condition,
)
from toolrt.expressions.scope import Scope
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, Tree, compile_tree

T = TypeVar("T")

KEYS: Final = ("status", "data", "text")
"""What `steps.ID` has."""
_EXPRESSION = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_NAMED = re.compile(r"(?<![\w.])steps\b(?:\s*\.\s*(\w+)(?:\s*\.\s*(\w+))?)?")


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """One step. `needs` are the ids of those whose results it reads.

    `instead` makes the data of a step that failed; None where that ends the plan. `written` are its
    arguments as they stand there.
    """

    id: str
    tool: str
    arguments: Tree
    when: Condition | None = None
    each: Tree | None = None
    needs: frozenset[str] = frozenset()
    instead: Tree | None = None
    written: Mapping[str, Any] = field(default_factory=dict)


class Steps:
    """The steps of one tool."""

    def __init__(self, steps: Sequence[CompiledStep], context: BindContext) -> None:
        self.steps = tuple(steps)
        self._vars, self._references = context.vars, context.references

    def steps_of(self, _invocation: Invocation) -> Sequence[CompiledStep]:
        """The steps of a call: always the same."""
        return self.steps

    async def call(self, _invocation: Invocation) -> Answer:
        raise RefusedError("steps are run by the pipeline", code="unsupported")

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        scope = Scope.of(invocation, self._vars, self._references)
        return {"steps": [_shown(each, scope) for each in self.steps]}


def _shown(step: CompiledStep, scope: Scope) -> dict[str, Any]:
    """A step as it would be; what depends on others is shown as it is written."""
    is_open = step.needs or step.each is not None
    arguments = dict(step.written) if is_open else step.arguments.masked(scope)
    return {"id": step.id, "tool": step.tool, "args": arguments}


def bind(spec: StepsSpec, context: BindContext) -> Steps:
    """Compile every step; each fault stands at the step that has it."""
    ids = [step.id for step in spec.steps]
    made = [_Compiling(context, step, number, ids).step() for number, step in enumerate(spec.steps)]
    context.warn_of_unused("name it in the `args` of a step, or take it away")
    return Steps(made, context)


@dataclass(frozen=True)
class _Compiling:
    """One step on its way; `ids` are those of all steps."""

    context: BindContext
    written: Step
    number: int
    ids: Sequence[str]

    def step(self) -> CompiledStep:
        step, context = self.written, self.context
        if step.id in self.ids[: self.number]:
            message = f"the id `{step.id}` stands twice"
            context.fault("duplicate-step", message, *self._at("id"), hint="an id names one step")
        instead = step.on_error
        value = instead.value if isinstance(instead, Instead) else None
        made = CompiledStep(
            step.id,
            step.tool,
            self._tree(step.args, "args"),
            None if step.when is None else self._condition(step.when),
            self._each(),
            self._needs(value),
            None if instead == "fail" else self._tree(value, "on_error", "value"),
            step.args,
        )
        self._refuse_references(made)
        return made

    def _at(self, *path: str | int) -> FaultPath:
        return ("steps", self.number, *path)

    def _names(self, *, has_item: bool = True) -> Names:
        names = self.context.names
        more = {"steps", "item"} if has_item and self.written.for_each is not None else {"steps"}
        known = {**names.known_keys, "steps": frozenset(self.ids)}
        return replace(names, roots=names.roots | more, known_keys=known)

    def _tree(self, value: Any, *at: str, has_item: bool = True) -> Tree:
        context, before = self.context, self.context.names
        context.names = self._names(has_item=has_item)
        try:
            return context.tree(value, self._at(*at))
        finally:
            context.names = before

    def _each(self) -> Tree | None:
        written = self.written.for_each
        if written is None:
            return None
        if not (written.strip().startswith("{{") and written.strip().endswith("}}")):
            message = "`for_each` is one `{{ … }}` that names a list"
            hint = "such as `{{ steps.find.data }}`"
            self.context.fault("invalid-template", message, *self._at("for_each"), hint=hint)
        return self._tree(written.strip(), "for_each", has_item=False)

    def _condition(self, text: str) -> Condition | None:
        names = self._names()
        more: dict[str, RootType] = {"steps": "map"}
        if self.written.for_each is not None:
            more["item"] = "dyn"
        schemas = self.context.input_schema.get("properties", {})
        self.context.used.update(
            use.key for use in ConditionText(text).uses() if use.root == "args" and use.key
        )
        keys = {**CONDITION_KEYS, **names.known_keys}
        return self._sound(
            lambda: compile_condition(text, {**REJECT_ROOTS, **more}, schemas, keys), "when"
        )

    def _sound(self, make: Callable[[], T], *at: str) -> T | None:
        try:
            return make()
        except FaultError as error:
            self.context.faults.extend(error.under(*self._at(*at)))
            return None

    def _needs(self, value: Any) -> frozenset[str]:
        """The steps that it reads; one that comes later is a fault."""
        step = self.written
        places: dict[str, Iterable[tuple[str | None, str | None]]] = {
            "args": _read_in(step.args),
            "for_each": _read_in(step.for_each),
            "on_error": _read_in(value),
            "when": _read_by(step.when),
        }
        found: set[str] = set()
        for at, named in places.items():
            for id_, key in named:
                self._check(id_, key, at)
                found |= set(self.ids[: self.number]) if id_ is None else {id_}
        return frozenset(found.intersection(self.ids))

    def _check(self, id_: str | None, key: str | None, at: str) -> None:
        if id_ not in self.ids:
            return
        if id_ not in self.ids[: self.number]:
            where = "this step itself" if id_ == self.written.id else "a later step"
            message = f"`steps.{id_}` is {where}, which has no result yet"
            hint = "a step reads the results of earlier ones; put that one before it"
            self.context.fault("later-step", message, *self._at(at), hint=hint)
        elif key is not None and key not in KEYS:
            message = f"`steps.{id_}` has no `{key}`"
            hint = f"write `steps.{id_}.data.{key}`; there are {', '.join(KEYS)}"
            self.context.fault("unknown-name", message, *self._at(at), hint=hint)

    def _refuse_references(self, made: CompiledStep) -> None:
        trees = {"args": made.arguments, "for_each": made.each, "on_error": made.instead}
        for at, tree in trees.items():
            if tree is not None and tree.references:
                message = "a reference has no place here: arguments are written down"
                hint = "the tool that needs the secret names it itself"
                self.context.fault("disallowed", message, *self._at(at), hint=hint)


def _read_in(value: Any) -> Iterable[tuple[str | None, str | None]]:
    """What the templates inside `value` name of `steps`: an id and a key of it. None for an id
    where they read all of it.
    """
    if isinstance(value, str):
        for expression in _EXPRESSION.findall(value):
            yield from ((id_ or None, key or None) for id_, key in _NAMED.findall(expression))
        return
    members = value.values() if isinstance(value, dict) else value
    for member in members if isinstance(value, dict | list) else ():
        yield from _read_in(member)


def _read_by(condition: str | None) -> Iterable[tuple[str | None, str | None]]:
    if condition is None:
        return []
    code = ConditionText(condition).code
    return [(id_ or None, key or None) for id_, key in _NAMED.findall(code)]


def constant(value: Any) -> Tree:
    """A value that is given out as it stands."""
    return compile_tree(value, TEXT, Names())


KIND = Kind("steps", StepsSpec, bind)
