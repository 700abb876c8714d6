"""Conditions of rules, checked against the arguments of every tool that the rule can hit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError

from toolrt.core.faults import Fault, FaultError
from toolrt.expressions.condition_domains import foregone
from toolrt.expressions.conditions import (
    CONDITION_KEYS,
    RULE_ROOTS,
    Condition,
    compile_condition,
)
from toolrt.manifest.scalars import duration_s
from toolrt.policy.clauses import Clause
from toolrt.policy.domains import domains_of
from toolrt.policy.facts import ToolFacts

_FEW = 3


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of several tools: the schema of each name, None when one tool is not known.

    A name that two tools type differently may be anything.
    """

    schemas: Mapping[str, Any] | None
    tools: Sequence[ToolFacts]

    @classmethod
    def of(cls, tools: Sequence[ToolFacts]) -> "Arguments":
        merged: dict[str, Any] = {}
        for tool in tools:
            if tool.arguments is None:
                return cls(None, tools)
            for name, schema in tool.arguments.items():
                known = merged.setdefault(name, schema)
                if known is not schema and known != schema:
                    merged[name] = {}
        return cls(merged if tools else None, tools)

    def lacking(self, names: Iterable[str]) -> Mapping[str, list[str]]:
        """For each of `names` the tools that have no such parameter, where there are any."""
        found = {
            name: [
                tool.name
                for tool in self.tools
                if tool.arguments is not None and name not in tool.arguments
            ]
            for name in sorted(names)
        }
        return {name: tools for name, tools in found.items() if tools}


def compiled(
    text: str | None,
    key: str,
    arguments: Arguments,
    constants: Mapping[str, Any] | None,
    faults: list[Fault],
) -> Condition | None:
    """The condition under `key` of a rule; faults are reported, and None stands for it then.

    `constants` are the `vars` of the project; None where they are not known.
    """
    if text is None:
        return None
    known = {} if constants is None else {"vars": frozenset(constants)}
    try:
        made = compile_condition(
            text, RULE_ROOTS, arguments.schemas, {**CONDITION_KEYS, **known}, constants
        )
    except FaultError as error:
        faults.extend(error.under(key))
        return None
    faults += _of_windows(made, key)
    domains = domains_of(made.roots, arguments.schemas, arguments.tools)
    faults += (fault.under(key) for fault in foregone(text, domains))
    faults += _of_constant(made, key)
    if arguments.schemas is not None:
        faults += _partly_unknown(made, key, arguments)
    return made


def windows_of(clauses: Iterable[Clause]) -> dict[str, float]:
    """Every window that the rules ask of `history`, with its seconds."""
    texts = {each for clause in clauses for one in clause.conditions for each in one.windows}
    found = {text: _seconds(text) for text in sorted(texts)}
    return {text: span_s for text, span_s in found.items() if span_s is not None}


def _of_windows(condition: Condition, key: str) -> Iterable[Fault]:
    for text in sorted(condition.windows):
        span_s = _seconds(text)
        if not span_s:
            why = "is no duration" if span_s is None else "is no window: no call falls into it"
            message = f"`{text}` {why}"
            offset = max(condition.text.find(text), 0)
            hint = 'write history.calls("10m"), or 30s, 2h, 1d'
            yield Fault("invalid-duration", message, (key,), hint, offset=offset)


def _seconds(text: str) -> float | None:
    try:
        return duration_s(text)
    except PydanticCustomError:
        return None


def _of_constant(condition: Condition, key: str) -> Iterable[Fault]:
    """Where a condition is the same for every call, and takes its rule away."""
    if condition.constant is not (key == "unless"):
        return
    word = "always" if condition.constant else "never"
    message = f"this is {word} true: the rule matches no call"
    hint = "`mode: audit` lets a rule watch without deciding; else take it away"
    yield Fault("constant-condition", message, (key,), hint, "warning", offset=0)


def _partly_unknown(condition: Condition, key: str, arguments: Arguments) -> Iterable[Fault]:
    """Where the rule can never be evaluated for some tools, it counts against every call (P7)."""
    for name, tools in arguments.lacking(condition.parameters).items():
        if f"has(args.{name})" in condition.text.replace(" ", ""):
            continue
        shown = ", ".join(f"`{each}`" for each in tools[:_FEW])
        more = f" and {len(tools) - _FEW} more" if len(tools) > _FEW else ""
        message = (
            f"no `{name}` in {shown}{more}: there this counts as an error (a deny or ask hits)"
        )
        hint = f"name only tools that have it, or write has(args.{name}) && …"
        yield Fault("partly-unknown", message, (key,), hint, "warning")
