"""steps: a plan is run here, step by step, in place of an attempt at a binding."""

from toolrt.catalog.snapshot import ToolEntry
from toolrt.pipeline.stage import Chain, Equipment


def steps(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Run the steps of a plan; absent for every other tool."""
    if not hasattr(entry.binding, "steps_of"):
        return following
    if hasattr(entry.binding, "analyst"):
        from toolrt.pipeline.planning import Planning  # noqa: PLC0415 - few projects have it

        return Planning(entry, equipment).handle
    from toolrt.pipeline.executing import Stepping  # noqa: PLC0415 - few tools are plans

    return Stepping(entry, equipment).handle
