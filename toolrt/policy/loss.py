"""Guards against policies that were lost rather than changed (L5, L6).

A half-written or emptied file may well be right by itself, and say less than it did. So what takes
protection away is looked at twice before it counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.core.decisions import Verdict
from toolrt.loading.loader import WrittenPolicies

_FEW = 3
_HALF = 2


@dataclass(frozen=True, slots=True)
class Protection:
    """What the policy files of one generation say: each file, each rule, and the default."""

    files: Mapping[str, WrittenPolicies] = field(default_factory=dict)
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    default: Verdict = "allow"

    @classmethod
    def of(cls, policies: Iterable[WrittenPolicies], default: Verdict) -> "Protection":
        """The protection of files without errors; a rule counts as it is written."""
        files = {written.document.file: written for written in policies}
        rules = {
            rule["id"]: rule
            for written in files.values()
            for rule in written.document.data.get("rules") or ()
        }
        return cls(files, rules, default)

    @property
    def speaking(self) -> list[str]:
        """The files that have a rule or a default; without any the built-in posture holds."""
        return [
            name
            for name, written in self.files.items()
            if written.policies.rules or written.policies.default is not None
        ]

    def enforced(self, *verdicts: Verdict) -> set[str]:
        """The ids of the rules that decide one of `verdicts`."""
        return {
            id_
            for id_, rule in self.rules.items()
            if rule["decide"] in verdicts and rule.get("mode") != "audit"
        }


def all_gone(before: Protection, after: Protection) -> str | None:
    """What is wrong when no policy is left, be it that the files are gone or that they say nothing:
    never the same as no rules, which `default: allow` says.
    """
    if before.files and not after.files:
        return f"every policy file is gone: {listed(before.files, 'file')}"
    if before.speaking and not after.speaking:
        were = listed(before.speaking, "file")
        return f"every rule and every `default` is gone: {were} had some"
    return None


def losses(before: Protection, after: Protection) -> Iterator[str]:
    """Each way in which `after` protects less and may be a mistake."""
    denies = before.enforced("deny") - after.enforced("deny")
    if denies:
        yield f"{listed(denies, 'deny rule')} would no longer hold"
    asks = before.enforced("ask") - after.enforced("ask", "deny")
    if asks:
        yield f"{listed(asks, 'ask rule')} would no longer hold"
    if is_most_gone(before, after):
        yield f"of {len(before.rules)} rules {len(after.rules)} would be left"
    if before.default == "deny" and after.default != "deny":
        yield "calls that no rule decides would be let through"
    yield from _cut(before, after)


def is_most_gone(before: Protection, after: Protection) -> bool:
    """Whether fewer than half of the rules are left, whatever they decide."""
    return len(after.rules) * _HALF < len(before.rules)


def is_cut(was: WrittenPolicies | None, now: WrittenPolicies | None) -> bool:
    """Whether a file ends earlier than it did, unless only blanks and comments are missing."""
    if was is None or now is None or was.document.data == now.document.data:
        return False
    return was.document.text.startswith(now.document.text)


def _cut(before: Protection, after: Protection) -> Iterator[str]:
    for name, written in after.files.items():
        if is_cut(before.files.get(name), written):
            yield f"{name} is the beginning of what it was"


def listed(names: Iterable[str], what: str = "") -> str:
    """A few of the names, after what they are: `rules `a`, `b` and 3 more`."""
    known = sorted(names)
    shown = ", ".join(f"`{each}`" for each in known[:_FEW])
    more = f" and {len(known) - _FEW} more" if len(known) > _FEW else ""
    many = f"{what}s " if len(known) > 1 else f"{what} "
    return f"{many if what else ''}{shown}{more}"
