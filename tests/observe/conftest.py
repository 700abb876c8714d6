"""An empty folder, in memory where there is one, and a journal in it."""

import tempfile
from pathlib import Path

import pytest
from journal_desk import closed, journal_in

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path):
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as path:
        yield Path(path)


@pytest.fixture
async def journal(anyio_backend, folder):
    made = journal_in(folder)
    yield made
    await closed(made)
