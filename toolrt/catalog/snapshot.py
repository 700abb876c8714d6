"""The immutable catalogue: every tool of one generation, compiled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from toolrt.bindings.base import Binding, Effect
from toolrt.bindings.paths import PathRules
from toolrt.catalog.results import Shaping
from toolrt.core.faults import Path
from toolrt.expressions.conditions import Condition
from toolrt.expressions.references import Reference
from toolrt.loading.layers import Layered
from toolrt.manifest.parameters import Parameters, for_model
from toolrt.manifest.tool import ToolManifest
from toolrt.schemas.arguments import ArgumentChecker


@dataclass(frozen=True, slots=True)
class Rejection:
    """A compiled `reject` entry: when the condition holds, the call is refused with the reason."""

    condition: Condition
    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a tool cannot be called for now, and the place of the value that asks for it."""

    reason: str
    place: Callable[[], str]


@dataclass(frozen=True, eq=False)
class ToolEntry:
    """One tool, ready to be called; shared by all calls of its generation.

    `blocked` says why it cannot be called now (a missing secret or program), `refusal` why this
    version never runs it. `path_rules` resolve parameters of `format: path`.
    """

    name: str
    namespace: str | None
    kind: str
    description: str
    effect: Effect
    is_idempotent: bool
    manifest: ToolManifest
    parameters: Parameters
    checker: ArgumentChecker
    binding: Binding
    shaping: Shaping
    layered: Layered
    file: str
    path: Path
    target: str | None = None
    references: tuple[Reference, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    rejections: tuple[Rejection, ...] = ()
    path_rules: PathRules | None = None
    blocked: Blocked | None = None
    refusal: str | None = None

    @cached_property
    def line(self) -> int:
        """Line of `file` that the tool begins at."""
        layer = self.layered.layers[-1]
        return layer.document.span(self.path, on_key=True).line

    @cached_property
    def unavailable(self) -> str | None:
        """Why the tool cannot be called for now, with file and line; None when it can."""
        if self.blocked is None:
            return None
        return f"{self.blocked.reason} ({self.blocked.place()})"

    def root(self) -> dict[str, Any]:
        """The `tool` root of conditions."""
        return {
            "name": self.name,
            "namespace": self.namespace or "",
            "version": self.version or "",
            "tags": self.tags,
            "effect": self.effect,
            "source": "",
        }

    @property
    def title(self) -> str | None:
        return self.manifest.title

    @property
    def tags(self) -> list[str]:
        return self.manifest.tags

    @property
    def version(self) -> str | None:
        return self.manifest.version

    @property
    def deprecated(self) -> str | None:
        return self.manifest.deprecated

    @property
    def instructions(self) -> str | None:
        return self.manifest.instructions

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments as a model sees it."""
        return for_model(self.parameters.visible_schema())

    @cached_property
    def origins(self) -> Mapping[str, str]:
        """Dotted path of each written value -> the layer and place that it comes from."""
        from toolrt.loading.layers import origins  # noqa: PLC0415 - only `show` asks for it

        return origins(self.layered, lambda layer: f"{layer.document.file} {layer.name}")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All tools by name, sorted. `fingerprint` is a hash of the files' bytes."""

    generation: int
    fingerprint: str
    tools: Mapping[str, ToolEntry] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
