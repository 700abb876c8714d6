"""`reject` compiled: checks across parameters."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.catalog.results import compiled
from toolrt.catalog.snapshot import Rejection
from toolrt.core.faults import Fault
from toolrt.expressions.condition_domains import foregone, of_parameters
from toolrt.expressions.conditions import REJECT_ROOTS, Condition, compile_condition
from toolrt.manifest.parameters import Parameters


def compile_rejections(
    written: Any,
    parameters: Parameters,
    known_keys: Mapping[str, frozenset[str]],
    faults: list[Fault],
) -> tuple[Rejection, ...]:
    """The entries, straight as written: one at fault hides no other. Faults go to `faults`."""
    arguments = parameters.schema.get("properties", {})

    def rejection(number: int, entry: dict[str, Any]) -> Rejection | None:
        def condition() -> Condition:
            return compile_condition(entry["when"], REJECT_ROOTS, arguments, known_keys)

        found = compiled(condition, entry["when"], ("reject", number, "when"), faults)
        faults.extend(_foregone(entry["when"], arguments, number) if found else ())
        return None if found is None else Rejection(found, str(entry.get("reason")))

    made = [
        rejection(number, entry)
        for number, entry in enumerate(written if isinstance(written, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("when"), str)
    ]
    return tuple(one for one in made if one is not None)


def _foregone(when: str, arguments: Mapping[str, Any], number: int) -> Iterator[Fault]:
    """What is compared with what no caller can send."""
    found = foregone(when, dict(of_parameters(arguments)))
    return (fault.under("reject", number, "when") for fault in found)
