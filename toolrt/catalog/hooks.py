"""`hooks` compiled: the callables that stand before and after the calls of a tool."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolrt.bindings.base import BindContext
from toolrt.bindings.python_hooks import Hook, bind_hook
from toolrt.core.faults import Fault, FaultError
from toolrt.manifest.result import Hooks as Written


@dataclass(frozen=True, slots=True)
class Hooks:
    """In the order in which they run."""

    before: tuple[Hook, ...] = ()
    after: tuple[Hook, ...] = ()


def compile_hooks(
    written: Written | None, context: BindContext, faults: list[Fault]
) -> Hooks | None:
    """Resolve the hooks of a tool; faults are at their names. None where there are none."""
    if written is None or not context.imports:
        return None
    before = _bound(written.before, "before", context, faults)
    after = _bound(written.after, "after", context, faults)
    return Hooks(before, after) if before or after else None


def _bound(
    names: Sequence[str], key: str, context: BindContext, faults: list[Fault]
) -> tuple[Hook, ...]:
    found: list[Hook] = []
    for number, name in enumerate(names):
        try:
            found.append(bind_hook(name, context))
        except FaultError as error:
            faults.extend(error.under("hooks", key, number))
    return tuple(found)
