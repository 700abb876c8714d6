"""Compiles one tool: its layers to a manifest, its kind's options to a binding."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from toolrt.bindings.base import BindContext, Binding, ByHand, Effect, Unfinished
from toolrt.bindings.paths import compile_path_rules
from toolrt.catalog.advice import advice
from toolrt.catalog.asking import asked_fields, with_hints
from toolrt.catalog.availability import blocked
from toolrt.catalog.cached import cache_faults
from toolrt.catalog.hooks import Hooks, compile_hooks
from toolrt.catalog.implementation import (
    Implementation,
    implementation,
    is_external,
    kind_name,
    why_no_kind,
)
from toolrt.catalog.marked import laid_on_mark
from toolrt.catalog.recovery import Recourse, RecourseCompiler, hand_on
from toolrt.catalog.redactions import unfit_masks
from toolrt.catalog.rejections import compile_rejections
from toolrt.catalog.results import Shaping, compile_shaping
from toolrt.catalog.schemas import declared_parameters, described_parameters, output_schema
from toolrt.catalog.shadows import Shadows
from toolrt.catalog.snapshot import ToolEntry
from toolrt.catalog.sourced import as_sourced, fallback_description
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault, child
from toolrt.core.faults import Path as FaultPath
from toolrt.core.shortening import shortened
from toolrt.core.versions import base_of
from toolrt.expressions.references import Reference
from toolrt.loading.layers import Layered
from toolrt.loading.loader import WrittenTool
from toolrt.loading.problems import mended, spelt
from toolrt.loading.resets import reset_faults
from toolrt.loading.validation import validated
from toolrt.manifest import planned
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.policy import Limits
from toolrt.manifest.tool import NAME, ToolManifest
from toolrt.schemas.arguments import ArgumentChecker


def compile_tool(workshop: Workshop, written: WrittenTool) -> ToolEntry | None:
    """The compiled tool, or None when it is switched off or has errors; both are reported."""
    compiling = _Compiling(workshop, written, written.layered)
    entry = compiling.entry()
    later = planned.unfinished(compiling.merged, planned.TOOL, compiling.faults)
    compiling.faults += list(later)
    faults = as_sourced(written, compiling.layered, compiling.placed_faults())
    workshop.files.report_layered(written.path, compiling.layered, faults)
    return entry


@dataclass
class _Compiling:
    """One tool on its way through the compiler; faults are collected, with paths from the tool."""

    workshop: Workshop
    written: WrittenTool
    layered: Layered
    faults: list[Fault] = field(default_factory=list)
    unavailable: str | None = None
    unavailable_at: FaultPath = ()
    knows_arguments: bool = True
    output_schema: dict[str, Any] | None = None
    references: tuple[Reference, ...] = ()
    hands_text_on: bool = False

    @property
    def merged(self) -> dict[str, Any]:
        return self.layered.merged

    def entry(self) -> ToolEntry | None:
        self._check_name()
        made = implementation(self.layered, self.faults)
        self.unavailable = self.written.blocked or why_no_kind(self.merged)
        self.layered = laid_on_mark(self.workshop, self.written, made, self.faults)
        manifest = self._manifest()
        effect: Effect = manifest.effect or (made.effect if made else "write")
        parameters, description = self._parameters(manifest, made)
        asked = asked_fields(manifest, parameters, self.faults) if self.knows_arguments else ()
        parameters = replace(parameters, asked=self.workshop.shared(asked))
        binding = self._binding(manifest, made, parameters, effect)
        rejections = compile_rejections(
            self.merged.get("reject"), parameters, self.workshop.condition_keys, self.faults
        )
        shaping = self._shaping(manifest, parameters)
        recourse = self._recourse(manifest, made, parameters, effect)
        hooks = self._hooks(manifest, parameters)
        self._drop_shadows()
        if made is not None and not self.has_errors():
            self.faults += advice(self.layered.own.data, manifest, made.kind.name)
            self._note_references(shaping)
        is_callable = made is not None or self.unavailable is not None or is_external(self.merged)
        if self.has_errors() or not manifest.enabled or not is_callable:
            return None
        files, source = self.workshop.files, self.written.source
        return ToolEntry(
            name=self.written.name,
            namespace=self.written.namespace,
            kind=kind_name(self.merged) or "external",
            description=with_hints(self._for_models(description), manifest, effect, asked),
            effect=effect,
            is_idempotent=made is not None and made.is_idempotent(manifest, effect),
            manifest=manifest,
            parameters=parameters,
            checker=self._checker(manifest, parameters),
            binding=binding,
            shaping=shaping,
            layered=self.layered,
            file=self.written.document.file,
            path=self.written.path,
            target=self._target(made),
            references=self.references,
            vars=files.project.vars,
            output_schema=self.output_schema,
            rejections=rejections,
            path_rules=compile_path_rules(parameters.schema, files.root),
            blocked=blocked(self.unavailable, self.unavailable_at, files, self.layered),
            asked=asked,
            hands_text_on=self.hands_text_on,
            service=self.workshop.targets.get(self._target(made) or ""),
            recourse=recourse,
            hooks=hooks,
            uses=self.workshop.shared(getattr(binding, "uses", frozenset())),
            own_description=description,
            limits=self._limits(),
            source=source.name if source else "",
            is_foreign=source is not None and source.origin != "python",
        )

    def _for_models(self, description: str) -> str:
        options = self.workshop.files.project.retrieval
        return shortened(description, options.max_description if options else None)

    def _checker(self, manifest: ToolManifest, parameters: Parameters) -> ArgumentChecker:
        hidden, is_coerced = self.workshop.shared(parameters.hidden), manifest.coerce == "safe"
        return ArgumentChecker(parameters.visible_schema(), hidden=hidden, coerce=is_coerced)

    def _shaping(self, manifest: ToolManifest, parameters: Parameters) -> Shaping:
        arguments = parameters.schema.get("properties", {})
        names, keys = self.workshop.names(parameters), self.workshop.condition_keys
        shaping = compile_shaping(manifest, arguments, names, keys, self.faults)
        self.faults += unfit_masks(self.output_schema, shaping.redactions)
        return shaping

    def _hooks(self, manifest: ToolManifest, parameters: Parameters) -> Hooks | None:
        context = self.workshop.context(self.written.name, parameters)
        return compile_hooks(manifest.hooks, context, self.faults)

    def _limits(self) -> Limits | None:
        """What operators' settings, which have been checked, let a session do with the tool."""
        written = self.layered.limits
        return Limits.model_validate(written) if written else None

    def placed_faults(self) -> list[Fault]:
        """What was found; what stands under a misspelt key is told there."""
        return [fault.moved(self._as_spelt(fault.path)) for fault in self.faults]

    def _as_spelt(self, path: FaultPath) -> FaultPath:
        if not path or path[0] in self.merged:
            return path
        return (spelt(ToolManifest, self.merged, str(path[0])), *path[1:])

    def has_errors(self) -> bool:
        return any(fault.severity == "error" for fault in self.faults)

    def _fault(self, code: str, message: str, *path: str | int, **more: Any) -> None:
        self.faults.append(Fault(code, message, path, **more))

    def _check_name(self) -> None:
        name = base_of(str(self.written.path[-1]))
        if self.written.source is None and not re.match(NAME, name):
            message = f"`{name}` is no tool name: a-z, 0-9 and _, beginning with a letter"
            self._fault("bad-name", message, on_key=True)

    def _manifest(self) -> ToolManifest:
        """The merged tool; keys that are wrong are reported and left out, and the rest counts."""

        def source_text(path: FaultPath) -> str | None:
            return self.layered.source_text(self._as_spelt(path))

        manifest, faults = validated(ToolManifest, self.merged, source_text)
        self.faults += [*faults, *reset_faults(ToolManifest, self.layered)]
        if manifest is not None:
            return manifest
        wrong = {fault.path[0] for fault in faults if fault.path}
        self.knows_arguments = wrong.isdisjoint({"parameters", "input_schema"})
        rest = mended(ToolManifest, self.merged, faults)
        made, more = validated(ToolManifest, rest, source_text)
        if made is not None:
            return made
        self.faults += more
        again = {fault.path[0] for fault in more if fault.path}  # under the name that was meant
        rest = {key: value for key, value in rest.items() if key not in again}
        return validated(ToolManifest, rest, source_text)[0] or ToolManifest()

    def _parameters(
        self, manifest: ToolManifest, made: Implementation | None
    ) -> tuple[Parameters, str]:
        """Arguments and description as written, or else as the implementation has them."""
        written = self.written
        folder = (self.workshop.files.root / written.document.file).parent
        self.output_schema = output_schema(manifest, folder, self.faults)
        before = len(self.faults)
        declared = declared_parameters(manifest, folder, self.layered, self.faults)
        self._note_arguments(self.faults[before:])
        if declared is not None and manifest.description is not None:
            return declared, manifest.description
        described = None
        if made is not None and self.workshop.imports:
            context = self.workshop.context(written.name)
            described = made.kind.describe(made.spec, context)
            if declared is None:
                self._collect(context, made)
                self._note_arguments(context.faults)
        elif declared is None:
            self.knows_arguments &= made is None or made.kind.name != "python"
        description = manifest.description or (described.description if described else None)
        if not description and self.written.source is not None:
            description = fallback_description(self.written, self.faults)
        if description is None and made is not None:
            self._miss_description(made)
        place = (made.kind.name, "call") if made else ()
        return declared or described_parameters(described, place, self.faults), description or ""

    def _recourse(
        self,
        manifest: ToolManifest,
        made: Implementation | None,
        parameters: Parameters,
        effect: Effect,
    ) -> Recourse | None:
        """What the tool does about failure; what it says of `cache` is looked at, too."""
        kind, workshop = kind_name(self.merged), self.workshop
        options = self.merged.get(kind or "")
        service = workshop.targets.get(self._target(made) or "")
        if not any(fault.path[:1] == ("cache",) for fault in self.faults):
            self.faults += cache_faults(manifest, effect, options, service)
        names, keys = workshop.names(parameters), workshop.condition_keys
        compiler = RecourseCompiler(manifest, parameters, names, keys, self.faults)
        return compiler.recourse(effect, kind, options)

    def _note_arguments(self, found: list[Fault]) -> None:
        """After a fault, the names of the arguments are known only if it is inside one of them."""
        wrong = [fault.path for fault in found if fault.severity == "error"]
        is_inside = all(path[:1] == ("parameters",) and len(path) > 1 for path in wrong)
        self.knows_arguments &= is_inside

    def _note_references(self, shaping: Shaping) -> None:
        """References of `result.text` count like those of the kind's options."""
        found = shaping.text.references if shaping.text else ()
        self.references += found
        for problem in self.workshop.references.unusable(found):
            if self.unavailable is None:
                self.unavailable, self.unavailable_at = problem, ("result", "text")

    def _drop_shadows(self) -> None:
        """Where arguments are not known, nobody can say that their names are wrong."""
        wrong = {
            str(one.path[1])
            for one in self.faults
            if one.path[:1] == ("parameters",) and one.path[1:]
        }
        self.faults = [
            fault
            for fault in self.faults
            if fault.code != "unknown-name"
            or (self.knows_arguments and not any(f"`{name}`" in fault.message for name in wrong))
        ]

    def _miss_description(self, made: Implementation) -> None:
        """A description is required, unless it may stand in code that was not looked at."""
        is_unseen = made.kind.name == "python" and not self.workshop.imports
        if not is_unseen and "description" not in self.merged:
            hint = "say what the tool does"
            self._fault("missing-key", "missing key `description`", hint=hint, on_key=True)

    def _binding(
        self,
        manifest: ToolManifest,
        made: Implementation | None,
        parameters: Parameters,
        effect: Effect,
    ) -> Binding:
        if is_external(self.merged):
            return ByHand()
        if made is None or not self.knows_arguments:
            return Unfinished(self.unavailable or "")
        context = self.workshop.context(
            self.written.name,
            parameters,
            effect=effect,
            connect_timeout_s=manifest.timeout.connect,
            has_output_schema=self.output_schema is not None,
            written_parameters=not {"parameters", "input_schema"}.isdisjoint(self.merged),
        )
        hand_on(manifest.idempotency_key, context)
        binding = made.kind.bind(made.spec, context)
        self._collect(context, made)
        self.references = context.used_references
        self.hands_text_on = context.hands_text_on
        if context.unavailable is not None and self.written.blocked is None:
            self.unavailable = context.unavailable
            self.unavailable_at = made.from_tool(context.unavailable_at)
        return binding

    def _collect(self, context: BindContext, made: Implementation) -> None:
        """Take over a kind's faults, as paths from the tool."""
        shadows = Shadows(self.workshop.files, self.layered, made, self.faults)
        for fault in context.faults:
            placed = fault.moved(self._as_written(made.from_tool(fault.path)))
            if placed not in self.faults and not shadows.is_explained(placed):
                self.faults.append(placed)

    def _as_written(self, path: FaultPath) -> FaultPath:
        """A path below `parameters`, led into `input_schema` where that is what is written."""
        if path[:1] != ("parameters",) or "input_schema" not in self.merged:
            return path
        return ("input_schema", "properties", *path[1:])

    def _target(self, made: Implementation | None) -> str | None:
        target = child(self.merged[made.kind.name], "target") if made else None
        return target if isinstance(target, str) else None
