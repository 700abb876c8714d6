"""The immutable catalogue: every tool of one generation, compiled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final

from toolrt.bindings.base import Binding, Effect
from toolrt.bindings.paths import PathRules
from toolrt.catalog.freshness import Freshness
from toolrt.catalog.hooks import Hooks
from toolrt.catalog.offered import OfferedPrompt, OfferedResource
from toolrt.catalog.recovery import Fallback, Probe, Recourse
from toolrt.catalog.results import Shaping
from toolrt.catalog.variants import Variants
from toolrt.core.calls import Invocation
from toolrt.core.decisions import Decider, Rules
from toolrt.core.faults import Path
from toolrt.core.hosted import Hosted
from toolrt.core.versions import is_older, meant
from toolrt.expressions.conditions import Condition
from toolrt.expressions.references import Reference
from toolrt.expressions.templates import Template
from toolrt.loading.layers import SETTINGS, SOURCE, Layer, Layered
from toolrt.manifest.offers import Toolset
from toolrt.manifest.parameters import Parameters, for_model
from toolrt.manifest.policy import Limits
from toolrt.manifest.project import Approvals, Identity
from toolrt.manifest.target import Target
from toolrt.manifest.tool import ToolManifest
from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.canonical import canonical_json

OF_FILES: Final = "plan:"
"""How the names of plans begin that stand in files of their own: no tool's does."""


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


class _LooksUp:
    """Has room for what is looked up once. The fields have slots, for so many in a `__dict__` take
    four times the memory.
    """


@dataclass(frozen=True, eq=False, slots=True)
class ToolEntry(_LooksUp):
    """One tool, ready to be called; shared by all calls of its generation.

    `blocked` says why it cannot be called now (a missing secret or program). `path_rules` resolve
    parameters of `format: path`. `asked` are the parameters that a person fills, hidden from the
    model; `form` makes their schema of a call's own arguments, where these say what is asked.
    `hands_text_on` says that it passes a caller's text to an interpreter; `service` are the options
    of its target. `own_description` is the one without hints about people, `limits` what operators'
    settings let a session do with it. `variants` are its other forms, for some callers.
    `uses` is what its binding needs of the things that are shared. `recourse` is what it does about
    failure. `seen_as` names what its answers show, for tools whose `freshness` counts on it.
    `source` is the name of what yields it, and `is_foreign` says that a server or a document
    describes it. `decider` is injected once policy is compiled.
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
    asked: tuple[str, ...] = ()
    hands_text_on: bool = False
    service: Target | None = None
    own_description: str | None = None
    limits: Limits | None = None
    form: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    variants: Variants | None = None
    recourse: Recourse | None = None
    hooks: Hooks | None = None
    uses: frozenset[object] = frozenset()
    seen_as: tuple[Template, ...] = ()
    source: str = ""
    is_foreign: bool = False
    decider: Decider | None = None

    def decided_by(self, decider: Decider) -> "ToolEntry":
        """The same tool under another policy."""
        made = object.__new__(ToolEntry)
        for put, value in zip(_PUT, _values(self), strict=True):
            put(made, value)  # it is frozen for all others
        object.__setattr__(made, "decider", decider)
        if self.variants is not None:
            pairs = zip(self.variants.entries.values(), decider.variants, strict=True)
            variants = self.variants.changed(each.decided_by(own) for each, own in pairs)
            object.__setattr__(made, "variants", variants)
        return made

    def watched_as(self, resources: tuple[Template, ...]) -> "ToolEntry":
        """The same tool, for every caller, that shows what these name."""
        variants = self.variants and self.variants.changed(
            each.watched_as(resources) for each in self.variants.entries.values()
        )
        return replace(self, seen_as=resources, variants=variants)

    def answered_by(self, binding: Binding) -> "ToolEntry":
        """The same tool with another binding, for every caller; it can be called."""
        variants = self.variants and self.variants.changed(
            each.answered_by(binding) for each in self.variants.entries.values()
        )
        return replace(self, binding=binding, blocked=None, variants=variants)

    def for_caller(self, invocation: Invocation) -> "ToolEntry":
        """The form that the tool has for the caller of `invocation`."""
        if self.variants is None:
            return self
        return self.variants.chosen(invocation, self.vars) or self

    def asked_schema(self, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """The schema of what a person fills in a call with these arguments; None for nothing."""
        if self.form is not None:
            return self.form(arguments)
        return self.parameters.asked_schema() if self.asked else None

    @cached_property
    def line(self) -> int:
        """Line of `file` that the tool begins at."""
        layer, path = self.layered.own, self.path[:2] if self.source else self.path
        return layer.document.span(path, on_key=True).line

    @cached_property
    def unavailable(self) -> str | None:
        """Why the tool cannot be called for now, with file and line; None when it can."""
        if self.blocked is None:
            return None
        return f"{self.blocked.reason} ({self.blocked.place()})"

    @cached_property
    def definition_hash(self) -> str:
        """SHA-256 of what the tool is: what an approval of a call is bound to (A4).

        Where the server of an `mcp` tool is counts, too. References count as written, and the
        constants of the project where it names any. Times, retries, whether people are asked and
        what is done with a result do not count.
        """
        service = self.service.model_dump(mode="json") if self.service else None
        definition: dict[str, Any] = {
            "name": self.name,
            "description": self.own_description or self.description,
            "input": self.parameters.schema,
            "output": self.output_schema,
            "effect": self.effect,
            "kind": {self.kind: self.layered.merged.get(self.kind)},
            "target": service,
        }
        endpoint: object = getattr(self.binding, "endpoint", None)
        if endpoint is not None:
            definition["endpoint"] = endpoint
        if b"vars" in canonical_json([definition["kind"], service]):
            definition["vars"] = self.vars
        return sha256(canonical_json(definition)).hexdigest()

    @cached_property
    def may_repeat(self) -> bool:
        """Whether the same call made twice does no more than made once: by the tool's nature, or
        because it hands on a key by which the other side knows a repetition (E4).
        """
        return self.is_idempotent or self.idempotency_key is not None

    def root(self) -> dict[str, Any]:
        """The `tool` root of conditions."""
        return {
            "name": self.name,
            "namespace": self.namespace or "",
            "version": self.version or "",
            "tags": self.tags,
            "effect": self.known_effect,
            "source": self.source,
        }

    @property
    def known_effect(self) -> Effect:
        """The effect that rules go by: that something only reads, the project has to say (X3)."""
        if not self.is_foreign or self.effect != "read":
            return self.effect
        said = (each.data.get("effect") for each in self.layered.layers if each.name != SOURCE)
        return "read" if "read" in said else "write"

    @property
    def hosted(self) -> Hosted | None:
        """What a model's vendor runs in place of us; None for tools of our own."""
        found: Hosted | None = getattr(self.binding, "hosted", None)
        return found

    @property
    def fallback(self) -> Fallback | None:
        return self.recourse.fallback if self.recourse else None

    @property
    def verify(self) -> Probe | None:
        return self.recourse.verify if self.recourse else None

    @property
    def poll(self) -> Probe | None:
        return self.recourse.poll if self.recourse else None

    @property
    def freshness(self) -> Freshness | None:
        return self.recourse.freshness if self.recourse else None

    @property
    def idempotency_key(self) -> Template | None:
        return self.recourse.key if self.recourse else None

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

    @property
    def told_schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of the values that clients get; None too where only a person gets them."""
        return None if self.shaping.to == "user" else self.output_schema

    @cached_property
    def origins(self) -> Mapping[str, str]:
        """Dotted path of each written value -> the layer and place that it comes from."""
        from toolrt.loading.layers import origins  # noqa: PLC0415 - only `show` asks for it

        return origins(self.layered, _place)


_FIELDS: Final = tuple(each.name for each in fields(ToolEntry))
_values: Final = attrgetter(*_FIELDS)
_PUT: Final = [vars(ToolEntry)[name].__set__ for name in _FIELDS]


def _place(layer: Layer) -> str:
    """Where a layer stands; of several `settings` in a file, the line of the entry."""
    line = f":{layer.document.span(layer.prefix).line}" if layer.name == SETTINGS else ""
    return f"{layer.document.file}{line} {layer.name}"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All tools by name, sorted, the rules over them, who is who to the project, and how it asks.

    `fingerprint` is a hash of the files. `toolsets`, `prompts` and `resources` are by name, too.
    `told` are the names of the tools that models are told of, None for all that are listed.
    """

    generation: int
    fingerprint: str
    rules: Rules
    tools: Mapping[str, ToolEntry] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    identities: Sequence[Identity] = ()
    approvals: Approvals = field(default_factory=Approvals)
    toolsets: Mapping[str, Toolset] = field(default_factory=dict)
    prompts: Mapping[str, OfferedPrompt] = field(default_factory=dict)
    resources: Mapping[str, OfferedResource] = field(default_factory=dict)
    told: frozenset[str] | None = None

    @cached_property
    def listed(self) -> Mapping[str, ToolEntry]:
        """The tools that lists for callers hold: of several versions the one that is meant, and
        none that only other tools call.
        """
        names = self.tools
        meant = {name: each for name, each in names.items() if not is_older(name, names)}
        return {name: each for name, each in meant.items() if each.manifest.expose}

    def tool(self, name: str) -> ToolEntry | None:
        """The tool of that name; it may end in the version that the plain name means."""
        return meant(name, self.tools)
