"""How much harm a call can do: classes with a score each, for conditions to look at.

The score of a call is that of its worst class; sensitive data that the call really carries adds a
tenth. The numbers are ours: an order, no probability.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from toolrt.policy.facts import ToolFacts

SCORES: Mapping[str, float] = MappingProxyType(
    {"read": 0.1, "write": 0.4, "shell": 0.6, "foreign": 0.7, "irreversible": 0.9}
)
SENSITIVE = 0.1
"""What sensitive arguments add."""


class Risk:
    """The `risk` root of conditions: `score` from 0 to 1, and the names of the `classes`.

    Worked out once a tool: a call has one of two.
    """

    __slots__ = ("_of_tool", "_sensitive", "_with_sensitive")

    def __init__(self, tool: ToolFacts) -> None:
        classes = classes_of(tool)
        score = max(SCORES[each] for each in classes)
        self._sensitive = tool.sensitive
        self._of_tool = _root(score, classes)
        self._with_sensitive = _root(score + SENSITIVE, [*classes, "sensitive"])

    def root(self, arguments: Any) -> Mapping[str, Any]:
        """That of a call with these arguments; the same object every time, to be read only."""
        if not isinstance(arguments, Mapping) or self._sensitive.isdisjoint(arguments):
            return self._of_tool
        return self._with_sensitive


def _root(score: float, classes: list[str]) -> Mapping[str, Any]:
    return {"score": round(min(score, 1.0), 3), "classes": classes}


def classes_of(tool: ToolFacts) -> list[str]:
    """The classes of the tool itself, whatever its arguments."""
    classes: list[str] = [tool.effect]
    if tool.kind in {"shell", "command"}:
        classes.append("shell")
    if tool.is_foreign:
        classes.append("foreign")
    return classes
