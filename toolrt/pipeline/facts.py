"""What policy is told of the tools that were compiled."""

from toolrt.catalog.snapshot import ToolEntry
from toolrt.pipeline.asking import sensitive_of
from toolrt.policy.facts import ToolFacts


def facts_of(entry: ToolEntry) -> ToolFacts:
    """A compiled tool as rules see it."""
    arguments = entry.parameters.schema.get("properties", {})
    variants = entry.variants.entries.values() if entry.variants else ()
    return ToolFacts(
        name=entry.name,
        root=entry.root(),
        effect=entry.known_effect,
        arguments=arguments,
        sensitive=sensitive_of(entry),
        vars=entry.vars,
        hitl=entry.manifest.hitl,
        kind=entry.kind,
        is_foreign=entry.is_foreign,
        hands_text_on=entry.hands_text_on,
        variants=tuple(facts_of(each) for each in variants),
        limits=entry.limits,
        is_exposed=entry.manifest.expose,
        has_steps=hasattr(entry.binding, "steps_of"),
    )
