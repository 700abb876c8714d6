"""What policy is told of the tools that were compiled."""

from collections.abc import Callable, Collection, Mapping

from toolrt.catalog.snapshot import ToolEntry
from toolrt.loading.loader import LoadedFiles
from toolrt.pipeline.asking import sensitive_of
from toolrt.policy.compiler import compile_policy
from toolrt.policy.facts import ToolFacts
from toolrt.policy.history import History
from toolrt.policy.kept import KeptClauses
from toolrt.policy.policy import Policy

CompileRules = Callable[[LoadedFiles, Mapping[str, ToolEntry], Collection[str]], Policy]


def rules_compiler(history: History) -> CompileRules:
    """What compiles the rules over compiled tools; `history` outlives generations, and so do rules
    that need not be compiled again.
    """
    kept = KeptClauses()

    def compile_rules(
        files: LoadedFiles, entries: Mapping[str, ToolEntry], broken: Collection[str]
    ) -> Policy:
        facts = {name: facts_of(entry) for name, entry in entries.items()}
        facts |= {name: ToolFacts(name, arguments=None) for name in broken}
        return compile_policy(files, facts, history, kept)

    return compile_rules


def facts_of(entry: ToolEntry) -> ToolFacts:
    """A compiled tool as rules see it."""
    arguments = entry.parameters.schema.get("properties", {})
    variants = entry.variants.entries.values() if entry.variants else ()
    return ToolFacts(
        name=entry.name,
        root=entry.root(),
        effect=entry.effect,
        arguments=arguments,
        sensitive=sensitive_of(entry),
        vars=entry.vars,
        hitl=entry.manifest.hitl,
        kind=entry.kind,
        hands_text_on=entry.hands_text_on,
        variants=tuple(facts_of(each) for each in variants),
        limits=entry.limits,
    )
