"""What a loss consists of, so that a second look can tell whether it is still the same one (L6).

The guard says in words what would be lost; two losses of the same words may be of other content.
What has nothing to do with the loss is left out: other files may change in the meantime.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from toolrt.catalog.snapshot import Snapshot, ToolEntry
from toolrt.core.faults import MISSING, child
from toolrt.loading.loader import WrittenPolicies
from toolrt.policy.engine import ToolPolicy
from toolrt.policy.loss import Protection, is_cut, is_most_gone
from toolrt.policy.policy import Policy
from toolrt.policy.risk import classes_of
from toolrt.reloading.changes import Side
from toolrt.reloading.consent import asks_of
from toolrt.reloading.renames import same_tools
from toolrt.reloading.walls import sandbox_of
from toolrt.reloading.weakening import stakes

_OF_FILES = ("default", "approval")


def guarded(before: Side, after: Side, losses: Sequence[str]) -> str:
    """A hash over the losses and all that they are made of in `after`."""
    was, now = before.snapshot, after.snapshot
    at_stake = stakes(was, now)
    parts = (
        losses,
        dict(_files(before.protection, after.protection)),
        {name: _plain(child(now.vars, name)) for name in at_stake.vars},
        [repr(each) for each in now.identities] if at_stake.people else None,
        dict(_tools(was, now)) if at_stake.tools else None,
        dict(_hits(was, now)),
    )
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _files(before: Protection, after: Protection) -> Iterator[tuple[str, str | None]]:
    """The texts of the policy files that lose something; None for one that is gone."""
    every = is_most_gone(before, after)
    ids = {id_ for id_, rule in before.rules.items() if every or rule["decide"] != "allow"}
    for name in {*before.files, *after.files}:
        was, now = before.files.get(name), after.files.get(name)
        if _counting(was, ids) != _counting(now, ids) or is_cut(was, now):
            yield name, now.document.text if now is not None else None


def _counting(written: WrittenPolicies | None, ids: Collection[str]) -> str:
    """What of a file the guard looks at: the rules of those ids, and what holds for all of it."""
    data: Mapping[str, Any] = written.document.data if written is not None else {}
    rules = [rule for rule in data.get("rules") or () if rule["id"] in ids]
    asking = [each for each in data.get("settings") or () if "hitl" in each]
    return _plain([rules, asking, [data.get(key) for key in _OF_FILES]])


def _tools(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, str]]:
    for was, now in same_tools(before, after):
        if was is not now and (told := _of_tool(now)) != _of_tool(was):
            yield now.name, told


def _of_tool(tool: ToolEntry) -> str:
    """What rules see of a tool, what it asks of people by itself, its sandbox, and who calls it."""
    asks = {json.dumps(sorted(form)): repr(terms) for form, terms in asks_of(tool).items()}
    wall = sandbox_of(tool), tool.manifest.expose
    decider = tool.decider
    if not isinstance(decider, ToolPolicy):
        return _plain([asks, wall])
    facts = decider.tool
    return _plain([asks, wall, dict(facts.root), classes_of(facts), sorted(facts.sensitive)])


def _hits(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, list[str]]]:
    """The tools that rules which do not allow no longer name."""
    old, new = before.rules, after.rules
    if not isinstance(old, Policy) or not isinstance(new, Policy):
        return
    for id_, names in old.hits.items():
        missed = sorted({*names} - {*new.hits.get(id_, ())})
        if missed and old.clauses[id_].decide != "allow":
            yield id_, missed


def _plain(value: Any) -> str:
    """A text that is the same for the same value only: `true` is not 1."""
    return "" if value is MISSING else json.dumps(value, sort_keys=True, default=str)
