"""What the names in a rule's conditions may be: the fixed words of policy, what parameters take,
and what the tools are that the rule can hit.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from toolrt.expressions.condition_domains import CALENDAR, Domains, Scale, Texts, of_parameters
from toolrt.manifest.tool import Effect
from toolrt.policy.facts import ToolFacts
from toolrt.policy.risk import SCORES

_FIXED: Final[Domains] = {
    **CALENDAR,
    "tool.effect": Texts(frozenset(get_args(Effect))),
    "risk.classes": Texts(frozenset({*SCORES, "sensitive"})),
    "risk.score": Scale(0, 1, severity="error"),
}
_OF_TOOLS: Final = ("name", "namespace", "version", "source")


def domains_of(
    roots: Collection[str], schemas: Mapping[str, Any] | None, tools: Sequence[ToolFacts]
) -> Domains:
    """What is known of the names below `roots`; `schemas` are None where a tool is not known."""
    found = {name: each for name, each in _FIXED.items() if name.partition(".")[0] in roots}
    if schemas is None:
        return found
    if "args" in roots:
        found |= of_parameters(schemas)
    if "tool" in roots and tools:
        found |= _of_tools(tools)
    return found


def _of_tools(tools: Iterable[ToolFacts]) -> Iterator[tuple[str, Texts]]:
    """Another tool may have another name one day: so this is worth a warning only."""
    roots = [each.root for each in tools]
    for key in _OF_TOOLS:
        yield f"tool.{key}", Texts(frozenset(str(root.get(key, "")) for root in roots), "warning")
    tags = frozenset(tag for root in roots for tag in root.get("tags", ()))
    yield "tool.tags", Texts(tags, "warning")
