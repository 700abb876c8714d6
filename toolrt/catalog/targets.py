"""Targets are checked once each, whoever uses them."""

from toolrt.catalog.implementation import OF_EXPRESSIONS
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault, Path


def check_targets(workshop: Workshop) -> None:
    """Report what is wrong inside each target's own address, headers and auth."""
    if not workshop.files.targets:
        return
    from toolrt.bindings.http import check_target  # noqa: PLC0415 - only projects with targets

    for written in workshop.files.targets.values():
        context = workshop.context(f"target {written.name}")
        check_target(written.target, context)
        faults = context.faults
        if written.name in workshop.files.broken_targets:
            broken = _broken_keys(workshop, written.name)
            faults = [one for one in faults if _is_its_own(one, broken)]
        workshop.files.report(written.document, written.path, *faults)


def _broken_keys(workshop: Workshop, name: str) -> set[Path]:
    """The keys of a target that were left out, in whole or in part, because they have errors."""
    paths = [one.path for one in workshop.files.findings if one.is_error]
    return {path[2:3] for path in paths if path[:2] == ("targets", name)}


def _is_its_own(fault: Fault, broken: set[Path]) -> bool:
    """Whether a fault would be there without those of the broken keys."""
    return fault.code in OF_EXPRESSIONS or (
        fault.severity == "error" and fault.path[:1] not in broken
    )
