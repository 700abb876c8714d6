"""A secret that is too short to be masked: told where it is first named, once all are compiled.

Only secrets that are at hand are looked at; no command is run for it.
"""

from collections.abc import Mapping

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.disguises import SHORTEST
from toolrt.core.faults import Fault
from toolrt.expressions.references import Reference, References
from toolrt.loading.loader import LoadedFiles

_HINT = "choose a longer one: answers, logs and records show it as it is"


def check_secrets(
    files: LoadedFiles, entries: Mapping[str, ToolEntry], references: References
) -> None:
    """Warn of each `${secret:…}` whose value is shorter than what is masked, without saying it."""
    seen: set[Reference] = set()
    for entry in entries.values():
        for reference in entry.references:
            if reference not in seen and references.is_short(reference):
                message = f"{reference} has fewer than {SHORTEST} characters, and is not masked"
                fault = Fault("weak-secret", message, (), _HINT, "warning", on_key=True)
                files.report_layered(entry.path, entry.layered, [fault])
            seen.add(reference)
