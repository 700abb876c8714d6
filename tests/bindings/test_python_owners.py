"""Objects with `setup` and `teardown`: once before the first use, and in the end (U49)."""

import asyncio
import gc

import pytest

from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

KIT = '''\
import asyncio, threading

EVENTS = []
FAILS = []

class Plain:
    def __init__(self, name="plain"):
        EVENTS.append(("made", name))
        self.name = name
        self.is_up = False
    def setup(self):
        EVENTS.append(("setup", self.name, threading.current_thread() is threading.main_thread()))
        if FAILS:
            raise FAILS.pop()
        self.is_up = True
    def teardown(self):
        EVENTS.append(("teardown", self.name))
    def use(self) -> bool:
        """Say whether it is up."""
        return self.is_up
    async def use_soon(self) -> bool:
        """Say whether it is up."""
        await asyncio.sleep(0)
        return self.is_up

class Soon(Plain):
    async def setup(self):
        await asyncio.sleep(0.01)
        EVENTS.append(("setup", self.name))
        self.is_up = True
    async def teardown(self):
        await asyncio.sleep(0)
        EVENTS.append(("teardown", self.name))
        raise ValueError("late")

class GivesUp(Plain):
    async def setup(self):
        await asyncio.sleep(0)
        if FAILS:
            raise FAILS.pop()
        self.is_up = True
    async def teardown(self):
        EVENTS.append(("teardown", self.name))
        await asyncio.sleep(0)
        raise asyncio.CancelledError

class Unlike:
    def setup(self, config):
        raise AssertionError
    def use(self) -> bool:
        """Say so."""
        return True

class Slow(Plain):
    async def setup(self):
        await asyncio.sleep(0.3)
        self.is_up = True

live = Plain("live")
EVENTS.clear()
'''
TOOL = '  {name}: {{python: {{object: "{kit}:{object}", call: {call}}}, effect: read, {more}, description: T.}}\n'


def files(kit, *tools):
    lines = "".join(
        TOOL.format(kit=kit, name=f"t{n}", object=obj, call=call, more="timeout: 5s")
        for n, (obj, call) in enumerate(tools)
    )
    return {f"{kit}.py": KIT, "tools.d/t.yaml": f"tools:\n{lines}"}


def module(name):
    import importlib

    return importlib.import_module(name)


@pytest.mark.parametrize("call", ["use", "use_soon"])
@pytest.mark.parametrize("obj", ["Plain", "Soon", "live"])
async def test_u49_setup_runs_once_before_the_first_use_and_teardown_at_the_end(obj, call):
    kit = f"kit_{obj}_{call}".lower()
    async with open_files(files(kit, (obj, call))) as rt:
        events = module(kit).EVENTS
        assert events == []
        results = await asyncio.gather(*(rt.call("t0", {}) for _ in range(20)))
        results.append(await rt.call("t0", {}))
        assert [each.data for each in results] == [True] * 21
        assert [each[0] for each in events if each[0] != "made"] == ["setup"]
    assert [each[0] for each in events if each[0] != "made"] == ["setup", "teardown"]


async def test_u49_a_plain_setup_runs_beside_the_loop():
    async with open_files(files("kit_beside", ("Plain", "use"))) as rt:
        await rt.call("t0", {})

    assert ("setup", "plain", False) in module("kit_beside").EVENTS


async def test_u49_an_object_of_two_tools_is_set_up_once():
    async with open_files(files("kit_two", ("live", "use"), ("live", "use_soon"))) as rt:
        await asyncio.gather(rt.call("t0", {}), rt.call("t1", {}))

    assert [each[0] for each in module("kit_two").EVENTS] == ["setup", "teardown"]


@pytest.mark.parametrize(
    "error",
    [ValueError("no s3at"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()],
    ids=repr,
)
async def test_u49_a_failure_is_that_calls_own_and_the_next_one_tries_again(error):
    kit = f"kit_fails_{type(error).__name__.lower()}"
    async with open_files(files(kit, ("Plain", "use"))) as rt:
        module(kit).FAILS.append(error)
        first, second = await rt.call("t0", {}), await rt.call("t0", {})

    assert (first.error.code, first.attempts) == ("unavailable", 1)
    assert "could not be set up" in first.error.message
    assert second.data is True


async def test_u49_an_object_that_gives_up_cancels_neither_a_call_nor_the_close(caplog):
    async with open_files(files("kit_gives_up", ("GivesUp", "use"))) as rt:
        module("kit_gives_up").FAILS.append(asyncio.CancelledError())
        first, second = await rt.call("t0", {}), await rt.call("t0", {})

    assert (first.error.code, second.data) == ("unavailable", True)
    assert module("kit_gives_up").EVENTS[-1] == ("teardown", "plain")
    assert "`GivesUp` could not be torn down" in caplog.text


async def test_u49_what_was_never_used_is_neither_set_up_nor_torn_down():
    async with open_files(files("kit_unused", ("live", "use"))):
        pass

    assert module("kit_unused").EVENTS == []


async def test_u49_a_setup_that_takes_something_is_the_objects_own_affair():
    async with open_files(files("kit_unlike", ("Unlike", "use"))) as rt:
        assert (await rt.call("t0", {})).data is True


async def test_u49_setup_that_is_a_tool_is_called_by_callers_alone():
    async with open_files(files("kit_own", ("live", "setup"))) as rt:
        await rt.call("t0", {})

    assert [each[0] for each in module("kit_own").EVENTS] == ["setup"]


@pytest.mark.realtime
async def test_u49_a_caller_that_leaves_takes_no_setup_with_it():
    async with open_files(files("kit_slow", ("Slow", "use"))) as rt:
        leaving = asyncio.create_task(rt.call("t0", {}))
        staying = asyncio.create_task(rt.call("t0", {}))
        await asyncio.sleep(0.1)
        leaving.cancel()
        assert (await staying).data is True


@pytest.mark.realtime
async def test_u49_teardown_runs_when_the_last_generation_with_it_is_gone(tmp_path):
    project = write_files(tmp_path, files("kit_gone", ("live", "use"), ("Unlike", "use")))
    import toolrt

    async with toolrt.open(project) as rt:
        await rt.call("t0", {})
        write_files(tmp_path, files("kit_gone", ("Unlike", "use")))
        assert (await rt.reload()).generation is not None
        await rt.call("t0", {})
        for _ in range(50):
            gc.collect()
            await asyncio.sleep(0.02)
            if ("teardown", "live") in module("kit_gone").EVENTS:
                break
        assert ("teardown", "live") in module("kit_gone").EVENTS
