"""A generation, and how what was compiled compares with the one in force.

All of it is worked out where it was compiled, aside from the calls.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from toolrt.catalog.compiler import Compiled
from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.redaction import Redactor, without_credentials
from toolrt.loading.diagnostics import Diagnostic
from toolrt.loading.stock import Stock
from toolrt.manifest.project import Serve
from toolrt.policy.loss import Protection, all_gone, losses
from toolrt.policy.policy import Policy
from toolrt.reloading.changes import Changes, Side, changes
from toolrt.reloading.entrances import opened_up
from toolrt.reloading.guarded import guarded
from toolrt.reloading.locks import unlocked
from toolrt.reloading.weakening import weakened

_OPENED_ONCE: Final = ("state", "journal", "secrets", "telemetry")
"""Keys of toolrt.yaml that are read when a project is opened."""

_SERVED_ONCE: Final = ("host", "port", "public_url")
"""Keys of `serve` that are read when a server starts."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What is in force, or may be. `blocked` are the tools that cannot be called, and why; `uses`
    is what all of them need of the things that bindings share.
    """

    compiled: Compiled
    snapshot: Snapshot
    protection: Protection
    blocked: Mapping[str, str]
    uses: frozenset[object] = frozenset()

    @classmethod
    def of(cls, compiled: Compiled) -> "Generation | None":
        """The generation that compiling came to; None where there are errors."""
        snapshot = compiled.snapshot
        if snapshot is None:
            return None
        default = snapshot.rules.default if isinstance(snapshot.rules, Policy) else "allow"
        protection = Protection.of(compiled.files.policies, default)
        tools = snapshot.tools.values()
        blocked = {each.name: each.blocked.reason for each in tools if each.blocked is not None}
        uses = frozenset().union(*{each for tool in tools for each in _uses(tool)})
        return cls(compiled, snapshot, protection, blocked, uses)

    @property
    def side(self) -> Side:
        document = self.compiled.files.project_document
        return Side(self.snapshot, self.protection, document.data if document else None)

    @property
    def stock(self) -> Stock:
        return self.compiled.files.stock


def _uses(tool: ToolEntry) -> Iterator[frozenset[object]]:
    """What the bindings of a tool, in all its forms, need of the things that are shared."""
    yield tool.uses
    if tool.variants is not None:
        yield from (each.uses for each in tool.variants.entries.values())


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was compiled beside what is in force; `new` is None where there are errors. `guarded` is
    what the losses are made of.
    """

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] = field(repr=False)
    new: Generation | None = None
    changes: Changes = field(default_factory=Changes)
    gone: str | None = None
    losses: tuple[str, ...] = ()
    guarded: str = ""
    needs_restart: tuple[str, ...] = ()


def weighed(current: Generation, compiled: Compiled) -> Weighed:
    """How `compiled` differs from `current`, and whether it may take its place."""
    diagnostics, sources = tuple(compiled.diagnostics), compiled.sources
    new = Generation.of(compiled)
    if new is None:
        return Weighed(diagnostics, sources)
    lost = (
        *losses(current.protection, new.protection),
        *weakened(current.snapshot, new.snapshot),
        *opened_up(current.compiled.files.project, new.compiled.files.project),
        *unlocked(current.compiled.files, new.compiled.files),
    )
    return Weighed(
        diagnostics,
        sources,
        new,
        changes(current.side, new.side, partial(_masked, compiled.redactor)),
        all_gone(current.protection, new.protection),
        lost,
        guarded(current.side, new.side, lost) if lost else "",
        _kept_keys(current, new),
    )


def _masked(redactor: Redactor, text: str) -> str:
    return without_credentials(redactor.text(text))


def _kept_keys(before: Generation, after: Generation) -> tuple[str, ...]:
    old, new = before.compiled.files.project, after.compiled.files.project
    kept = [key for key in _OPENED_ONCE if getattr(old, key) != getattr(new, key)]
    before_, after_ = old.serve or Serve(), new.serve or Serve()
    of_server = [key for key in _SERVED_ONCE if getattr(before_, key) != getattr(after_, key)]
    return (*kept, *(f"serve.{key}" for key in of_server))
