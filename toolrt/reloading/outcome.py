"""What a reload came to, as every face tells it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.core.results import SCHEMA
from toolrt.loading.diagnostics import Diagnostic
from toolrt.loading.snippet import render
from toolrt.observe.metrics import Reading
from toolrt.reloading.changes import Changes


@dataclass(frozen=True, slots=True)
class Reload:
    """The answer to one question for a reload.

    `is_accepted` says that what is written is in force: since now when `is_new`, else since before.
    `generation` and `fingerprint` are those in force; `refused` is the fingerprint of what was not
    let in. `is_mended` says that what was tried before was refused. `why` says why it was not,
    `hint` what to do. `losses` are why a person has to confirm it; `changes` are what would change
    then. `needs_restart` are keys of toolrt.yaml that changed and count only after a new start.
    """

    reason: str
    is_accepted: bool
    generation: int
    fingerprint: str
    is_new: bool = False
    changes: Changes = field(default_factory=Changes)
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    why: str | None = None
    hint: str | None = None
    losses: tuple[str, ...] = ()
    refused: str | None = None
    needs_restart: tuple[str, ...] = ()
    took_s: float = 0.0
    is_mended: bool = False

    @property
    def report(self) -> str:
        """What is wrong with the files, with excerpts; empty where nothing is."""
        errors = [one for one in self.diagnostics if one.severity == "error"]
        return render(errors, self.sources) if errors else ""

    def document(self) -> dict[str, Any]:
        """JSON-ready, the same for every face."""
        return {
            "schema": SCHEMA,
            "accepted": self.is_accepted,
            "new": self.is_new,
            "mended": self.is_mended,
            "reason": self.reason,
            "generation": self.generation,
            "fingerprint": self.fingerprint,
            "refused": self.refused,
            "changes": self.changes.document(),
            "why": self.why,
            "hint": self.hint,
            "losses": list(self.losses),
            "diagnostics": [one.document() for one in self.diagnostics],
            "needs_restart": list(self.needs_restart),
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """How reloading stands, for metrics: the last outcome, and since when the files are in force.

    `last_success_ts` is wall time in seconds.
    """

    reload_success: bool
    last_success_ts: float
    generation: int
    fingerprint: str

    def readings(self) -> tuple[Reading, ...]:
        """The same on the page of metrics (L2)."""
        return (
            Reading("toolrt_reload_success", (), float(self.reload_success)),
            Reading("toolrt_reload_last_success_timestamp_seconds", (), self.last_success_ts),
            Reading("toolrt_generation", (), float(self.generation)),
            Reading("toolrt_generation_info", (self.fingerprint,), 1.0),
        )
