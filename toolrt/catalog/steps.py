"""What plans say of the tools that they call, checked once all tools are compiled.

A plan has the effect of its strongest step, and hands on what those tools take: names, values that
are written out, and nothing sensitive to where it would be shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolrt.bindings.base import Effect
from toolrt.catalog.sensitive import sensitive_names
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean
from toolrt.core.versions import meant
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, compile_tree
from toolrt.loading.loader import LoadedFiles
from toolrt.schemas.arguments import ArgumentChecker

if TYPE_CHECKING:
    from toolrt.bindings.steps import CompiledStep

EFFECTS: Final[Sequence[Effect]] = ("read", "write", "irreversible")
"""From the weakest to the strongest."""
_OF_ATTEMPTS: Final = frozenset({"breaker", "concurrency", "rate", "retry", "verify"})


def steps_of(entry: ToolEntry) -> "Sequence[CompiledStep]":
    """The steps that are written in a tool; none of any other kind."""
    found: Sequence[CompiledStep] = getattr(entry.binding, "steps", ())
    return found


def place_of(number: int, *path: str | int) -> Path:
    """Where something of a step stands, as a path from its tool."""
    return ("steps", "steps", number, *path)


def step_faults(
    entry: ToolEntry, number: int, step: "CompiledStep", other: ToolEntry
) -> Iterator[Fault]:
    """What is wrong with how a step calls `other`."""
    visible, at = other.parameters.visible, place_of(number, "args")
    for name in sorted(step.written.keys() - visible):
        hint = did_you_mean(name, visible)
        yield Fault("unknown-argument", f"`{other.name}` takes no `{name}`", (*at, name), hint,
                    on_key=True)  # fmt: skip
    for name in other.input_schema.get("required", ()):
        if name not in step.written and name not in other.parameters.defaults_from:
            message = f"`{other.name}` needs `{name}`, which it would not get"
            yield Fault("missing-argument", message, place_of(number, "tool"),
                        f"add `{name}` to the `args` of this step")  # fmt: skip
    yield from _unfit(number, step, other)
    yield from _shown(entry, number, step, other)


def _unfit(number: int, step: "CompiledStep", other: ToolEntry) -> Iterator[Fault]:
    """Values that are written out, and that the tool does not take."""
    schema = other.parameters.visible_schema()
    known = schema.get("properties", {})
    for name, value in step.written.items():
        if name not in known or not is_written_out(value):
            continue
        alone = {**schema, "properties": {name: known[name]}, "required": [name]}
        try:
            ArgumentChecker(alone, coerce=other.manifest.coerce == "safe").check({name: value})
        except RefusedError as error:
            yield Fault("wrong-argument", f"`{other.name}`: {error.message}",
                        place_of(number, "args", name), error.hint)  # fmt: skip


def is_written_out(value: Any) -> bool:
    """Whether a value is written out, without a template in it."""
    texts = [value] if isinstance(value, str) else []
    members: list[Any] = []
    if isinstance(value, dict | list):
        members = list(value.values() if isinstance(value, dict) else value)
    has_braces = any("{{" in text or "{%" in text or "${" in text for text in texts)
    return not has_braces and all(is_written_out(each) for each in members)


def _shown(
    entry: ToolEntry, number: int, step: "CompiledStep", other: ToolEntry
) -> Iterator[Fault]:
    """What a step would show that this tool keeps to itself, or to its user."""
    if other.manifest.result.to == "user" and entry.manifest.result.to != "user":
        message = f"what `{other.name}` answers is for people alone, and this tool tells the model"
        hint = "write `result: {to: user}` here, too"
        yield Fault("unfit-link", message, place_of(number, "tool"), hint)
    secret, kept = (
        sensitive_names(entry.parameters.schema),
        sensitive_names(other.parameters.schema),
    )
    for name, value in step.written.items():
        told = _names_in(value, step, entry) & secret
        if told and name not in kept and name in other.parameters.visible:
            message = f"`{min(told)}` is sensitive here, and `{other.name}` would show it"
            hint = f"write `sensitive: true` at `{name}` there, too"
            yield Fault("unfit-link", message, place_of(number, "args", name), hint)
    if step.instead is not None and not secret.isdisjoint(step.instead.parameters):
        message = f"`{min(step.instead.parameters & secret)}` is sensitive, and a result shows it"
        hint = "let something else stand in for a step that failed"
        yield Fault("unfit-link", message, place_of(number, "on_error", "value"), hint)


def _names_in(value: Any, step: "CompiledStep", entry: ToolEntry) -> frozenset[str]:
    """The parameters of a plan that an argument is made of: by itself, or as one of the items."""
    names = Names(
        entry.parameters.names | {"item"},
        roots=frozenset({"caller", "call", "vars", "steps"}),
        known_keys={},
    )
    told = compile_tree(value, TEXT, names).parameters
    return told.union(step.each.parameters) if step.each and "item" in told else told


def strengthened(files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> dict[str, ToolEntry]:
    """The tools, each plan with the effect of its strongest step; one that says less is a fault."""
    made = dict(entries)
    for name, entry in entries.items():
        steps = steps_of(entry)
        if not steps:
            continue
        faults = [*_idle(entry)]
        effect, by = _strongest(entry, entries, frozenset())
        written = entry.manifest.effect
        if written is None:
            made[name] = _with(entry, effect)
        elif EFFECTS.index(written) < EFFECTS.index(effect):
            message = f"`{by}`, which it calls, is `{effect}`: so is this tool, and not `{written}`"
            hint = "take `effect` away: it is that of the strongest step"
            faults.append(Fault("weak-effect", message, ("effect",), hint))
        if faults:
            files.report_layered(entry.path, entry.layered, faults)
    return made


def _idle(entry: ToolEntry) -> Iterator[Fault]:
    """A warning for each key that is about attempts: a plan has none of its own."""
    for key in sorted(_OF_ATTEMPTS & entry.layered.own.data.keys()):
        message = f"`{key}` does nothing for a plan, which only calls other tools"
        hint = "write it at the tools that it calls"
        yield Fault("no-effect", message, (key,), hint, "warning", on_key=True)


def _strongest(
    entry: ToolEntry, entries: Mapping[str, ToolEntry], above: frozenset[str]
) -> tuple[Effect, str]:
    """The strongest effect below a plan, and the tool that has it."""
    found: tuple[Effect, str] = ("read", entry.name)
    for step in steps_of(entry):
        other = meant(step.tool, entries)
        if other is None or other.name in above:
            continue
        inner: tuple[Effect, str] = other.effect, other.name
        if steps_of(other) and other.manifest.effect is None:
            inner = _strongest(other, entries, above | {entry.name})
        found = max(found, inner, key=lambda each: EFFECTS.index(each[0]))
    return found


def _with(entry: ToolEntry, effect: Effect) -> ToolEntry:
    if entry.effect == effect:
        return entry
    written = entry.manifest.idempotent
    is_idempotent = effect == "read" if written is None else written
    variants = entry.variants and entry.variants.changed(
        _with(each, effect) for each in entry.variants.entries.values()
    )
    return replace(entry, effect=effect, is_idempotent=is_idempotent, variants=variants)
