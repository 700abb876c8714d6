"""How the breakers of a project stand, as its store tells: for verbs that look and call nothing."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolrt.faces.cli.durations import ahead
from toolrt.faces.cli.options import Settings

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import Snapshot, ToolEntry
    from toolrt.loading.loader import LoadedFiles
    from toolrt.manifest.limits import Breaker
    from toolrt.stores.breakers import Key, Stored


@dataclass(slots=True)
class Circuit:
    """One breaker that tools declare: its settings, what is known of it, and whose it is.

    `left_s` is how long calls are refused from now; `stored` is None where nothing ever failed.
    `tenant` is there where it is one tenant's alone.
    """

    key: "Key"
    options: "Breaker"
    stored: "Stored | None"
    left_s: float
    tools: list[str] = field(default_factory=list)
    tenant: str | None = None

    @property
    def state(self) -> str:
        """`open` while calls are refused; once they are not, the next one is the trial."""
        state = self.stored.state if self.stored else "closed"
        return "half-open" if state == "open" and self.left_s <= 0 else state

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def reason(self) -> str | None:
        """Why its tools are unavailable; None while they are not."""
        return f"circuit open, tried again {ahead(self.left_s)}" if self.is_open else None

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        stored = self.stored
        return {
            "kind": self.key.kind,
            "name": self.key.name,
            "tenant": self.tenant,
            "state": self.state,
            "retry_after_s": round(max(0.0, self.left_s), 3),
            "failures": stored.failures if stored else 0,
            "failed_trials": stored.reopened if stored else 0,
            "why": stored.why if stored else None,
            "settings": self.options.model_dump(),
            "tools": self.tools,
        }


def circuits(snapshot: "Snapshot", files: "LoadedFiles", settings: Settings) -> list[Circuit]:
    """Every breaker that a tool declares, by name. A store that fails is told of, and no more."""
    declared = [
        (tool, tool.manifest.breaker) for tool in snapshot.tools.values() if tool.manifest.breaker
    ]
    if not declared:
        return []
    from toolrt.pipeline.breaker_keys import key_of, tenant_of, without_tenant  # noqa: PLC0415 - `--help` loads no runtime
    from toolrt.stores.moments import SystemMoments  # noqa: PLC0415 - as above

    stored, now = _stored(files, settings), SystemMoments().now()
    made: dict[Key, Circuit] = {}
    for tool, options in declared:
        own = key_of(tool, options)
        for key in (own, *(each for each in stored if each != own and without_tenant(each) == own)):
            found = stored.get(key)
            left_s = found.refusal_s(now) if found else 0.0
            circuit = Circuit(key, options, found, left_s, tenant=tenant_of(key))
            made.setdefault(key, circuit).tools.append(tool.name)
    return sorted(made.values(), key=lambda each: (each.key.name, each.key.options))


def open_tools(
    snapshot: "Snapshot", files: "LoadedFiles", settings: Settings, tenant: str | None
) -> dict[str, Circuit]:
    """The tools that are not called for now for callers of that tenant, each with its breaker."""
    found = [
        each
        for each in circuits(snapshot, files, settings)
        if each.is_open and (each.options.by == "target" or each.tenant == tenant)
    ]
    return {name: each for each in found for name in each.tools}


def without_hidden(
    tools: list["ToolEntry"], not_called: Mapping[str, Circuit]
) -> Iterator["ToolEntry"]:
    """The tools that lists show: those with `hide` only while they are called (B8)."""
    for tool in tools:
        circuit = not_called.get(tool.name)
        if circuit is None or not circuit.options.hide:
            yield tool


def _stored(files: "LoadedFiles", settings: Settings) -> dict["Key", "Stored"]:
    from toolrt.state import stored_breakers  # noqa: PLC0415 - `--help` loads no store
    from toolrt.stores.base import StoreError  # noqa: PLC0415 - as above

    try:
        found = asyncio.run(stored_breakers(files.root, files.project))
    except StoreError as error:
        settings.screen.say(f"breakers are shown as if closed: {error.message}")
        return {}
    return {each.key: each for each in found}
