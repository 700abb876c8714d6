"""`journal: {mode: sync}`: what is not only a read is recorded before it is made, or not made."""

import logging

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.stores.base import StoreError
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

TOOLS = "tools:" + "".join(
    f"""
  {name}:
    description: It does something.
    command: [touch, "{name}.done"]
    {effect}
"""
    for name, effect in (
        ("read", "effect: read"),
        ("write", "effect: write"),
        ("other", "timeout: 5s"),
    )
)
ANN = Caller("ann")


@pytest.fixture
def root(tmp_path):
    def written(mode):
        files = {"toolrt.yaml": f"journal: {{mode: {mode}}}\n", "tools.d/t.yaml": TOOLS}
        return write_files(tmp_path, files)

    return written


def broken(runtime, monkeypatch):
    async def fail(_work):
        raise StoreError("full", "the disk is full", hint="make room")

    monkeypatch.setattr(runtime._state.memory.journal._database, "run", fail)


@pytest.mark.parametrize("tool", ["write", "other"])
async def test_in_sync_what_cannot_be_recorded_is_not_made(root, tool, monkeypatch):
    async with toolrt.open(root("sync")) as runtime:
        broken(runtime, monkeypatch)
        result = await runtime.call(tool, {}, ANN)
        assert (result.status, result.error.code, result.attempts) == ("error", "unavailable", 0)
        assert "journal" in result.error.message
    assert not (runtime.project / f"{tool}.done").exists()


async def test_in_sync_a_read_goes_on_and_the_loss_is_told(root, monkeypatch, caplog):
    async with toolrt.open(root("sync")) as runtime:
        broken(runtime, monkeypatch)
        assert (await runtime.call("read", {}, ANN)).status == "success"
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert any("the disk is full" in each for each in told)
    assert any("1 entries of the journal are lost" in each for each in told)


async def test_batched_calls_go_on_as_before(root, monkeypatch):
    async with toolrt.open(root("batched")) as runtime:
        broken(runtime, monkeypatch)
        assert (await runtime.call("write", {}, ANN)).status == "success"


async def test_in_sync_the_intent_is_in_the_journal_before_the_call(root):
    async with toolrt.open(root("sync")) as runtime:
        for tool in ("write", "read"):
            await runtime.call(tool, {}, ANN)
        entries = await runtime._state.memory.journal.records.entries()
    kinds = [(each["kind"], each["tool"]) for each in reversed(entries)]
    assert kinds == [("intent", "write"), ("call", "write"), ("call", "read")]
