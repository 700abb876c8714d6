"""What approvals add up to; `tests/pipeline/test_metrics_page` has more of them."""

import pytest

from toolrt.stores.approval_sums import Sums, sums

pytestmark = pytest.mark.anyio


async def test_a_store_without_approvals_adds_up_to_nothing(database):
    assert await database.read(sums) == Sums({}, {}, None)
