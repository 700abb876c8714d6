"""The lasting key is gone, or another one lies in its place: nothing is made anew (A3, A20, A21)."""

import logging

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import ToolrtError
from toolrt.stores.base import StoreError
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

FILES = {
    "tools.d/t.yaml": """\
tools:
  look:
    description: Look.
    command: [echo, seen]
    effect: read
  pay:
    description: Pay.
    parameters: {n: {type: integer, default: 1}}
    command: [echo, "{{ n }}"]
    effect: write
    hitl: confirm
""",
}
ANN = Caller("ann", may=frozenset({"call", "approve"}))


@pytest.fixture
async def used(anyio_backend, tmp_path):
    """A project that has been used; nobody has it open."""
    root = write_files(tmp_path, FILES)
    async with toolrt.open(root) as runtime:
        await runtime.call("look", {}, ANN)
        await runtime.call("pay", {}, ANN)
    return root


def gone(root):
    (root / ".toolrt" / "key").unlink()


def another(root):
    (root / ".toolrt" / "key").write_text("ab" * 32)


@pytest.mark.parametrize("lose", [gone, another])
async def test_a21_without_the_key_an_ask_ends_in_deny_and_a_read_goes_on(used, lose, caplog):
    lose(used)
    async with toolrt.open(used) as runtime:
        assert (await runtime.call("look", {}, ANN)).status == "success"
        asked = await runtime.call("pay", {"n": 2}, ANN)
        assert (asked.status, asked.error.code) == ("error", "approval-unavailable")
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert any("the journal waits" in each and "move" in each for each in told)
    assert any("entries of the journal are lost" in each for each in told)
    assert (used / ".toolrt" / "key").exists() is (lose is another)


async def test_a20_without_the_key_nothing_is_verified_and_the_next_step_is_told(used):
    gone(used)
    async with toolrt.open(used) as runtime:
        with pytest.raises(StoreError) as caught:
            await runtime._state.memory.journal.records.verify()
    assert "key" in caught.value.message
    assert "move" in caught.value.hint
    assert not (used / ".toolrt" / "key").exists()


async def test_a20_another_key_is_one_fault_and_not_one_a_row(used):
    another(used)
    async with toolrt.open(used) as runtime:
        [fault] = (await runtime._state.memory.journal.records.verify()).faults
    assert fault.reason.startswith("it was sealed with another key")


async def test_a20_with_the_store_moved_away_a_key_is_made(used):
    gone(used)
    for each in (used / ".toolrt").iterdir():
        each.rename(used / each.name)
    async with toolrt.open(used) as runtime:
        assert (await runtime.call("pay", {}, ANN)).status == "paused"
    assert (used / ".toolrt" / "key").exists()


async def test_a20_a_store_that_was_only_looked_at_needs_no_key(tmp_path):
    root = write_files(tmp_path, FILES)
    async with toolrt.open(root) as runtime:
        assert await runtime.approvals.listed() == []
    assert not (root / ".toolrt" / "key").exists()
    async with toolrt.open(root) as runtime:
        assert (await runtime.call("pay", {}, ANN)).status == "paused"


async def test_a21_nobody_decides_without_the_key(used):
    async with toolrt.open(used) as runtime:
        [record] = await runtime.approvals.listed()
    gone(used)
    async with toolrt.open(used) as runtime:
        with pytest.raises(ToolrtError):
            await runtime.approvals.approve(record.id, ANN)
        assert (await runtime.approvals.get(record.id)).state == "pending"
