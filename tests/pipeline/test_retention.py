"""`journal.retention` holds for finished approvals, too, and is nobody's work while calls wait."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.clock import ManualClock
from toolrt.core.errors import RefusedError
from toolrt.stores import approval_retention
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

ANN = Caller("ann", may=frozenset({"call", "approve"}))
DAY_S = 86400.0


def project(folder, retention):
    return write_files(
        folder,
        {
            "toolrt.yaml": f"journal: {{retention: {retention}}}\n" if retention else "vars: {}\n",
            "tools.d/t.yaml": """\
                tools:
                  pay:
                    description: Pay.
                    parameters: {n: integer}
                    command: [echo, "{{ n }}"]
                    hitl: confirm
                """,
        },
    )


async def denied(runtime, number):
    approval = (await runtime.call("pay", {"n": number}, ANN)).pause.approval_id
    await runtime.approvals.deny(approval, ANN)
    return approval


async def kept(runtime):
    """How many finished approvals there are, once what was noted is written."""
    await runtime._state.memory.journal.flush()
    return len(await runtime.approvals.listed(("denied",), 10_000))


@pytest.mark.parametrize(("retention", "left"), [(None, 1), ("30d", 1), ("2d", 0), ("1s", 0)])
async def test_finished_approvals_go_with_the_journal(tmp_path, retention, left):
    clock = ManualClock()
    async with toolrt.open(project(tmp_path, retention), clock=clock) as runtime:
        old = await denied(runtime, 1)
        assert await kept(runtime) == 1
        clock.advance(3 * DAY_S)
        await runtime.call("pay", {"n": 2}, ANN)
        assert await kept(runtime) == left
        if left:
            return
        with pytest.raises(RefusedError) as refused:
            await runtime.approvals.run(old)
        assert refused.value.code == "not-found"
        assert (await runtime.call("pay", {"n": 1}, ANN)).status == "paused"
        assert (await runtime._state.memory.journal.records.verify()).faults == []


async def test_whoever_opens_the_store_next_removes_what_is_old(tmp_path):
    clock = ManualClock()
    root = project(tmp_path, "2d")
    async with toolrt.open(root, clock=clock) as runtime:
        await denied(runtime, 1)
    clock.advance(3 * DAY_S)
    async with toolrt.open(root, clock=clock) as runtime:
        await runtime.call("nothing", {}, ANN)
    async with toolrt.open(root, clock=clock) as runtime:
        assert await kept(runtime) == 0


async def test_what_one_pass_leaves_goes_with_the_next_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(approval_retention, "MOST", 2)
    clock, counts = ManualClock(), []
    async with toolrt.open(project(tmp_path, "2d"), clock=clock) as runtime:
        for number in range(5):
            await denied(runtime, number)
        assert await kept(runtime) == 5
        clock.advance(3 * DAY_S)
        for _ in range(4):
            await runtime.call("nothing", {}, ANN)
            counts.append(await kept(runtime))

    assert counts == [3, 1, 0, 0]
