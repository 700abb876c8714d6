"""What a kind is, what it may use, and the table of kinds.

A kind turns its own options (`Spec`) into a `Binding` when the catalogue is compiled; the attempt
stage calls the binding. A new kind is one file with a `KIND` and one line in `KINDS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Fault, FaultError
from toolrt.core.faults import Path as FaultPath
from toolrt.core.results import Answer
from toolrt.expressions.references import Reference, References
from toolrt.expressions.slots import TEXT, Slot
from toolrt.expressions.templates import (
    Names,
    Template,
    Tree,
    compile_template,
    compile_tree,
)
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.target import Target

Effect = Literal["read", "write", "irreversible"]

KINDS: Mapping[str, str] = {
    "agent": "toolrt.bindings.agent",
    "command": "toolrt.bindings.command",
    "http": "toolrt.bindings.http",
    "mcp": "toolrt.bindings.mcp",
    "provider": "toolrt.bindings.provider",
    "python": "toolrt.bindings.python",
    "shell": "toolrt.bindings.shell",
    "steps": "toolrt.bindings.steps",
}
"""Kind -> module with a `KIND`; imported when a manifest first uses it."""


TARGET = "//"
"""First step of a path that leads into a target: `(TARGET, name, "headers", "X-Key")`."""


class Spec(BaseModel):
    """A kind's options as a user writes them, in long form."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


class Binding(Protocol):
    """A compiled link from a tool to its implementation; shared by all calls of a generation."""

    async def call(self, invocation: Invocation) -> Answer:
        """One attempt. Raises `CallError` (mostly `BindingError`) when there is no answer.

        The attempt stage sets the deadline by cancelling; on cancellation a binding stops what it
        started within 100 ms. It keeps `invocation.sent` true to what has left this machine.
        """
        ...

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        """What would be sent or run, JSON-ready, secrets masked; nothing is done."""
        ...


@dataclass(frozen=True, slots=True)
class Described:
    """What an implementation says about itself when the manifest does not."""

    input_schema: dict[str, Any]
    description: str | None = None
    output_schema: dict[str, Any] | None = None


class Shared(Protocol):
    """Something that all bindings of one runtime use together.

    One that holds things for single tools also has `keep_only(used)`: whatever is not among those
    that bindings name under `uses` goes, as soon as no call is at it.
    """

    async def close(self) -> None: ...


S = TypeVar("S", bound=Shared)


BindAs = Callable[["BindContext", str, Any, FaultPath], Binding]


class Services:
    """What the bindings of one runtime share: made on first use, closed with the runtime."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._made: dict[object, Shared] = {}

    def share(self, make: Callable[[], S]) -> S:
        """The one object that `make` gives for this runtime; `make` itself is the key."""
        if make not in self._made:
            self._made[make] = make()
        return cast("S", self._made[make])

    def put(self, make: Callable[[], S], made: S) -> None:
        """Let `made` stand where `make` would be called."""
        self._made[make] = made

    def keep_only(self, used: frozenset[object]) -> None:
        """Let go of what is not among `used`: what the bindings of the tools of now need."""
        for shared in self._made.values():
            keep = getattr(shared, "keep_only", None)
            if keep is not None:
                keep(used)

    async def close(self) -> None:
        """Close every one of them, whatever becomes of the others."""
        if not self._made:
            return
        _, shared = self._made.popitem()
        try:
            await shared.close()
        finally:
            await self.close()


@dataclass(slots=True)
class BindContext:
    """What a kind may use while it binds one tool; faults are collected, never raised.

    Paths of faults are relative to the kind's value: `("url",)` for `http: {url: …}`.
    `input_schema` is the whole JSON Schema of the arguments, bound parameters included;
    `visible` are the names that the model may send. `unavailable` says why the tool cannot be
    called for now, and `unavailable_at` where the reason stands, as a path like those of faults.
    `hands_text_on` says that the tool passes a caller's text to an interpreter (P16).
    `bind_as` binds the tool as another kind, whose options stand at a path here.
    `idempotency` are the header and the template of the key that is sent (E11). The project's own
    are `settings`; `servers` are the MCP servers of its sources, by name.
    """

    tool: str
    project: Path
    services: Services
    references: References
    input_schema: Mapping[str, Any]
    visible: frozenset[str]
    names: Names
    targets: Mapping[str, Target]
    effect: Effect = "write"
    connect_timeout_s: float = 5.0
    faults: list[Fault] = field(default_factory=list)
    unavailable: str | None = None
    unavailable_at: FaultPath = ()
    used: set[str] = field(default_factory=set)
    used_references: tuple[Reference, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    written_parameters: bool = True
    imports: bool = True
    hands_text_on: bool = False
    idempotency: tuple[str, str] | None = None
    settings: ProjectFile = field(default_factory=ProjectFile)
    bind_as: "BindAs" = field(default_factory=lambda: _never_bound)
    servers: Mapping[str, Any] = field(default_factory=dict)
    has_output_schema: bool = False

    def fault(self, code: str, message: str, *path: str | int, **more: Any) -> None:
        """Report a fault at `path` inside the kind's value; `more` as in `Fault`."""
        self.faults.append(Fault(code, message, path, **more))

    def lacks(self, why: str, *path: str | int) -> None:
        """The tool cannot be called for now, because of what stands at `path`; the first wins."""
        if self.unavailable is None:
            self.unavailable, self.unavailable_at = why, path

    def template(self, text: str, path: FaultPath, slot: Slot) -> Template:
        """Compile a text with `{{ }}` and `${}`; on a fault report it and give a constant."""
        try:
            made = compile_template(text, slot, self.names)
        except FaultError as error:
            self.faults.extend(error.under(*path))
            return Template.constant("")
        self._note(made, path)
        return made

    def tree(self, value: Any, path: FaultPath, slot: Slot = TEXT) -> Tree:
        """Compile every text inside `value`; on a fault report it and give nothing."""
        try:
            made = compile_tree(value, slot, self.names)
        except FaultError as error:
            self.faults.extend(error.under(*path))
            return compile_tree(None, slot, self.names)
        self._note(made, path)
        return made

    def warn_of_unused(self, hint: str) -> None:
        """Report each parameter of the model that nothing has named; no more after an error."""
        if any(fault.severity == "error" for fault in self.faults):
            return
        for name in self.input_schema.get("properties", ()):
            if name in self.visible and name not in self.used:
                path = ("/", "parameters", name)
                message = f"nothing uses `{name}`"
                self.fault("unused-parameter", message, *path, severity="warning", hint=hint)

    def _note(self, made: Template | Tree, path: FaultPath) -> None:
        self.used |= made.parameters
        self.used_references += tuple(made.references)
        if made.references and self.unavailable is None:
            for problem in self.references.unusable(made.references):
                self.lacks(problem, *path)


def _never_bound(_context: "BindContext", name: str, _options: Any, _path: FaultPath) -> "Binding":
    return Unfinished(f"nobody binds `{name}` here")


def _nothing(_spec: Any, _context: BindContext) -> Described | None:
    return None


def _no_keys(_spec: Any, _context: BindContext) -> Mapping[str, Any]:
    return {}


def _never(_spec: Any) -> bool:
    return False


def _write(_spec: Any) -> Effect:
    return "write"


class Unfinished:
    """Stands where a kind does not work yet: every call is refused."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def call(self, _invocation: Invocation) -> Answer:
        raise RefusedError(self._why, code="unsupported")

    def preview(self, _invocation: Invocation) -> dict[str, Any]:
        raise RefusedError(self._why, code="unsupported")


class ByHand:
    """Stands where people make the calls (`hitl: external`, no kind): nothing of ours runs."""

    async def call(self, _invocation: Invocation) -> Answer:
        raise RefusedError("a person makes the calls of this tool", code="unsupported")

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"by_hand": dict(invocation.arguments)}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of binding: its options, and how they become a binding.

    Its short form is made long in `manifest/longform`. `effect` and `is_idempotent` are what the
    options imply when the tool does not say. `describe` reads the
    arguments' schema and the description off the implementation, for tools that write none.
    """

    name: str
    spec: type[Spec]
    bind: Callable[[Any, BindContext], Binding]
    effect: Callable[[Any], Effect] = _write
    is_idempotent: Callable[[Any], bool] = _never
    describe: Callable[[Any, BindContext], Described | None] = _nothing
    marked: Callable[[Any, BindContext], Mapping[str, Any]] = _no_keys


def kind(name: str) -> Kind:
    """The kind of that name. Raises KeyError for a name that is not in `KINDS`."""
    return cast("Kind", import_module(KINDS[name]).KIND)
