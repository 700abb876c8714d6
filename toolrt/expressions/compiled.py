"""What a template is once compiled: `plain` and `sandbox` make them, bindings render them."""

from collections.abc import Callable
from typing import Any, Protocol

from toolrt.expressions.references import Reference
from toolrt.expressions.scope import Absent, Scope
from toolrt.expressions.slots import TEXT, Slot


class Program(Protocol):
    """What a template does for one call; `slot` is the place that its text is for."""

    def text(self, scope: Scope, slot: Slot) -> str | Absent: ...

    def value(self, scope: Scope) -> Any: ...

    def masked(self, scope: Scope, slot: Slot) -> str | Absent: ...


class Template:
    """A compiled text. `parameters`, `roots` and `references` are what it uses, anywhere in it.

    `is_lone` says that it is exactly one `{{ … }}`: such a value keeps its type, and vanishes
    (ABSENT) when what it names was not given.
    """

    __slots__ = (
        "_program",
        "is_constant",
        "is_lone",
        "parameters",
        "references",
        "roots",
        "slot",
        "source",
    )

    def __init__(
        self,
        source: str,
        slot: Slot,
        program: Program | None,
        *,
        parameters: frozenset[str] = frozenset(),
        roots: frozenset[str] = frozenset(),
        references: tuple[Reference, ...] = (),
        is_lone: bool = False,
    ) -> None:
        self.source = source
        self.slot = slot
        self.parameters = parameters
        self.roots = roots
        self.references = references
        self.is_constant = program is None
        self.is_lone = is_lone
        self._program = program

    def __repr__(self) -> str:
        return f"Template({self.source!r}, {self.slot.name})"

    @classmethod
    def constant(cls, text: str, slot: Slot = TEXT) -> "Template":
        """A template that is always `text`, as it stands."""
        return cls(text, slot, None)

    def text(self, scope: Scope) -> str | Absent:
        """The text with every value escaped by the slot; ABSENT when lone and not given.

        Raises RefusedError when a value does not fit, CallError when something has no value.
        """
        return self.source if self._program is None else self._program.text(scope, self.slot)

    def value(self, scope: Scope) -> Any:
        """What a lone `{{ x }}` stands for, in its own type, or ABSENT; else unescaped text."""
        return self.source if self._program is None else self._program.value(scope)

    @property
    def reader(self) -> Callable[[Scope], Any]:
        """`value`, without a detour where there is one."""
        found: Callable[[Scope], Any] | None = getattr(self._program, "reader", None)
        return found or self.value

    def masked(self, scope: Scope) -> str | Absent:
        """Like `text`, with every reference shown as it is written."""
        return self.source if self._program is None else self._program.masked(scope, self.slot)
