import asyncio
import io

import pytest

from toolrt.faces.cli import progress
from toolrt.faces.cli.progress import watched
from toolrt.faces.output import Screen


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(progress, "_AFTER_S", 0.01)
    monkeypatch.setattr(progress, "_EVERY_S", 0.01)


async def shown(monkeypatch, stream, screen, seconds=0.1):
    monkeypatch.setattr("sys.stderr", stream)
    async with watched("t.nap", screen) as watching:
        watching.report(2, 5, "half\nway \x1b[2J")
        await asyncio.sleep(seconds)
    return stream.getvalue()


@pytest.mark.anyio
async def test_a_long_call_shows_what_runs_and_what_it_says(monkeypatch, soon):
    text = await shown(monkeypatch, Terminal(), Screen())

    assert "t.nap 0 s 2 of 5 half way \\x1b[2J" in text
    assert text.endswith("\r\x1b[K")


@pytest.mark.anyio
async def test_a_short_call_shows_nothing(monkeypatch):
    assert await shown(monkeypatch, Terminal(), Screen(), seconds=0) == ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("stream", "screen"), [(io.StringIO(), Screen()), (Terminal(), Screen(is_quiet=True))]
)
async def test_nobody_to_see_it_means_nothing_is_shown(monkeypatch, soon, stream, screen):
    assert await shown(monkeypatch, stream, screen) == ""


@pytest.mark.anyio
async def test_the_line_is_cleared_when_the_call_is_cancelled(monkeypatch, soon):
    stream = Terminal()
    task = asyncio.create_task(shown(monkeypatch, stream, Screen(), seconds=9))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert stream.getvalue().endswith("\r\x1b[K")
