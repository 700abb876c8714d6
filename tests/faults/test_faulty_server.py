"""A service that fails in every way a network knows, against what the rules allow (E3 to E12)."""

import pytest

from tests.faults.faulty import FAULTS, Fault, rows_of, shown

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_service_is_asked_as_often_as_the_rules_allow_and_does_it_once(
    fault: Fault,
) -> None:
    rows = await rows_of(fault)

    print(shown(rows))  # noqa: T201 - the table is the point
    assert [row for row in rows if row.faults] == []
