"""What compiling leaves to the garbage collector, which holds all calls while it looks."""

import gc

import pytest
from reloading_project import ECHO

from toolrt.bindings.base import Services
from toolrt.reloading.workspace import Workspace
from toolrt.testing import write_files


@pytest.fixture
def workspace(tmp_path):
    tools = ECHO + "".join(ECHO.partition("\n")[2].replace("echo", f"e{n}") for n in range(50))
    root = write_files(tmp_path, {"tools.d/t.yaml": tools})
    return Workspace(root, Services(root), {})


@pytest.fixture
def enabled():
    gc.unfreeze()
    gc.collect()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.fixture
def looked_at():
    """How many young objects each look for garbage began with."""
    found = []

    def begun(phase, info):
        if phase == "start" and info["generation"] == 0:
            found.append(len(gc.get_objects(generation=0)))

    gc.callbacks.append(begun)
    yield found
    gc.callbacks.remove(begun)


@pytest.mark.usefixtures("enabled")
def test_l8_no_heap_of_young_objects_is_left_for_one_long_look(workspace, looked_at):
    compiled = workspace.compile(workspace.stock())
    more = [[] for _ in range(2000)]

    assert compiled.ok
    assert len(more) == 2000
    assert looked_at
    assert max(looked_at) < 2000
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("enabled")
def test_what_somebody_has_frozen_stays_frozen(workspace):
    gc.freeze()
    frozen = gc.get_freeze_count()
    workspace.compile(workspace.stock())

    assert gc.get_freeze_count() >= frozen - 100


@pytest.mark.usefixtures("enabled")
def test_a_collector_that_is_off_stays_off(workspace):
    gc.disable()
    workspace.compile(workspace.stock())

    assert not gc.isenabled()
