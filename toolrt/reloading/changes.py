"""What one generation has that the one before had not: shown after each reload.

As text it is one line: `+ pay  ~ forecast (timeout 5s -> 8s)  - legacy`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.faults import MISSING, child
from toolrt.policy.loss import Protection

_FEW = 3
_ROOM = 40
_SHORT = {"timeout.total": "timeout", "retry.attempts": "retry", "http.url": "http"}
"""Long forms of what is mostly written short."""

Mask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of tools and ids of rules; a changed tool leads to what changed in it, in words."""

    added: tuple[str, ...] = ()
    changed: Mapping[str, str] | None = None
    removed: tuple[str, ...] = ()
    rules_added: tuple[str, ...] = ()
    rules_changed: tuple[str, ...] = ()
    rules_removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def text(self) -> str:
        """One line; empty where neither a tool nor a rule has changed."""
        changed = self.changed or {}
        parts = [
            *(f"+ {name}" for name in self.added),
            *(f"~ {name} ({what})" if what else f"~ {name}" for name, what in changed.items()),
            *(f"- {name}" for name in self.removed),
            *(f"+ rule {id_}" for id_ in self.rules_added),
            *(f"~ rule {id_}" for id_ in self.rules_changed),
            *(f"- rule {id_}" for id_ in self.rules_removed),
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
                "changed": list(self.rules_changed),
                "removed": list(self.rules_removed),
            },
        }


@dataclass(frozen=True, slots=True)
class Side:
    """A generation, as far as changes are concerned."""

    snapshot: Snapshot
    protection: Protection


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
        tuple(sorted(id_ for id_ in rules_now.keys() & rules if rules_now[id_] != rules[id_])),
        tuple(sorted(rules.keys() - rules_now.keys())),
    )


def _told(old: ToolEntry, new: ToolEntry, mask: Mask) -> str | None:
    """What has changed in a tool; None for nothing."""
    if old.layered is new.layered:
        return None
    found = list(_differences(old.layered.merged, new.layered.merged, (), mask))
    if old.service != new.service:
        found.append(f"target {new.target}" if new.target else "target")
    if _conditional(old) != _conditional(new):
        found.append("settings for some callers")
    if not found and old.definition_hash == new.definition_hash and old.blocked == new.blocked:
        return None
    more = [f"{len(found) - _FEW} more"] if len(found) > _FEW else []
    return ", ".join([*found[:_FEW], *more])


def _conditional(tool: ToolEntry) -> list[tuple[int, str, Mapping[str, Any]]]:
    """What settings with `when` say of the tool."""
    settings = tool.variants.settings if tool.variants else ()
    return [(each.below, each.condition.text, each.layer.data) for each in settings]


def _differences(old: Any, new: Any, path: tuple[str, ...], mask: Mask) -> Iterator[str]:
    """The leaves that differ, as `timeout 5s -> 8s`."""
    if old == new:
        return
    if _is_mapping(old) and _is_mapping(new):
        keys = {*(old if isinstance(old, dict) else ()), *(new if isinstance(new, dict) else ())}
        for key in sorted(keys, key=str):
            inner = child(old, key), child(new, key)
            yield from _differences(*inner, (*path, str(key)), mask)
        return
    name = _SHORT.get(".".join(path), ".".join(path))
    texts = [_shown(each, mask) for each in (old, new)]
    yield name if None in texts else f"{name} {texts[0]} -> {texts[1]}"


def _is_mapping(value: Any) -> bool:
    """Whether it is a mapping, or one that is not there."""
    return isinstance(value, dict) or value is MISSING


def _shown(value: Any, mask: Mask) -> str | None:
    """A value that is short enough for the line; None for any other."""
    if value is MISSING:
        return "none"
    text = mask(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _ROOM and text.isprintable() else None
