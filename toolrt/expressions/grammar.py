"""What a template may say: parses one with jinja2 and names every fault with its exact place.

Tokens are handed to the parser with their offset in place of the line number, so every node and
every syntax error knows the character it stands at.
"""

import inspect
import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.visitor import NodeVisitor

from toolrt.core.faults import Fault, FaultError
from toolrt.core.names import did_you_mean
from toolrt.expressions.filters import FILTERS
from toolrt.expressions.plain import optional_fault
from toolrt.expressions.references import faults_in, faults_of
from toolrt.expressions.slots import PATH_SEGMENT, Slot
from toolrt.expressions.vocabulary import Names

TESTS = frozenset(
    {
        "boolean",
        "defined",
        "false",
        "float",
        "in",
        "integer",
        "mapping",
        "none",
        "number",
        "sequence",
        "string",
        "true",
        "undefined",
    }
)
_TAGS = frozenset({"if", "elif", "else", "endif", "for", "endfor", "raw", "endraw"})
_LOOP = frozenset({"index", "index0", "first", "last", "length"})
_DEEPEST = 40
_MOST = 10_000
_WORDS = (
    (re.compile(r"block that needs to be closed is '(\w+)'"), "`{{% {0} %}}` is never closed"),
    (re.compile(r"unexpected end of template"), "`{{{{` is never closed"),
    (
        re.compile(r"(?:got|unexpected) 'end of (?:print|statement)"),
        "the expression ends too early",
    ),
    (re.compile(r"(?:got|[Uu]nexpected|unexpected char) '(.+?)'"), "unexpected `{0}`"),
    (re.compile(r"unknown tag '(\w+)'"), "`{{% {0} %}}` closes nothing"),
)
_ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.Const,
    nodes.List,
    nodes.Tuple,
    nodes.Dict,
    nodes.Pair,
    nodes.Keyword,
    nodes.Getitem,
    nodes.Slice,
    nodes.Concat,
    nodes.Compare,
    nodes.Operand,
    nodes.BinExpr,
    nodes.UnaryExpr,
)
"""Nodes that hold no danger of their own; those with rules have a method below."""


def parse(environment: Environment, text: str) -> nodes.Template:
    """The tree of `text`, each node's `lineno` being its offset. Raises FaultError."""
    parser = Parser(environment, "")
    try:
        tokens = list(itertools.islice(_tokens(environment, text), _MOST))
        if len(tokens) == _MOST:
            raise FaultError(Fault("invalid-template", "this template is too long", offset=0))
        _check_tags(tokens)
        parser.stream = TokenStream(environment.lexer.wrap(tokens), None, None)
        return parser.parse()
    except TemplateSyntaxError as error:
        message, offset = _plain_words(str(error.message)), min(error.lineno, len(text))
    except (RecursionError, ValueError):
        message, offset = "this expression is nested too deeply, or a number is too long", 0
    raise FaultError(
        Fault(
            "invalid-template",
            message,
            hint='a literal `{{` is written `{{ "{{" }}`',
            offset=offset,
        )
    )


@dataclass(frozen=True, slots=True)
class Usage:
    """The names that a template reads."""

    parameters: frozenset[str]
    roots: frozenset[str]


def check(
    tree: nodes.Template, slot: Slot, names: Names, *, is_lone: bool
) -> tuple[Usage, list[Fault]]:
    """What `tree` reads, and everything in it that it may not do."""
    checker = _Checker(slot, names, is_lone)
    checker.visit(tree)
    usage = Usage(frozenset(checker.used - names.roots), frozenset(checker.used & names.roots))
    return usage, checker.faults


def _tokens(environment: Environment, text: str) -> Iterator[tuple[int, str, str]]:
    """The raw tokens with offsets instead of lines.

    White space that a `-` sign strips is in no token, so each one is looked for.
    """
    end = 0
    try:
        for _line, kind, value in environment.lexer.tokeniter(text, None):
            start = max(text.find(value, end), end)
            end = start + len(value)
            yield start, kind, value
    except TemplateSyntaxError as error:
        error.lineno = end + len(text[end:]) - len(text[end:].lstrip())
        raise


def _plain_words(message: str) -> str:
    """The parser's complaint for somebody who does not know the parser."""
    for pattern, words in _WORDS:
        match = pattern.search(message)
        if match:
            return words.format(*match.groups())
    return message.rstrip(".")


def _check_tags(tokens: Iterable[tuple[int, str, str]]) -> None:
    words = [token for token in tokens if token[1] != "whitespace"]
    for (_, kind, _), (offset, word, tag) in itertools.pairwise(words):
        if kind == "block_begin" and word == "name" and tag not in _TAGS:
            raise FaultError(
                Fault(
                    "disallowed",
                    f"`{{% {tag} %}}` cannot be used in a template",
                    hint="only `{% if %}` and one level of `{% for %}` can",
                    offset=offset,
                )
            )


@dataclass
class _Checker(NodeVisitor):
    """Walks a tree. `guarded` are optional names that the text around has already asked about."""

    slot: Slot
    names: Names
    is_lone: bool
    faults: list[Fault] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    guarded: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()
    depth: int = 0
    is_too_deep: bool = False

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> None:
        if self.depth > _DEEPEST:
            if not self.is_too_deep:
                self._refuse(node, "this expression is nested too deeply")
            self.is_too_deep = True
            return
        self.depth += 1
        super().visit(node, *args, **kwargs)
        self.depth -= 1

    def generic_visit(self, node: nodes.Node, *_args: Any, **_kwargs: Any) -> None:
        if not isinstance(node, _ALLOWED):
            self._refuse(node, f"{_what(node)} cannot be used in a template")
            return
        for child in node.iter_child_nodes():
            self.visit(child)

    def visit_Name(self, node: nodes.Name) -> None:  # noqa: N802 - jinja's protocol
        self._read(node, None)

    def visit_Getattr(self, node: nodes.Getattr) -> None:  # noqa: N802 - as above
        if node.attr.startswith("__"):
            self._refuse(node, f"`{node.attr}` cannot be read")
            return
        inner = node.node
        if not isinstance(inner, nodes.Name):
            self.visit(inner)
        elif inner.name == "loop" and "loop" in self.local:
            self._check_loop(node)
        else:
            self._read(inner, node.attr)

    def visit_TemplateData(self, node: nodes.TemplateData) -> None:  # noqa: N802 - as above
        self.faults += faults_in(node.data, node.lineno)

    def visit_Const(self, node: nodes.Const) -> None:  # noqa: N802 - as above
        if isinstance(node.value, float) and not isfinite(node.value):
            self._refuse(node, "this number is too large")
        text = node.value if isinstance(node.value, str) else ""
        if text.startswith("${") and text.endswith("}") and not faults_of(text, 0):
            self._refuse(
                node, f"`{text}` is no part of an expression", "write it outside of `{{ }}`"
            )

    def visit_Call(self, node: nodes.Call) -> None:  # noqa: N802 - as above
        self._refuse(node, "a template calls nothing", "filters are written `{{ x | upper }}`")

    def visit_Pow(self, node: nodes.Pow) -> None:  # noqa: N802 - as above
        self._refuse(node, "`**` cannot be used in a template")

    def visit_Filter(self, node: nodes.Filter) -> None:  # noqa: N802 - as above
        self._check_filter(node)
        target = [node.node] if node.name == "default" else []
        with self._guarding(target):
            for child in node.iter_child_nodes():
                self.visit(child)

    def visit_Test(self, node: nodes.Test) -> None:  # noqa: N802 - as above
        if node.name not in TESTS:
            hint = did_you_mean(node.name, sorted(TESTS))
            self._refuse(node, f"there is no test `{node.name}`", hint)
        with self._guarding([node.node]):
            for child in node.iter_child_nodes():
                self.visit(child)

    def visit_Or(self, node: nodes.Or) -> None:  # noqa: N802 - as above
        with self._guarding([node.left]):
            self.visit(node.left)
        self.visit(node.right)

    def visit_CondExpr(self, node: nodes.CondExpr) -> None:  # noqa: N802 - as above
        with self._guarding([node.test]):
            for child in node.iter_child_nodes():
                self.visit(child)

    def visit_If(self, node: nodes.If) -> None:  # noqa: N802 - as above
        with self._guarding([node.test]):
            for child in node.iter_child_nodes():
                self.visit(child)

    def visit_For(self, node: nodes.For) -> None:  # noqa: N802 - as above
        if "loop" in self.local:
            self._refuse(node, "loops cannot be nested")
            return
        if node.recursive:
            self._refuse(node, "loops cannot be recursive")
        self.visit(node.iter)
        before = self.local
        targets = _names_in([node.target])
        if any(name == "loop" or name.startswith("__") for name in targets):
            self._refuse(node, "this name cannot be given to an item")
        self.local = before | {"loop", *targets}
        for child in (*node.body, *([node.test] if node.test else [])):
            self.visit(child)
        self.local = before
        for child in node.else_:  # no item was taken, so its names mean what they mean outside
            self.visit(child)

    def _read(self, node: nodes.Name, key: str | None) -> None:
        name = node.name
        if name in self.local:
            return
        fault = self.names.fault(name, key, node.lineno)
        is_optional = name in self.names.optional and name not in self.names.roots
        if fault is None and is_optional and not self.is_lone and name not in self.guarded:
            fault = optional_fault(name, node.lineno)
        self.faults += [fault] if fault else []
        self.used.add(name)

    def _check_loop(self, node: nodes.Getattr) -> None:
        if node.attr not in _LOOP:
            self._refuse(
                node, f"`loop` has no `{node.attr}`", did_you_mean(node.attr, sorted(_LOOP))
            )

    def _check_filter(self, node: nodes.Filter) -> None:
        known = FILTERS.get(node.name)
        if known is None:
            hint = did_you_mean(node.name, FILTERS) or f"there are: {', '.join(FILTERS)}"
            self._refuse(node, f"there is no filter `{node.name}`", hint)
        elif not _takes(known, node):
            self._refuse(node, f"the filter `{node.name}` does not take these arguments")
        elif node.name == "segments" and self.slot is not PATH_SEGMENT:
            self._refuse(node, "`segments` is only for the path of a URL")

    def _refuse(self, node: nodes.Node, message: str, hint: str | None = None) -> None:
        self.faults.append(Fault("disallowed", message, hint=hint, offset=node.lineno))

    @contextmanager
    def _guarding(self, tests: Iterable[nodes.Node | None]) -> Iterator[None]:
        """While it lasts, the names in `tests` may be absent."""
        before = self.guarded
        self.guarded = before | _names_in(tests)
        yield
        self.guarded = before


def _names_in(each: Iterable[nodes.Node | None]) -> frozenset[str]:
    return frozenset(
        name.name
        for node in each
        if node is not None
        for name in (node, *node.find_all(nodes.Name))
        if isinstance(name, nodes.Name)
    )


def _takes(known: Any, node: nodes.Filter) -> bool:
    named = {str(keyword.key): None for keyword in node.kwargs}
    if node.dyn_args or node.dyn_kwargs:
        return False
    try:
        inspect.signature(known).bind(None, *node.args, **named)
    except TypeError:
        return False
    return True


def _what(node: nodes.Node) -> str:
    return f"`{type(node).__name__.lower()}`"
