"""What every test may use, and where it works: in memory, where what is written is soon safe.

The long lanes of `make soak` write much, and to the disk.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

MEMORY = Path("/dev/shm")
ROOM = 1 << 30
"""Bytes that must be free there for all that tests write."""

hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


def _heed_signals() -> None:
    """What a shell has a program in the background ignore (`make check &`, `nohup`) stays without
    effect here, but not in the programs that tests start: a handler ends where a program begins.
    """
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


_heed_signals()


def _is_good(place: Path) -> bool:
    """Whether programs may be written to it and run, and enough of them."""
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    may_run = not found.f_flag & (os.ST_RDONLY | os.ST_NOEXEC)
    return may_run and found.f_bavail * found.f_frsize >= ROOM


DISK = tempfile.gettempdir()
if not {"TMPDIR", "TOOLRT_SOAK"} & os.environ.keys() and _is_good(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # of `tmp_path`
    tempfile.tempdir = tempfile.mkdtemp(prefix="toolrt-tests-", dir=MEMORY)
    Path(tempfile.tempdir).chmod(0o711)  # some tests go there as another user


def pytest_unconfigure() -> None:
    """What tests and killed children have left goes with the run."""
    if tempfile.tempdir != DISK:
        shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is one: what is written there is soon safe."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as path:
        yield Path(path)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder on the disk, where all else that is temporary lies too: a sandbox has a /dev
    of its own, so no project may lie there.
    """
    monkeypatch.setattr(tempfile, "tempdir", DISK)
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)
