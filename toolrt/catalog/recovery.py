"""What a tool says about failure, compiled: `fallback`, `verify`, `poll`, `idempotency_key` and
`freshness`.

What they say of other tools is looked at in `links`, once all tools are compiled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from toolrt.bindings.base import BindContext, Effect
from toolrt.catalog.freshness import Freshness, compile_freshness
from toolrt.catalog.results import compiled
from toolrt.core.faults import Fault, FaultError, Path
from toolrt.expressions.conditions import (
    REJECT_ROOTS,
    Condition,
    RootType,
    compile_condition,
)
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, Template, Tree, compile_template, compile_tree
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.result import IdempotencyKey, Poll, Verify
from toolrt.manifest.tool import ToolManifest

DEFAULT_HEADER: Final = "Idempotency-Key"
"""Of draft-ietf-httpapi-idempotency-key-header."""
KEY_ROOT: Final = "idempotency_key"
"""The key of `call` that gives other kinds than http the key."""

_PROBE_ROOTS: Mapping[str, RootType] = MappingProxyType({**REJECT_ROOTS, "result": "dyn"})
_WITH_TEMPLATES = frozenset({"command", "shell"})


@dataclass(frozen=True, slots=True)
class Probe:
    """A read tool that is asked about a call: with which arguments, and what its answer means.

    `every_s` is the time between two questions, where there are several.
    """

    tool: str
    arguments: Tree
    condition: Condition
    every_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Fallback:
    """What stands in for a call that failed: one of another tool, a value, an answer of before."""

    tool: str | None = None
    value: Tree | None = None
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Recourse:
    """What a tool does about failure, and against it, beyond trying again."""

    fallback: Fallback | None = None
    verify: Probe | None = None
    poll: Probe | None = None
    key: Template | None = None
    freshness: Freshness | None = None


def hand_on(written: IdempotencyKey | None, context: BindContext) -> None:
    """Let a kind send the key: http as a header, the others by `call.idempotency_key`.

    A template with faults is left out; they are told by `RecourseCompiler`.
    """
    if written is None:
        return
    names = context.names
    known = names.known_keys
    more = {**known, "call": known["call"] | {KEY_ROOT}}
    context.names = replace(names, known_keys=more)
    try:
        compile_template(written.value, TEXT, names)
    except FaultError:
        return
    context.idempotency = written.header or DEFAULT_HEADER, written.value


@dataclass(frozen=True)
class RecourseCompiler:
    """Compiles the recourse of one tool; faults go to `faults`, with paths from the tool."""

    manifest: ToolManifest
    parameters: Parameters
    names: Names
    known_keys: Mapping[str, frozenset[str]]
    faults: list[Fault]

    def recourse(self, effect: Effect, kind: str | None, options: Any) -> Recourse | None:
        """None for a tool that asks for nothing of it. `options` are those of its kind."""
        manifest = self.manifest
        written = (manifest.fallback, manifest.verify, manifest.poll, manifest.idempotency_key)
        if all(each is None for each in (*written, manifest.freshness)) or self._is_broken():
            return None
        self._advise(effect)
        key = self._key()
        if key is not None:
            self._check_handed_on(kind, options)
        fresh = compile_freshness(manifest, effect, self.parameters, self.names, self.faults)
        return Recourse(self._fallback(), self._verify(), self._poll(), key, fresh)

    def _is_broken(self) -> bool:
        """Whether something is wrong already: what is left of it would be judged wrongly."""
        keys = {"fallback", "verify", "poll", "idempotency_key", "cache", "freshness"}
        errors = (each for each in self.faults if each.severity == "error")
        return any(each.path and each.path[0] in keys for each in errors)

    def _fallback(self) -> Fallback | None:
        written = self.manifest.fallback
        if written is None:
            return None
        if written.stale and self.manifest.cache is None:
            hint = "say with `cache` how long answers are kept"
            message = "there is no answer of before without a `cache`"
            self.faults.append(Fault("needs-cache", message, ("fallback", "stale"), hint))
        value = None
        if "value" in written.model_fields_set:
            value = self._tree(written.value, self.names, ("fallback", "value"))
        return Fallback(written.tool, value, bool(written.stale))

    def _verify(self) -> Probe | None:
        written = self.manifest.verify
        if written is None:
            return None
        return self._probe("verify", written, "applied_when", written.applied_when)

    def _poll(self) -> Probe | None:
        written = self.manifest.poll
        return None if written is None else self._probe("poll", written, "until", written.until)

    def _probe(self, key: str, written: Verify | Poll, name: str, text: str) -> Probe | None:
        names, every_s = self.names, 0.0
        if isinstance(written, Poll):
            every_s = written.every
            names = Names(names.parameters, names.optional, names.roots | {"result"},
                          names.known_keys, names.scalars)  # fmt: skip
        arguments = self._tree(written.args, names, (key, "args"))
        schemas = self.parameters.schema.get("properties", {})

        def condition() -> Condition:
            return compile_condition(text, _PROBE_ROOTS, schemas, self.known_keys)

        made = compiled(condition, text, (key, name), self.faults)
        if made is None or arguments is None:
            return None
        return Probe(written.tool, arguments, made, every_s)

    def _key(self) -> Template | None:
        written = self.manifest.idempotency_key
        if written is None:
            return None
        path = ("idempotency_key", "value")
        made = compiled(self._template(written.value), written.value, path, self.faults)
        if made is None:
            return None
        weakness = self._weakness(made)
        if weakness is not None:
            self.faults.append(weakness.under(*path))
            return None
        self._refuse_references(made, path)
        return made

    def _weakness(self, key: Template) -> Fault | None:
        """Why a key would not tell one effect from another."""
        if "call" in key.roots:
            message = "a key that is another one for each call protects nothing"
            hint = "make it of what the effect is about, such as the number of the invoice"
            return Fault("weak-key", message, (), hint)
        if key.is_constant:
            message = "the same key for all calls: all but the first would be refused"
            return Fault("weak-key", message, (), "name a parameter, such as `{{ invoice }}`")
        if key.is_lone and not key.parameters.isdisjoint(self.parameters.optional):
            message = "a call without this parameter would have no key"
            return Fault("weak-key", message, (), "require it, or give a default")
        return None

    def _template(self, text: str) -> Callable[[], Template]:
        return lambda: compile_template(text, TEXT, self.names)

    def _tree(self, value: Any, names: Names, path: Path) -> Tree | None:
        try:
            made = compile_tree(value, TEXT, names)
        except FaultError as error:
            self.faults.extend(error.under(*path))
            return None
        self._refuse_references(made, path)
        return made

    def _refuse_references(self, made: Tree | Template, path: Path) -> None:
        if made.references:
            message = "a reference has no place here: arguments and answers are written down"
            hint = "the tool that needs the secret names it itself"
            self.faults.append(Fault("disallowed", message, path, hint))

    def _check_handed_on(self, kind: str | None, options: Any) -> None:
        """A key makes repetitions safe only where the other side gets it."""
        written = self.manifest.idempotency_key
        if kind != "http" and written is not None and written.header is not None:
            path, message = ("idempotency_key", "header"), "`header` is for `http` only"
            self.faults.append(Fault("no-effect", message, path, severity="warning", on_key=True))
        if kind in _WITH_TEMPLATES and f"call.{KEY_ROOT}" not in str(options):
            message = "nothing hands the key on, so nobody could tell a repetition"
            hint = f"name it in the `{kind}`, as `{{{{ call.{KEY_ROOT} }}}}`"
            self.faults.append(Fault("unused-key", message, ("idempotency_key",), hint))

    def _advise(self, effect: Effect) -> None:
        if effect != "read":
            return
        for name in ("verify", "idempotency_key"):
            if getattr(self.manifest, name) is not None:
                message = f"`{name}` is for tools that change something; this one only reads"
                fault = Fault("no-effect", message, (name,), severity="warning", on_key=True)
                self.faults.append(fault)
