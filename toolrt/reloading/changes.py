"""What one generation has that the one before had not: shown after each reload.

As text it is one line: `+ pay  ~ forecast (timeout 5s -> 8s)  - legacy`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.policy.loss import Protection
from toolrt.reloading.differences import Difference, Mask, differences
from toolrt.reloading.keys import ADDED, REMOVED, file_keys, project_keys
from toolrt.reloading.offering import offered

_FEW = 3
_SHORT = {"timeout.total": "timeout", "retry.attempts": "retry", "http.url": "http"}
"""Long forms of what is mostly written short."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of tools and ids of rules; what changed of one leads to what changed in it, in words.

    So do `keys`: those of toolrt.yaml, those that policy files have for all their rules, and what
    MCP clients are offered beside tools.
    """

    added: tuple[str, ...] = ()
    changed: Mapping[str, str] | None = None
    removed: tuple[str, ...] = ()
    rules_added: tuple[str, ...] = ()
    rules_changed: Mapping[str, str] | None = None
    rules_removed: tuple[str, ...] = ()
    keys: Mapping[str, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def text(self) -> str:
        """One line; empty where nothing has changed that does anything."""
        parts = [
            *(f"+ {name}" for name in self.added),
            *(_line(*each) for each in (self.changed or {}).items()),
            *(f"- {name}" for name in self.removed),
            *(f"+ rule {id_}" for id_ in self.rules_added),
            *(_line(f"rule {id_}", how) for id_, how in (self.rules_changed or {}).items()),
            *(f"- rule {id_}" for id_ in self.rules_removed),
            *(_line(*each) for each in (self.keys or {}).items()),
        ]
        return "  ".join(parts)

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "added": list(self.added),
            "changed": dict(self.changed or {}),
            "removed": list(self.removed),
            "rules": {
                "added": list(self.rules_added),
                "changed": dict(self.rules_changed or {}),
                "removed": list(self.rules_removed),
            },
            "keys": dict(self.keys or {}),
        }


@dataclass(frozen=True, slots=True)
class Side:
    """A generation, as far as changes are concerned; `project` is the data of toolrt.yaml."""

    snapshot: Snapshot
    protection: Protection
    project: Any = None


def changes(before: Side, after: Side, mask: Mask) -> Changes:
    """What `after` has that `before` had not; `mask` takes secrets out of what is shown."""
    old, new = before.snapshot.tools, after.snapshot.tools
    told = ((name, _told(old[name], new[name], mask)) for name in new if name in old)
    rules, rules_now = before.protection.rules, after.protection.rules
    return Changes(
        tuple(name for name in new if name not in old),
        {name: what for name, what in told if what is not None},
        tuple(name for name in old if name not in new),
        tuple(sorted(rules_now.keys() - rules.keys())),
        {
            id_: _few(differences(rules[id_], rules_now[id_], mask))
            for id_ in sorted(rules_now.keys() & rules)
            if rules_now[id_] != rules[id_]
        },
        tuple(sorted(rules.keys() - rules_now.keys())),
        dict(_keys(before, after, mask)),
    )


def _keys(before: Side, after: Side, mask: Mask) -> Iterator[Difference]:
    old, new = before.protection, after.protection
    if old.default != new.default:
        yield "default", f"{old.default} -> {new.default}"
    yield from file_keys(old.files, new.files, mask)
    yield from project_keys(before.project, after.project, mask)
    yield from offered(before.snapshot, after.snapshot)


def _line(name: str, how: str) -> str:
    if how in {ADDED, REMOVED}:
        return f"{'+' if how == ADDED else '-'} {name}"
    return f"~ {name} ({how})" if how else f"~ {name}"


def _told(old: ToolEntry, new: ToolEntry, mask: Mask) -> str | None:
    """What has changed in a tool; None for nothing."""
    if old.layered is new.layered:
        return None
    found = list(differences(old.layered.merged, new.layered.merged, mask))
    if old.service != new.service:
        found.append(("target", new.target or ""))
    if _conditional(old) != _conditional(new):
        found.append(("settings for some callers", ""))
    if not found and old.definition_hash == new.definition_hash and old.blocked == new.blocked:
        return None
    return _few(found)


def _few(found: Iterable[Difference]) -> str:
    """The first of what has changed, and how much more there is."""
    texts = [f"{_SHORT.get(name, name)} {how}".rstrip() for name, how in found]
    more = [f"{len(texts) - _FEW} more"] if len(texts) > _FEW else []
    return ", ".join([*texts[:_FEW], *more])


def _conditional(tool: ToolEntry) -> list[tuple[int, str, Mapping[str, Any]]]:
    """What settings with `when` say of the tool."""
    settings = tool.variants.settings if tool.variants else ()
    return [(each.below, each.condition.text, each.layer.data) for each in settings]
