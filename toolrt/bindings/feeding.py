"""What a child reads on stdin: a text with templates, or a value that is sent as JSON."""

from collections.abc import Callable
from typing import Any

from toolrt.bindings.base import BindContext
from toolrt.core.errors import RefusedError
from toolrt.core.faults import FaultError
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import TEXT, as_text
from toolrt.expressions.templates import Template, Tree, compile_tree


class Input:
    """`stdin:` of one tool; nothing, or an absent lone value, is /dev/null."""

    __slots__ = ("_masked", "_read", "references")

    def __init__(self, written: Any, context: BindContext) -> None:
        self.references: tuple[Reference, ...] = ()
        self._read: Callable[[Scope], Any] = _nothing
        self._masked: Callable[[Scope], Any] = _nothing
        if isinstance(written, str):
            self._use(context.template(written, ("stdin",), TEXT))
        elif written is not None:
            self._use_tree(_tree(written, context))

    def read(self, scope: Scope) -> bytes | None:
        """The bytes of one call. Raises RefusedError for half a surrogate pair."""
        value = self._read(scope)
        if value is ABSENT or value is None:
            return None
        try:
            return as_text(value).encode()
        except UnicodeEncodeError:
            raise RefusedError(
                "the text for stdin holds half of a surrogate pair, which is no character",
                code="invalid-arguments",
            ) from None

    def masked(self, scope: Scope) -> Any:
        """What would be read, references as they are written."""
        value = self._masked(scope)
        return None if value is ABSENT else value

    def _use(self, template: Template) -> None:
        self.references = template.references
        self._read, self._masked = template.value, template.masked

    def _use_tree(self, tree: Tree | None) -> None:
        if tree is None:
            return
        self.references = tree.references
        self._read, self._masked = tree.render, tree.masked


def _nothing(_scope: Scope) -> None:
    return None


def _tree(written: Any, context: BindContext) -> Tree | None:
    try:
        tree = compile_tree(written, TEXT, context.names)
    except FaultError as error:
        context.faults.extend(error.under("stdin"))
        return None
    context.used |= tree.parameters
    for problem in context.references.unusable(tree.references):
        context.unavailable = context.unavailable or problem
    return tree
