"""Plans of models: from what one wrote to steps that can run.

A model's text is data. Of all templates it may write one form, `{{ steps.ID.data.key }}`; anything
else with braces stays what it is.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolrt.bindings.steps import CompiledStep, constant
from toolrt.core.errors import RefusedError
from toolrt.core.names import did_you_mean
from toolrt.expressions.compiled import Template
from toolrt.expressions.plain import Joined, Lone, raise_absent
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import TEXT, Slot
from toolrt.expressions.templates import Tree

_REFERENCE: Final = re.compile(r"\{\{\s*steps\.(\w+)((?:\.\w+|\[\d+\])*)\s*\}\}")
_MEANT: Final = re.compile(r"\{\{\s*steps\b")
_KEY: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
_SHAPE: Final = "write {{ steps.ID.data.key }}, with the id of an earlier step"


class _Result:
    """Reads something of what an earlier step came to; numbers lead into lists."""

    __slots__ = ("keys", "name", "step")

    def __init__(self, step: str, path: str) -> None:
        self.name = "steps"
        self.step = step
        self.keys = [step, *(key or int(number) for key, number in _KEY.findall(path))]

    def value(self, scope: Scope) -> Any:
        value = scope.root("steps")
        for key in self.keys:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def text(self, scope: Scope, slot: Slot) -> str:
        value = self.value(scope)
        if value is ABSENT:
            shown = ".".join(("steps", *map(str, self.keys)))
            raise_absent("steps", shown, is_root=True)
        return slot.escape(value, "steps")

    masked = text


def compiled_thought(
    plan: Sequence[Mapping[str, Any]],
    tools: Collection[str],
    *,
    most: int,
    goes_on: bool,
    known: Sequence[CompiledStep] = (),
) -> list[CompiledStep]:
    """The steps of a plan that a model wrote, over the names of the tools that it may use.

    `known` are steps of before whose results it may take; `goes_on` lets a step fail.

    Raises RefusedError with every fault of the plan.
    """
    faults: list[str] = []
    if len(plan) > most:
        faults.append(f"a plan has at most {most} steps, this one {len(plan)}")
    made: list[CompiledStep] = []
    for number, written in enumerate(plan, len(known) + 1):
        earlier = [*known, *made]
        step = _step(written, number, earlier, tools, faults)
        made.append(_going_on(step) if goes_on else step)
    if faults:
        hint = "nothing ran; mend the plan and send all of it again"
        details = {"faults": [{"pointer": "/thought/plan", "message": each} for each in faults]}
        raise RefusedError("; ".join(faults[:5]), code="invalid-arguments", hint=hint,
                           details=details)  # fmt: skip
    return made


def _going_on(step: CompiledStep) -> CompiledStep:
    """The step with nothing as its result where it fails."""
    return replace(step, instead=constant(None))


def _step(
    written: Mapping[str, Any],
    number: int,
    earlier: Sequence[CompiledStep],
    tools: Collection[str],
    faults: list[str],
) -> CompiledStep:
    id_, tool = written.get("id") or f"step_{number}", written["tool"]
    ids = [each.id for each in earlier]
    if id_ in ids:
        faults.append(f"the id `{id_}` stands twice")
    if tool not in tools:
        hint = did_you_mean(tool, tools)
        faults.append(f"step `{id_}`: there is no tool `{tool[:100]}`{f'; {hint}' if hint else ''}")
    templates: list[Template] = []
    needs: set[str] = set()
    parameters = written["parameters"]
    for name in _named(parameters):
        if name is None:
            faults.append(f"step `{id_}`: {_SHAPE}")
        elif name not in ids:
            faults.append(f"step `{id_}`: `steps.{name}` is no earlier step; {_SHAPE}")
        else:
            needs.add(name)
    tree = Tree(_map(parameters, templates), templates, TEXT)
    return CompiledStep(id_, tool, tree, needs=frozenset(needs), written=parameters)


def _named(value: Any) -> Iterator[str | None]:
    """The ids that are named anywhere in it; None where a reference is not well formed."""
    if isinstance(value, str):
        found = [match[1] for match in _REFERENCE.finditer(value)]
        yield from found
        if len(_MEANT.findall(value)) > len(found):
            yield None
        return
    members = value.values() if isinstance(value, dict) else value
    for member in members if isinstance(value, dict | list) else ():
        yield from _named(member)


def _map(value: Any, templates: list[Template]) -> Any:
    if isinstance(value, str):
        return _template(value, templates)
    if isinstance(value, dict):
        return {key: _map(each, templates) for key, each in value.items()}
    return [_map(each, templates) for each in value] if isinstance(value, list) else value


def _template(text: str, templates: list[Template]) -> Any:
    """A text with references in it, ready to be rendered; any other stays itself."""
    matches = list(_REFERENCE.finditer(text))
    if not matches:
        return text
    is_lone = len(matches) == 1 and matches[0][0] == text.strip()
    parts: list[Any] = []
    end = 0
    for match in matches:
        parts += [text[end : match.start()], _Result(match[1], match[2])]
        end = match.end()
    parts = [each for each in (*parts, text[end:]) if each != ""]
    program: Any = Lone(parts[0]) if is_lone and len(parts) == 1 else Joined(parts)
    made = Template(text, TEXT, program, roots=frozenset({"steps"}), is_lone=len(parts) == 1)
    templates.append(made)
    return made
