"""Compiles one tool: its layers to a manifest, its kind's options to a binding."""

import re
from dataclasses import dataclass, field
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
from toolrt.bindings.paths import compile_path_rules
from toolrt.catalog.results import compile_shaping, compiled
from toolrt.catalog.schemas import declared_parameters, described_parameters, output_schema
from toolrt.catalog.snapshot import Blocked, Rejection, ToolEntry
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault, child
from toolrt.core.faults import Path as FaultPath
from toolrt.core.names import did_you_mean
from toolrt.expressions.conditions import REJECT_ROOTS, compile_condition
from toolrt.expressions.references import Reference
from toolrt.loading.loader import WrittenTool, validated
from toolrt.manifest import planned
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.tool import KIND_NAMES, NAME, ToolManifest
from toolrt.schemas.arguments import ArgumentChecker

NO_APPROVALS = "it asks a person first, and approvals do not work in this version"


def compile_tool(workshop: Workshop, written: WrittenTool) -> ToolEntry | None:
    """The compiled tool, or None when it is switched off or has errors; both are reported."""
    compiling = _Compiling(workshop, written)
    entry = compiling.entry()
    compiling.report()
    return entry


@dataclass
class _Compiling:
    """One tool on its way through the compiler; faults are collected, with paths from the tool."""

    workshop: Workshop
    written: WrittenTool
    faults: list[Fault] = field(default_factory=list)
    unavailable: str | None = None
    unavailable_at: FaultPath = ()
    knows_arguments: bool = True
    references: tuple[Reference, ...] = ()

    @property
    def merged(self) -> dict[str, Any]:
        return self.written.layered.merged

    def entry(self) -> ToolEntry | None:
        self._check_name()
        manifest = self._manifest()
        chosen = self._kind(manifest)
        spec = self._spec(chosen) if chosen else None
        effect: Effect = manifest.effect or (chosen.effect(spec) if chosen and spec else "write")
        parameters, description = self._parameters(manifest, chosen, spec)
        binding = self._binding(manifest, chosen, spec, parameters, effect)
        description = manifest.description or description
        if description is None and chosen is not None and "description" not in self.merged:
            self._fault("missing-key", "missing key `description`", hint="say what the tool does")
        rejections = self._rejections(manifest, parameters)
        names = self.workshop.names(parameters)
        arguments = parameters.schema.get("properties", {})
        shaping = compile_shaping(
            manifest, arguments, names, self.workshop.condition_keys, self.faults
        )
        is_callable = chosen is not None or self.unavailable is not None
        if self.has_errors() or not manifest.enabled or not is_callable:
            return None
        layered = self.written.layered
        return ToolEntry(
            name=self.written.name,
            namespace=self.written.namespace,
            kind=chosen.name if chosen else self._planned_kind() or "none",
            description=description or "",
            effect=effect,
            is_idempotent=_is_idempotent(manifest, chosen, spec, effect),
            manifest=manifest,
            parameters=parameters,
            checker=ArgumentChecker(
                parameters.visible_schema(),
                hidden=frozenset(parameters.bound),
                coerce=manifest.coerce == "safe",
            ),
            binding=binding,
            shaping=shaping,
            layered=layered,
            file=self.written.document.file,
            path=self.written.path,
            target=self._target(chosen),
            references=self.references,
            vars=self.workshop.files.project.vars,
            output_schema=manifest.output_schema,
            rejections=rejections,
            path_rules=compile_path_rules(parameters.schema, self.workshop.files.root),
            blocked=self._blocked(),
            refusal=self._refusal(manifest, effect),
        )

    def has_errors(self) -> bool:
        return any(fault.severity == "error" for fault in self.faults)

    def report(self) -> None:
        self.workshop.files.report_tool(self.written, self.faults)

    def _fault(self, code: str, message: str, *path: str | int, **more: Any) -> None:
        self.faults.append(Fault(code, message, path, **more))

    def _check_name(self) -> None:
        name = self.written.path[-1]
        if not re.match(NAME, str(name)):
            message = f"`{name}` is no tool name: a-z, 0-9 and _, beginning with a letter"
            self._fault("bad-name", message, on_key=True)

    def _manifest(self) -> ToolManifest:
        """The merged tool; keys that are wrong are reported and left out, so that the rest is
        checked all the same.
        """
        self.faults += planned.unfinished(self.merged, planned.TOOL)
        source_text = self.written.layered.source_text
        manifest, faults = validated(ToolManifest, self.merged, source_text)
        self.faults += faults
        if manifest is not None:
            return manifest
        wrong = {fault.path[0] for fault in faults if fault.path}
        self.knows_arguments = wrong.isdisjoint({"parameters", "input_schema"})
        rest = {key: value for key, value in self.merged.items() if key not in wrong}
        return validated(ToolManifest, rest, source_text)[0] or ToolManifest()

    def _planned_kind(self) -> str | None:
        return next((name for name in KIND_NAMES if name in self.merged), None)

    def _kind(self, manifest: ToolManifest) -> Kind | None:
        """The tool's kind; None when it has none that works, which is reported."""
        named = [name for name in KIND_NAMES if name in self.merged]
        is_external = manifest.hitl is not None and manifest.hitl.mode == "external"
        if not named and is_external:
            self.unavailable = "`hitl: external` does not work in this version"
            return None
        if len(named) != 1:
            self._wrong_kinds(named)
            return None
        if named[0] not in KINDS:
            self.unavailable = f"kind `{named[0]}` does not work in this version"
            return None
        return kind(named[0])

    def _wrong_kinds(self, named: list[str]) -> None:
        known = ", ".join(KIND_NAMES)
        if named:
            message = f"`{named[0]}` and `{named[1]}`: a tool has exactly one kind"
            self._fault("one-kind", message, named[1], hint="make it two tools", on_key=True)
            return
        misspelt = [(key, did_you_mean(key, KIND_NAMES)) for key in self.merged]
        if not any(hint for _, hint in misspelt):
            self._fault("no-kind", f"a tool needs exactly one of {known}", on_key=True)

    def _spec(self, chosen: Kind) -> Spec | None:
        layered = self.written.layered

        def source_text(path: FaultPath) -> str | None:
            return layered.source_text((chosen.name, *path))

        spec, faults = validated(chosen.spec, self.merged[chosen.name], source_text)
        self.faults += [fault.under(chosen.name) for fault in faults]
        return spec

    def _parameters(
        self, manifest: ToolManifest, chosen: Kind | None, spec: Spec | None
    ) -> tuple[Parameters, str | None]:
        """The arguments as written, or else as the implementation has them, and its description."""
        written = self.written
        folder = (self.workshop.files.root / written.document.file).parent
        output_schema(manifest, folder, self.faults)
        declared = declared_parameters(manifest, folder, written.layered, self.faults)
        if declared is not None and manifest.description is not None:
            return declared, None
        described = None
        if chosen is not None and spec is not None and self.workshop.imports:
            context = self.workshop.context(written.name)
            described = chosen.describe(spec, context)
            if declared is None:
                self._collect(context, chosen)
        description = described.description if described else None
        return declared or described_parameters(described, self.faults), description

    def _binding(
        self,
        manifest: ToolManifest,
        chosen: Kind | None,
        spec: Spec | None,
        parameters: Parameters,
        effect: Effect,
    ) -> Binding:
        if chosen is None or spec is None or not self.knows_arguments:
            return Unfinished(self.unavailable or "")
        context = self.workshop.context(
            self.written.name,
            parameters,
            effect=effect,
            connect_timeout_s=manifest.timeout.connect,
            written_parameters="parameters" in self.merged or "input_schema" in self.merged,
        )
        binding = chosen.bind(spec, context)
        self._collect(context, chosen)
        self.references = context.used_references
        if self.unavailable is None and context.unavailable is not None:
            self.unavailable = context.unavailable
            self.unavailable_at = _from_tool(context.unavailable_at, chosen)
        return binding

    def _blocked(self) -> Blocked | None:
        if self.unavailable is None:
            return None
        files, layered, path = self.workshop.files, self.written.layered, self.unavailable_at

        def place() -> str:
            if path[:1] == (TARGET,):
                target = files.targets[str(path[1])]
                file, span = target.document.file, target.document.span((*target.path, *path[2:]))
            else:
                file, span = layered.origin(path).document.file, layered.span(path)
            return f"{file}:{span.line}"

        return Blocked(self.unavailable, place)

    def _collect(self, context: BindContext, chosen: Kind) -> None:
        """Take over a kind's faults, as paths from the tool."""
        for fault in context.faults:
            placed = fault.moved(_from_tool(fault.path, chosen))
            if placed not in self.faults and not self._is_explained(placed):
                self.faults.append(placed)

    def _is_explained(self, fault: Fault) -> bool:
        """Whether a fault is only the shadow of something that is known elsewhere."""
        if fault.code == "unknown-target":
            target = child(self.merged[str(fault.path[0])], "target")
            return target in self.workshop.files.broken_targets
        return fault.code == "unused-parameter" and self._names_elsewhere(str(fault.path[-1]))

    def _names_elsewhere(self, parameter: str) -> bool:
        """Whether an expression outside of the kind's options names the parameter."""
        places = [self.merged.get(key) for key in ("result", "reject", "retry", "idempotency_key")]
        return re.search(rf"\b{re.escape(parameter)}\b", repr(places)) is not None

    def _refusal(self, manifest: ToolManifest, effect: Effect) -> str | None:
        """Why this version never runs the tool: one that asks people is not run unasked."""
        mode = manifest.hitl.mode if manifest.hitl else None
        if mode == "none" or (mode is None and effect != "irreversible"):
            return None
        key, value = ("hitl", mode) if mode else ("effect", effect)
        self._fault(
            "not-yet",
            f"`{key}: {value}` asks a person, and approvals do not work yet: calls are refused",
            key,
            severity="warning",
            hint="`hitl: none` lets the tool run unasked",
        )
        return NO_APPROVALS

    def _target(self, chosen: Kind | None) -> str | None:
        options = self.merged.get(chosen.name) if chosen else None
        return options.get("target") if isinstance(options, dict) else None

    def _rejections(self, manifest: ToolManifest, parameters: Parameters) -> tuple[Rejection, ...]:
        arguments = parameters.schema.get("properties", {})
        keys = self.workshop.condition_keys
        made: list[Rejection] = []
        for number, reject in enumerate(manifest.reject):

            def compile_it(text: str = reject.when) -> Any:
                return compile_condition(
                    text, REJECT_ROOTS, arguments, self.workshop.condition_keys
                )

            path = ("reject", number, "when")
            condition = compiled(compile_it, reject.when, path, self.faults)
            if condition is not None:
                made.append(Rejection(condition, reject.reason))
        return tuple(made)


def _from_tool(path: FaultPath, chosen: Kind) -> FaultPath:
    """A path as a kind reports it, as a path from the tool, or from a target."""
    if path[:1] == ("/",):
        return path[1:]
    return path if path[:1] == (TARGET,) else (chosen.name, *path)


def _is_idempotent(
    manifest: ToolManifest, chosen: Kind | None, spec: Spec | None, effect: Effect
) -> bool:
    if manifest.idempotent is not None:
        return manifest.idempotent
    return effect == "read" or bool(chosen and spec and chosen.is_idempotent(spec))
