"""Faults that are only the shadow of another one: they would send people to the wrong place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolrt.catalog.implementation import Implementation
from toolrt.core.faults import Fault, child
from toolrt.loading.layers import Layered
from toolrt.loading.loader import LoadedFiles


@dataclass(frozen=True, slots=True)
class Shadows:
    """What is known when a kind reports on one tool; `faults` are those found so far."""

    files: LoadedFiles
    layered: Layered
    made: Implementation
    faults: Sequence[Fault]

    def is_explained(self, fault: Fault) -> bool:
        """Whether a fault of the kind is only the shadow of something that is known elsewhere."""
        made = self.made
        if made.is_mended and self._names_wrong_option(fault):
            return True
        if fault.code == "unknown-target":
            target = child(self.layered.merged[str(fault.path[0])], "target")
            return self.files.is_broken_target(target)
        if fault.code == "no-target":
            return self._may_have_default()
        wrong = [one for one in self.faults if one.path[: len(fault.path)] == fault.path]
        if fault.code == "signature-drift":
            return len(fault.path) > 1 and any(one.severity == "error" for one in wrong)
        if fault.code != "unused-parameter":
            return False
        return bool(wrong) or made.is_mended or self._names_elsewhere(str(fault.path[-1]))

    def _may_have_default(self) -> bool:
        """Whether defaults for the kind are written somewhere, but wrong."""
        broken, kind = self.files.broken_defaults, self.made.kind.name
        is_wrong = any((one.document.file, kind) in broken for one in self.layered.layers)
        return is_wrong or not self.files.knows.defaults

    def _names_wrong_option(self, fault: Fault) -> bool:
        """Whether a fault is about an option of the kind that was left out, being wrong itself."""
        kind = self.made.kind.name
        paths = (one.path for one in self.faults if one.path[:1] == (kind,))
        said = f"{fault.message} {fault.hint}"
        return any(f"`{path[1]}`" in said for path in paths if len(path) > 1)

    def _names_elsewhere(self, parameter: str) -> bool:
        """Whether an expression outside of the kind's options names the parameter."""
        keys = ("result", "reject", "retry", "idempotency_key", "verify", "fallback", "poll")
        places = [self.layered.merged.get(key) for key in keys]
        return re.search(rf"\b{re.escape(parameter)}\b", repr(places)) is not None
