"""What the tests of expressions share: a caller, an invocation, the names of a place."""

from collections.abc import Callable

import pytest

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.core.faults import Fault, FaultError
from toolrt.expressions.templates import Names

PARAMETERS = frozenset({"city", "days", "tags", "note", "flag", "address"})


@pytest.fixture
def names() -> Names:
    return Names(PARAMETERS, optional=frozenset({"note"}))


@pytest.fixture
def invocation() -> Invocation:
    clock = ManualClock(wall=1_700_000_000.25)
    return Invocation(
        call_id="c1",
        tool="weather.forecast",
        arguments={"city": "Tokyo", "days": 3},
        caller=Caller("ann", roles=("finance",)),
        clock=clock,
        started=clock.monotonic(),
        deadline=clock.monotonic() + 60,
    )


@pytest.fixture
def faults() -> Callable[[Callable[[], object]], list[Fault]]:
    """What a compilation complains about; none when it goes well."""

    def run(compile_it: Callable[[], object]) -> list[Fault]:
        try:
            compile_it()
        except FaultError as error:
            return list(error.faults)
        return []

    return run
