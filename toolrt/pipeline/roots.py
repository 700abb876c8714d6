"""The roots that a condition over a call may look at; only those that it names are made."""

from collections.abc import Callable, Mapping
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.results import Answer
from toolrt.expressions.conditions import Condition
from toolrt.expressions.scope import call_root

_OF_A_CALL: Mapping[str, Callable[[ToolEntry, Invocation], Any]] = {
    "args": lambda _entry, invocation: invocation.arguments,
    "caller": lambda _entry, invocation: invocation.caller.document(),
    "call": lambda _entry, invocation: call_root(invocation),
    "vars": lambda entry, _invocation: entry.vars,
    "tool": lambda entry, _invocation: entry.root(),
}
_OF_AN_ANSWER: Mapping[str, Callable[[Answer], Any]] = {
    "result": lambda answer: answer.value,
    "status": lambda answer: answer.status or 0,
    "headers": lambda answer: dict(answer.headers or {}),
    "exit_code": lambda answer: answer.exit_code or 0,
    "stderr": lambda answer: answer.stderr or "",
}


def call_roots(condition: Condition, entry: ToolEntry, invocation: Invocation) -> dict[str, Any]:
    """What `condition` names of a call."""
    return {
        name: make(entry, invocation)
        for name, make in _OF_A_CALL.items()
        if name in condition.roots
    }


def answer_roots(
    condition: Condition, entry: ToolEntry, invocation: Invocation, answer: Answer
) -> dict[str, Any]:
    """What `condition` names of a call and of the answer to it."""
    roots = call_roots(condition, entry, invocation)
    for name, make in _OF_AN_ANSWER.items():
        if name in condition.roots:
            roots[name] = make(answer)
    return roots
