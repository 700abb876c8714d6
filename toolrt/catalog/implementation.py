"""Which kind a tool has, and the options of that kind as it reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolrt.bindings.base import (
    KINDS,
    TARGET,
    BindContext,
    Binding,
    Effect,
    Kind,
    Spec,
    Unfinished,
    kind,
)
from toolrt.core.faults import Fault, child
from toolrt.core.faults import Path as FaultPath
from toolrt.core.names import nearest
from toolrt.loading.layers import Layered
from toolrt.loading.problems import mended
from toolrt.loading.resets import reset_faults
from toolrt.loading.validation import validated
from toolrt.manifest.longform import LONG
from toolrt.manifest.tool import KIND_NAMES, ToolManifest

OF_EXPRESSIONS = frozenset(
    {"unknown-name", "optional-in-text", "bad-reference", "disallowed", "invalid-template"}
)
"""Faults inside a text, which stand whatever else is wrong with the options around it."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """A kind and its checked options; mended ones lack what was wrong with them."""

    kind: Kind
    spec: Spec
    is_mended: bool = False

    @property
    def effect(self) -> Effect:
        return self.kind.effect(self.spec)

    def is_idempotent(self, manifest: ToolManifest, effect: Effect) -> bool:
        """Whether a second run does no more than the first: as written, or as the kind implies."""
        if manifest.idempotent is not None:
            return manifest.idempotent
        return effect == "read" or self.kind.is_idempotent(self.spec)

    def marked(self, context: BindContext) -> Mapping[str, Any]:
        return self.kind.marked(self.spec, context)

    def from_tool(self, path: FaultPath) -> FaultPath:
        """A path as the kind reports it, as a path from the tool, or from a target."""
        if path[:1] == ("/",):
            return path[1:]
        return path if path[:1] == (TARGET,) else (self.kind.name, *path)


def kind_name(merged: Mapping[str, Any]) -> str | None:
    """The kind that a tool names, whether it works or not."""
    return next((name for name in KIND_NAMES if name in merged), None)


def why_no_kind(merged: Mapping[str, Any]) -> str | None:
    """Why a tool that is written well has no implementation in this version."""
    name = kind_name(merged)
    if name is not None:
        return None if name in KINDS else f"kind `{name}` does not work in this version"
    return None


def is_external(merged: Mapping[str, Any]) -> bool:
    """Whether the tool has no kind because a person makes its calls."""
    return kind_name(merged) is None and child(merged.get("hitl"), "mode") == "external"


def implementation(layered: Layered, faults: list[Fault]) -> Implementation | None:
    """The tool's kind with its options; None when it has none that works. Faults are added."""
    named = [name for name in KIND_NAMES if name in layered.merged]
    if len(named) != 1 or named[0] not in KINDS:
        is_meant = is_external(layered.merged) or why_no_kind(layered.merged) is not None
        if not is_meant or len(named) > 1:
            faults += _wrong_kinds(named, layered.merged)
        return None
    chosen = kind(named[0])

    def source_text(path: FaultPath) -> str | None:
        return layered.source_text((chosen.name, *path))

    spec, found = validated(chosen.spec, layered.merged[chosen.name], source_text)
    faults += [fault.under(chosen.name) for fault in found]
    faults += reset_faults(chosen.spec, layered, chosen.name)
    if spec is not None:
        return Implementation(chosen, spec)
    rest = mended(chosen.spec, layered.merged[chosen.name], found)
    spec, _ = validated(chosen.spec, rest, source_text)
    return None if spec is None else Implementation(chosen, spec, is_mended=True)


def bound_as(context: BindContext, name: str, options: Any, path: FaultPath) -> Binding:
    """The tool of `context` as the kind `name` binds it; faults are told at `path`."""
    chosen = kind(name)
    spec, found = validated(chosen.spec, LONG[name](options) if name in LONG else options, _unread)
    context.faults += [fault.under(*path) for fault in found]
    if spec is None:
        return Unfinished("its options are at fault")
    inner = replace(context, faults=[])
    made = chosen.bind(spec, inner)
    context.faults += [fault.under(*path) for fault in inner.faults]
    context.used |= inner.used
    context.used_references += inner.used_references
    if inner.unavailable is not None:
        context.lacks(inner.unavailable, *path, *inner.unavailable_at)
    return made


def _unread(_path: FaultPath) -> None:
    """Scalars stay what they are."""


def _wrong_kinds(named: list[str], merged: Mapping[str, Any]) -> list[Fault]:
    if named:
        message = f"`{named[0]}` and `{named[1]}`: a tool has exactly one kind"
        return [Fault("one-kind", message, (named[1],), "make it two tools", on_key=True)]
    if any(nearest(key, KIND_NAMES) for key in merged) or _has_odd_hitl(merged):
        return []  # the misspelt key or value is reported as such
    message = f"a tool needs exactly one of {', '.join(sorted(KINDS))}"
    return [Fault("no-kind", message, on_key=True)]


def _has_odd_hitl(merged: Mapping[str, Any]) -> bool:
    mode = child(merged.get("hitl"), "mode")
    return "hitl" in merged and mode not in ("none", "confirm", "input")
