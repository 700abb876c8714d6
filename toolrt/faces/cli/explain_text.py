"""An explanation for a person: the verdict, a line for each rule, limits, what would be sent."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.decisions import Ask, Terms
from toolrt.faces.cli.durations import seconds
from toolrt.faces.cli.show import origin_of, resolved_of
from toolrt.faces.cli.table import aligned
from toolrt.faces.cli.told import conditions
from toolrt.faces.output import Screen, one_line, visible
from toolrt.faces.yaml_text import to_yaml
from toolrt.loading.layers import SETTINGS
from toolrt.pipeline.explaining import Explanation
from toolrt.policy.needs import told
from toolrt.stores.approval_votes import needs

_COLORS = {"allow": "green", "ask": "yellow", "deny": "red"}
_SAYS = {"allow": "allows it", "ask": "asks a person", "deny": "denies it"}
_LIMITS = (
    "effect", "idempotent", "hitl", "timeout", "retry", "breaker", "rate", "concurrency", "cache",
)  # fmt: skip
_OF_RESULT = ("max_size",)


def explained(explanation: Explanation, screen: Screen, *, is_written: bool) -> str:
    """The whole of it as text; `is_written` says that the project has rules or a default."""
    why = _why(explanation, is_written=is_written)
    parts = [f"{_verdict(explanation, screen)}  {why}", *_facts(explanation), ""]
    traces = [
        [
            one_line(each.id),
            each.decide,
            _word(each.matched),
            _mode(each.mode),
            one_line(each.because),
        ]
        for each in explanation.decision.rules
    ]
    if traces:
        parts += [screen.paint("Rules", bold=True), *aligned(traces, indent="  "), ""]
    limits, _ = limits_of(explanation.tool)
    written = to_yaml(limits, lambda path: origin_of(explanation.tool, path)).rstrip("\n")
    parts += [screen.paint("Limits", bold=True), *_indented(written), ""]
    parts += [screen.paint("Request", bold=True), *_indented(_request(explanation))]
    return "\n".join(parts)


def limits_of(entry: ToolEntry) -> tuple[dict[str, Any], dict[str, str]]:
    """What bounds calls of the tool, all layers merged, and the origin of each value."""
    whole = resolved_of(entry)
    limits = {key: whole[key] for key in _LIMITS if whole.get(key) is not None}
    if "hitl" not in limits and entry.effect == "irreversible":
        limits["hitl"] = {"mode": "confirm"}
    result = whole.get("result") or {}
    limits["result"] = {key: result[key] for key in _OF_RESULT if key in result}
    return limits, {".".join(path): origin_of(entry, path) for path in _leaves(limits)}


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    else:
        yield path


def _verdict(explanation: Explanation, screen: Screen) -> str:
    verdict = explanation.decision.verdict
    return screen.paint(verdict, fg=_COLORS[verdict], bold=True)


def _why(explanation: Explanation, *, is_written: bool) -> str:
    """Which rule decided, or what did where none has."""
    decision = explanation.decision
    reason = f": {one_line(decision.reason)}" if decision.reason else ""
    if decision.terms is not None:
        return _asking(decision.terms.asks, explanation.tool) + reason
    if decision.rule is not None:
        return f"the rule `{one_line(decision.rule)}` {_SAYS[decision.verdict]}{reason}"
    if decision.verdict == "deny":
        return decision.reason or "no rule lets this call through"
    return "no rule is against it" if is_written else "this project has no rules"


def _asking(asks: Sequence[Ask], tool: ToolEntry) -> str:
    """All who ask; a setting that makes the tool ask by its place."""
    origin = origin_of(tool, ("hitl", "mode"))
    place = f" (hitl of {origin})" if origin.endswith(f" {SETTINGS}") else ""
    own = f"the tool itself{place}"
    *most, last = [own if each.rule is None else f"the rule `{each.rule}`" for each in asks]
    if not most:
        return one_line(f"{last} {_SAYS['ask']}")
    return one_line(f"{', '.join(most)} and {last} ask a person")


def _facts(explanation: Explanation) -> list[str]:
    caller, terms = explanation.caller, explanation.decision.terms
    roles = f" ({', '.join(caller.roles)})" if caller.roles else ""
    facts = [["caller", one_line(f"{caller.principal}{roles}")]]
    if explanation.is_hidden:
        facts.append(["hidden", "the caller does not even see this tool; to it there is none"])
    if terms is not None:
        facts += [["approval", one_line(each)] for each in _terms(terms)]
    if explanation.decision.would_be:
        audits = one_line(", ".join(explanation.decision.would_be))
        facts.append(["audit", f"{audits} would have counted too, but only watches"])
    return aligned(facts)


def _terms(terms: Terms) -> Iterator[str]:
    """What it needs; where several ask, a line for each part with the rules that want it."""
    needed = needs(terms, (), ())
    if len(terms.asks) > 1:
        yield from (told(each, "", of=terms.asks) for each in needed)
        yield from conditions(terms.asks)
        yield f"in all within {seconds(terms.ttl_s)} ({terms.mode})"
        return
    who = " and ".join(told(each, "") for each in needed)
    yield f"{who}, within {seconds(terms.ttl_s)} ({terms.mode})"


def _word(matched: object) -> str:
    return "matches" if matched else "no"


def _mode(mode: str) -> str:
    return "" if mode == "enforce" else mode


def _request(explanation: Explanation) -> str:
    if explanation.request is None:
        return f"cannot be shown: {one_line(explanation.problem or '')}"
    return visible(to_yaml(dict(explanation.request)).rstrip("\n"))


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in visible(text).split("\n")]
