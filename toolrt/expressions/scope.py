"""What the names of a template stand for during one call.

A scope costs next to nothing to make; the roots are worked out when a template asks for them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from toolrt.core.calls import Caller, Invocation
from toolrt.expressions.references import References

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Absent(Enum):
    """The type of `ABSENT`: no value was given, which is not the same as null."""

    ABSENT = "absent"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
ROOTS: Final = frozenset({"caller", "call", "vars", "result", "steps", "item"})
"""Names that are never a written parameter's."""
OURS: Final = frozenset({"call", "vars"})
"""Roots that hold nothing which a caller chose."""


class Scope:
    """Arguments, roots and references of one call, for templates to read."""

    __slots__ = (
        "_made",
        "arguments",
        "invocation",
        "item",
        "references",
        "result",
        "steps",
        "vars",
    )

    def __init__(
        self,
        arguments: Mapping[str, Any] = NOTHING,
        *,
        invocation: Invocation | None = None,
        vars: Mapping[str, Any] = NOTHING,  # noqa: A002 - the root's name in manifests
        references: References | None = None,
        result: Any = ABSENT,
        steps: Any = ABSENT,
        item: Any = ABSENT,
    ) -> None:
        self.arguments = arguments
        self.invocation = invocation
        self.vars = vars
        self.references = references
        self.result = result
        self.steps = steps
        self.item = item
        self._made: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        invocation: Invocation,
        vars: Mapping[str, Any] = NOTHING,  # noqa: A002 - as above
        references: References | None = None,
        result: Any = ABSENT,
    ) -> "Scope":
        """The scope of a call; `result` once there is one."""
        return cls(
            invocation.arguments,
            invocation=invocation,
            vars=vars,
            references=references,
            result=result,
        )

    @property
    def caller(self) -> Caller | None:
        return self.invocation.caller if self.invocation else None

    def lookup(self, name: str) -> Any:
        """The value of a root, or else of a parameter; ABSENT when there is none."""
        value = self.root(name) if name in ROOTS else ABSENT
        return self.arguments.get(name, ABSENT) if value is ABSENT else value

    def root(self, name: str) -> Any:
        """The value of a root; ABSENT when this place has none."""
        if name not in {"caller", "call"}:
            return getattr(self, name)
        if self._made is None:
            self._made = {}
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Any:
        if self.invocation is None:
            return ABSENT
        if name == "caller":
            return {k: v for k, v in self.invocation.caller.document().items() if v is not None}
        return call_root(self.invocation)


def call_root(invocation: Invocation) -> dict[str, str]:
    """The `call` root of templates and conditions: id, and time as ISO 8601 in UTC."""
    time = datetime.fromtimestamp(invocation.clock.wall(), UTC)
    made = {
        "id": invocation.call_id,
        "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    if invocation.idempotency_key is not None:
        made["idempotency_key"] = invocation.idempotency_key
    return made
