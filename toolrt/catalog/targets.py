"""Targets are checked once each, whoever uses them."""

from toolrt.catalog.implementation import OF_EXPRESSIONS
from toolrt.catalog.workshop import Workshop


def check_targets(workshop: Workshop) -> None:
    """Report what is wrong inside each target's own address, headers and auth."""
    if not workshop.files.targets:
        return
    from toolrt.bindings.http import check_target  # noqa: PLC0415 - only projects with targets

    for written in workshop.files.targets.values():
        context = workshop.context(f"target {written.name}")
        check_target(written.target, context)
        is_whole = written.name not in workshop.files.broken_targets
        faults = [one for one in context.faults if is_whole or one.code in OF_EXPRESSIONS]
        workshop.files.report(written.document, written.path, *faults)
