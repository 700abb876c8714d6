"""Rules as they are written, those with faults included: what is right about one is checked too.

Whoever mends a rule should read once all that is wrong with it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from toolrt.core.faults import Fault, child
from toolrt.core.faults import Path as FaultPath
from toolrt.loading.problems import mended, spelt
from toolrt.loading.reader import Document
from toolrt.loading.validation import validated
from toolrt.manifest.policy import Rule

_STAND_INS: Mapping[str, Any] = {"id": "…", "decide": "deny", "tools": ["*"]}
"""What a rule must have, for one where it is missing or wrong."""
_TIMES = 2


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule to look at, as far as it can be read.

    `lacks` are the keys that have a stand-in; `has_all_tools` says that every name under `tools`
    could be read. `spelling` has the keys that are misspelt, by their right names. A rule that is
    not `is_sound` has faults, which the loader has reported.
    """

    rule: Rule
    is_sound: bool = True
    lacks: frozenset[str] = frozenset()
    has_all_tools: bool = True
    spelling: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str | None:
        return None if "id" in self.lacks else self.rule.id

    @property
    def looks_at_tools(self) -> bool:
        """Whether a condition may look at what the tools are."""
        return any("tool" in (each or "") for each in (self.rule.when, self.rule.unless))

    def placed(self, fault: Fault) -> Fault:
        """The fault at the key as it is spelt."""
        return fault.moved((self.spelling.get(str(fault.path[0]), fault.path[0]), *fault.path[1:]))


def read_draft(document: Document, path: FaultPath) -> Draft | None:
    """The rule at `path`; None where there is nothing to look at."""
    entry: Any = document.data
    for step in path:
        entry = child(entry, step)
    source = partial(_source_text, document, path)
    made, faults = validated(Rule, entry, source)
    if made is not None:
        return Draft(made)
    if not isinstance(entry, dict):
        return None
    kept: dict[str, Any] = mended(Rule, entry, faults)
    has_all = "tools" in kept
    odd = {key: spelt(Rule, entry, key) for key in kept if key not in entry}
    for _ in range(_TIMES):  # under its right name a value may be wrong as well
        if "tools" not in kept:
            named, has_all = _globs(entry)
            kept |= named
        made, faults = validated(Rule, {**_STAND_INS, **kept}, source)
        if made is not None:
            lacks = frozenset(_STAND_INS.keys() - kept.keys())
            return Draft(made, is_sound=False, lacks=lacks, has_all_tools=has_all, spelling=odd)
        kept = mended(Rule, kept, faults)
    return None


def _source_text(document: Document, path: FaultPath, inner: FaultPath) -> str | None:
    return document.source_text((*path, *inner))


def _globs(entry: Mapping[str, Any]) -> tuple[dict[str, list[str]], bool]:
    """What `tools` names where it is not quite a list of names; whether that is all."""
    written = child(entry, spelt(Rule, entry, "tools"))
    if isinstance(written, str):
        return {"tools": [written]}, True
    listed = written if isinstance(written, list) else []
    globs = [each for each in listed if isinstance(each, str)]
    return {"tools": globs} if globs else {}, False


Read = Callable[[], Draft | None]
