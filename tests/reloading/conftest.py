import pytest
from reloading_project import Project

import toolrt
from toolrt.core.clock import ManualClock
from toolrt.testing import write_files


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def edited(tmp_path):
    """`await edited(files, (file, right, wrong), …)`: the outcome of a reload after such edits."""

    async def reload(before, *edits, accept_loss=False):
        files = {**before}
        async with toolrt.open(write_files(tmp_path, files), clock=ManualClock()) as runtime:
            for file, right, wrong in edits:
                assert right in files[file], right
                files[file] = files[file].replace(right, wrong)
            write_files(tmp_path, files)
            return await runtime.reload(accept_loss=accept_loss)

    return reload
