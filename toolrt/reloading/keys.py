"""Which keys have changed that belong to no tool and no rule: those of toolrt.yaml, and what policy
files say for all their rules.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.expressions.references import REFERENCE
from toolrt.loading.loader import WrittenPolicies
from toolrt.reloading.differences import Difference, Mask, differences

ADDED, REMOVED = "added", "removed"
"""How an identity changed that was not there, or is there no more."""

_OF_FILES = ("approval", "limits")
_NEVER_SHOWN = frozenset({"token_hash", "key"})

Files = Mapping[str, WrittenPolicies]


def project_keys(old: Any, new: Any, mask: Mask) -> Iterator[Difference]:
    """What differs between two project files, as data; identities by their principals."""
    before, after = _by_name(old), _by_name(new)
    people = before.pop("identities", {}), after.pop("identities", {})
    for name, how in [*differences(before, after, mask), *_of_people(*people, mask)]:
        yield name, "" if name.rpartition(".")[2] in _NEVER_SHOWN or REFERENCE.search(how) else how


def _of_people(old: Any, new: Any, mask: Mask) -> Iterator[Difference]:
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            yield f"identities.{name}", ADDED if name in new else REMOVED
            continue
        yield from differences(old[name], new[name], mask, ("identities", name))


def _by_name(data: Any) -> dict[str, Any]:
    """The keys of a project file that something reads, with its identities by name."""
    made = {key: value for key, value in (data or {}).items() if not key.startswith("x-")}
    people: dict[str, Any] = {}
    for each in made.get("identities") or ():
        name, number = str(each["principal"]), 2
        while name in people:
            name, number = f"{each['principal']}.{number}", number + 1
        people[name] = each
    return {**made, "identities": people}


def file_keys(old: Files, new: Files, mask: Mask) -> Iterator[Difference]:
    """What differs in keys that hold for all rules of a file."""
    for file in sorted({*old, *new}):
        for name, how in differences(_of_file(old.get(file)), _of_file(new.get(file)), mask):
            yield f"{file} {name}", how


def _of_file(written: WrittenPolicies | None) -> dict[str, Any]:
    data = written.document.data if written is not None else {}
    return {key: data[key] for key in _OF_FILES if data.get(key) is not None}
