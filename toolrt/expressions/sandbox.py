"""Templates with filters, conditions and loops: jinja2 in a sandbox of our own.

No globals, no loader, nothing to call; `a.b` reads keys and never attributes. A tree is checked at
load (`grammar`) and turned into code when it is first rendered. Pieces are escaped one by one and
counted while they come.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from jinja2 import Template as JinjaTemplate
from jinja2 import Undefined, nodes, pass_context
from jinja2.exceptions import TemplateError, UndefinedError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from toolrt.core.errors import CallError, RefusedError
from toolrt.core.faults import FaultError
from toolrt.expressions.compiled import Template
from toolrt.expressions.filters import FILTERS, Encoded, present
from toolrt.expressions.grammar import TESTS, Usage, check, parse
from toolrt.expressions.plain import LONGEST, Revealing, bounded
from toolrt.expressions.references import REFERENCE, Reference
from toolrt.expressions.references import parse as parse_reference
from toolrt.expressions.scope import ABSENT, Absent, Scope
from toolrt.expressions.slots import TEXT, Slot, UnfitError
from toolrt.expressions.vocabulary import Names

_TIME_S = 0.1
_LONGEST_NUMBER = 10**300
_FOREIGN = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    RecursionError,
)
"""What code made of a template may raise."""
_VALUE, _SHOW, _END = "__value", "__show", "__end"
_EACH, _MADE = "__each", "__made"
_RETURN = "\0"
"""Stands for a carriage return, which jinja would turn into a newline."""


class Missing(Undefined):
    """A name without a value: false in a condition, an error where a value is needed."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        return f"`{self._undefined_name}` has no value"


class Sandbox(ImmutableSandboxedEnvironment):
    """jinja's own sandbox, with everything taken out that a manifest does not need."""

    intercepted_binops = frozenset({"*", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=Missing,
            finalize=_finalize,
            keep_trailing_newline=True,
            comment_start_string="\1\1",
            comment_end_string="\2\2",
        )
        self.globals = {}
        self.filters = {**FILTERS, _EACH: _each, _MADE: _made}
        self.tests = {name: self.tests[name] for name in TESTS}

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext):
            return getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Undefined):
            return obj
        if not isinstance(obj, (Mapping, list, tuple, str)):
            return self.undefined(obj=obj, name=str(argument))
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=str(argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            raise TypeError(f"`{operator}` is for numbers")
        if abs(left) > _LONGEST_NUMBER or abs(right) > _LONGEST_NUMBER:
            raise OverflowError("these numbers are too large")
        return super().call_binop(context, operator, left, right)


def compile_sandboxed(text: str, slot: Slot, names: Names) -> Template:
    """Check a text with expressions. Raises FaultError with the offset of each fault."""
    environment = _sandbox()
    tree = parse(environment, text.replace("\r", _RETURN))
    expression = _lone_expression(tree)
    usage, faults = check(tree, slot, names, is_lone=expression is not None)
    if faults:
        raise FaultError(*sorted(set(faults), key=lambda fault: fault.offset or 0))
    rewriter = _Rewriter()
    rewriter.visit(tree)
    if expression is not None:
        target = nodes.Name(_VALUE, "store", lineno=1)
        tree.body = [nodes.Assign(target, _lone_expression(tree), lineno=1)]
    tree.set_environment(environment)
    return Template(
        text,
        slot,
        Computed(tree, usage, rewriter.found, names.optional, is_lone=expression is not None),
        parameters=usage.parameters,
        roots=usage.roots,
        references=tuple(rewriter.found),
        is_lone=expression is not None,
    )


class Computed:
    """The program of a sandboxed template; `tree` becomes code with the first call."""

    __slots__ = ("_code", "_is_lone", "_optional", "_references", "_tree", "_usage")

    def __init__(
        self,
        tree: nodes.Template,
        usage: Usage,
        references: list[Reference],
        optional: frozenset[str],
        *,
        is_lone: bool,
    ) -> None:
        self._tree = tree
        self._usage = usage
        self._optional = optional & usage.parameters
        self._references = [Revealing(each) for each in references]
        self._is_lone = is_lone
        self._code: JinjaTemplate | None = None

    def text(self, scope: Scope, slot: Slot) -> str | Absent:
        if self._is_lone:
            value = self._expression(scope)
            return ABSENT if value is ABSENT else bounded([_escape(value, slot)])
        return self._joined(scope, slot, lambda part: part.text(scope, slot))

    def value(self, scope: Scope) -> Any:
        return self._expression(scope) if self._is_lone else self.text(scope, TEXT)

    def masked(self, scope: Scope, slot: Slot) -> str | Absent:
        if self._is_lone:
            return self.text(scope, slot)
        return self._joined(scope, slot, lambda part: part.masked(scope, slot))

    def _expression(self, scope: Scope) -> Any:
        """The value of the only expression; ABSENT when it lacks an optional parameter."""
        context = self._context(scope, None)
        try:
            deque(self._render(context), maxlen=0)
        except UndefinedError as error:
            if not self._optional <= scope.arguments.keys():
                return ABSENT
            raise self._failure(error) from None
        except _FOREIGN as error:
            raise self._failure(error) from None
        value = context.vars[_VALUE]
        return ABSENT if isinstance(value, Undefined) else value

    def _joined(self, scope: Scope, slot: Slot, reveal: Callable[[Revealing], str]) -> str:
        def show(value: Any) -> str:
            return reveal(value) if isinstance(value, Revealing) else _escape(value, slot)

        pieces: list[str] = []
        size = 0
        context = self._context(scope, show)
        try:
            for piece in self._render(context):
                pieces.append(piece)
                size += len(piece)
                _check_time(context)
                if size > LONGEST:
                    break
        except _FOREIGN as error:
            raise self._failure(error) from None
        return bounded(pieces)

    def _render(self, context: Context) -> Iterator[str]:
        if self._code is None:
            self._code = _sandbox().from_string(self._tree)
        context.parent[_END] = time.thread_time() + _TIME_S
        return self._code.root_render_func(context)

    def _context(self, scope: Scope, show: Callable[[Any], str] | None) -> Context:
        given = scope.arguments
        values = {name: given[name] for name in self._usage.parameters if name in given}
        roots = {name: scope.root(name) for name in self._usage.roots}
        values |= {name: value for name, value in roots.items() if value is not ABSENT}
        values |= {_reference_name(index): each for index, each in enumerate(self._references)}
        return Context(_sandbox(), values | {_SHOW: show}, None, {})

    def _failure(self, error: Exception) -> CallError:
        if isinstance(error, UndefinedError):
            why = str(error.message)
        else:
            why = (
                f"a value {error}" if isinstance(error, UnfitError) else "the values do not fit it"
            )
        if self._usage.roots & {"result", "steps", "item"}:
            return CallError(
                f"the answer cannot be written as the tool says: {why}", code="bad-response"
            )
        return RefusedError(
            f"a template of this tool fails: {why}",
            code="invalid-arguments",
        )


class _Rewriter(NodeTransformer):
    """Puts references in place of their text, and our filters where jinja has rules of its own."""

    def __init__(self) -> None:
        self.found: list[Reference] = []

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802 - jinja's protocol
        self.generic_visit(node)
        node.nodes = [
            part
            for child in node.nodes
            for part in (self._split(child) if isinstance(child, nodes.TemplateData) else [child])
        ]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802 - as above
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "join")

    def visit_List(self, node: nodes.List) -> nodes.Filter:  # noqa: N802 - as above
        self.generic_visit(node)
        return _filtered(node, _MADE)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Filter:  # noqa: N802 - as above
        self.generic_visit(node)
        return _filtered(node, _MADE)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Expr:  # noqa: N802 - as above
        self.generic_visit(node)
        return node if node.ctx == "store" else _filtered(node, _MADE)

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - as above
        self.generic_visit(node)
        node.iter = _filtered(cast("nodes.Expr", node.iter), _EACH)
        return node

    def _split(self, node: nodes.TemplateData) -> Iterator[nodes.Expr]:
        """Constants and references of a text."""
        end = 0
        for match in REFERENCE.finditer(node.data):
            yield _constant(node, end, match.start())
            yield nodes.Name(_reference_name(len(self.found)), "load", lineno=node.lineno)
            self.found.append(parse_reference(match[0]))
            end = match.end()
        yield _constant(node, end, len(node.data))


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _constant(node: nodes.TemplateData, start: int, end: int) -> nodes.TemplateData:
    return nodes.TemplateData(node.data[start:end].replace(_RETURN, "\r"), lineno=node.lineno)


@cache
def _sandbox() -> Sandbox:
    return Sandbox()


@pass_context
def _each(context: Context, value: Any) -> Iterator[Any]:
    """What a loop goes through, as long as there is time."""
    for item in present(value):
        _check_time(context)
        yield item


def _made(value: Any) -> Any:
    """A list or an object that the template itself writes: every value in it must be there."""
    if isinstance(value, dict):
        return {key: present(each) for key, each in value.items()}
    return [present(each) for each in value]


def _check_time(context: Context) -> None:
    if time.thread_time() > context.parent[_END]:
        raise RefusedError(
            "the arguments take a template longer than 100 ms", code="invalid-arguments"
        )


@pass_context
def _finalize(context: Context, value: Any) -> str:
    show: Callable[[Any], str] = context.parent[_SHOW]
    return show(value)


def _lone_expression(tree: nodes.Template) -> nodes.Expr | None:
    """The expression of a template that is one `{{ … }}` and nothing else."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    parts = tree.body[0].nodes
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData) else None


def _reference_name(index: int) -> str:
    return f"__reference_{index}"


def _escape(value: Any, slot: Slot) -> str:
    if isinstance(value, Encoded):
        return str(value)
    if isinstance(value, Undefined) and not isinstance(value, Missing):
        return ""  # an inline `if` without `else`
    return slot.escape(present(value))
