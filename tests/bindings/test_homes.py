import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.children import Workbench
from toolrt.bindings.homes import Homes
from toolrt.core.errors import BindingError

pytestmark = pytest.mark.anyio
TOUCH = 'printf %s "$HOME"; ls -A "$HOME" >&2; echo x > ~/.rc'


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
async def bench(tmp_path, temporary):
    bench = Workbench(tmp_path)
    yield bench
    await bench.close()
    assert list(temporary.iterdir()) == []


def mode(path):
    return Path(path).stat().st_mode


def is_there(path):
    return os.path.lexists(path)


def names_in(folder):
    return [each.name for each in folder.iterdir()]


def remove(*folders):
    for each in folders:
        each.rmdir()


async def written(file):
    for _ in range(500):
        if file.exists() and file.read_text():
            return
        await asyncio.sleep(0.01)


async def emptied(folder):
    for _ in range(200):
        if not names_in(folder):
            return True
        await asyncio.sleep(0.01)
    return False


async def gone(path):
    for _ in range(200):
        if not is_there(path):
            return True
        await asyncio.sleep(0.01)
    return False


async def test_s5_what_one_run_leaves_at_home_never_reaches_the_next(bench):
    tool = bench.shell(TOUCH)
    homes = [await tool.value() for _ in range(3)]
    assert len(set(homes)) == 3
    assert all([await gone(home) for home in homes])


async def test_s5_runs_at_the_same_time_have_a_home_each(bench):
    tool = bench.shell('printf %s "$HOME"; sleep 0.1; ls -A ~')
    homes = await asyncio.gather(*(tool.value() for _ in range(5)))
    assert len(set(homes)) == 5


LINGERS = {
    "in it": """cd "$HOME"; (until [ -e "$OLDPWD/go" ]; do sleep 0.01; done
                 echo x > .gitconfig; echo $? > "$OLDPWD/tried") >/dev/null 2>&1 &""",
    "holding it open": """(exec 3<"$HOME"; until [ -e go ]; do sleep 0.01; done
                 echo x > /proc/self/fd/3/.gitconfig; echo $? > tried) >/dev/null 2>&1 &""",
    "knowing its name": """(until [ -e go ]; do sleep 0.01; done
                 mkdir -p "$HOME"; echo x > "$HOME/.gitconfig"; echo $? > tried) >/dev/null 2>&1 &""",
}


@pytest.mark.parametrize("script", LINGERS.values(), ids=LINGERS)
async def test_s5_what_outlives_its_run_in_its_home_leaves_nothing_in_that_of_another(
    bench, script
):
    await bench.shell(script).value()
    looks = """touch go; until [ -s tried ]; do sleep 0.01; done; ls -A "$HOME" """
    assert await bench.shell(looks).value() == ""


async def test_the_homes_of_runs_that_started_others_go_while_the_next_ones_run(bench):
    tool = bench.shell('printf %s "$HOME" | cat')
    homes = [await tool.value() for _ in range(5)]
    assert len(set(homes)) == 5
    assert await emptied(Path(homes[0]).parent)


async def test_a_home_is_kept_where_it_is_empty_and_no_process_can_be_left(bench):
    tool = bench.command("printenv", "HOME")
    homes = [await tool.value() for _ in range(50)]  # unless others start processes all the time
    assert len(set(homes)) < 50


async def test_s5_what_a_run_without_any_other_process_leaves_goes_with_its_home(temporary):
    homes = Homes()
    empty, full = Path(homes.lend()), Path(homes.lend())
    (full / ".rc").touch()
    for home in (empty, full):
        homes.lend_again(str(home))
    assert await gone(full)
    assert homes.lend() == str(empty)
    (empty / ".rc").touch()
    homes.lend_again(str(empty))
    assert homes.lend() != str(empty)
    assert await gone(empty)
    await homes.close()


@pytest.mark.parametrize(
    "spoiling",
    ["chmod 500 ~", "rmdir ~", 'rmdir ~; ln -s "$PWD/kept" ~', "mkdir ~/a; ln -s $PWD/kept ~/a"],
)
async def test_s5_a_home_that_was_changed_goes_and_what_it_links_to_stays(bench, spoiling):
    kept = bench.project / "kept"
    (kept / "inner").mkdir(parents=True)
    (kept / "inner" / "file").write_text("x")
    before = [each.stat().st_mode for each in (kept, kept / "inner")]
    home = await bench.shell(f'printf %s "$HOME"; {spoiling}').value()
    assert await bench.shell('printf %s "$HOME"').value() != home
    assert await gone(home)
    assert (kept / "inner" / "file").read_text() == "x"
    assert [each.stat().st_mode for each in (kept, kept / "inner")] == before


async def test_a_run_that_is_cancelled_gives_its_home_back_later(bench, monkeypatch):
    monkeypatch.setattr("toolrt.bindings.homes._LATER_S", 0.05)
    marker = bench.project / "home"
    tool = bench.shell('printf %s "$HOME" > home; echo x > ~/.rc; sleep 30')
    task = asyncio.ensure_future(tool.call())
    await written(marker)
    task.cancel()
    await asyncio.wait([task])
    assert await gone(marker.read_text())


async def test_a_run_that_never_started_gives_its_home_back(bench):
    tool = bench.command("ls", "{{ v }}", v={"type": "string"})
    with pytest.raises(Exception, match="must not start"):
        await tool.call(v="-x")
    home = Path(await bench.shell('printf %s "$HOME" | cat').value())
    assert await emptied(home.parent)


async def test_a_written_home_is_used_and_none_is_made(bench, temporary):
    tool = bench.shell('printf %s "$HOME"', {"env": {"HOME": "/nowhere"}})
    assert await tool.value() == "/nowhere"
    assert list(temporary.iterdir()) == []


async def test_homes_survive_somebody_who_cleans_up(temporary):
    homes = Homes()
    home = homes.lend()
    homes.take_back(home)
    remove(Path(home), Path(home).parent)
    again = homes.lend()
    assert mode(again) == 0o40700
    await homes.close()
    assert list(temporary.iterdir()) == []


async def test_no_place_for_a_home_is_told_to_the_operator(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(BindingError, match="folder for temporary files") as caught:
        Homes().lend()
    assert (caught.value.code, caught.value.sent) == ("unavailable", "never")


CODE = """
import os, sys
from toolrt.bindings.homes import Homes
homes = Homes()
open(homes.lend() + "/.rc", "w").close()
if sys.argv[1:]:
    os.kill(os.getpid(), int(sys.argv[1]))
"""


def test_homes_go_when_the_process_exits_and_after_it_was_killed(temporary):
    env = {"TMPDIR": str(temporary), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", CODE], env=env, check=True)
    assert list(temporary.iterdir()) == []
    killed = [sys.executable, "-c", CODE, str(int(signal.SIGKILL))]
    assert subprocess.run(killed, env=env, check=False).returncode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    live, other = Homes(), Homes()
    mine = live.lend()
    assert asyncio.run(gone(left))
    other.lend()
    time.sleep(0.05)
    assert Path(mine).exists()
    for homes in (live, other):
        asyncio.run(homes.close())


async def test_s5_no_folder_is_lent_twice(temporary):
    """What still runs may hold it open under whatever name it goes."""
    homes = Homes()
    first = Path(homes.lend())
    held = os.open(first, os.O_DIRECTORY)
    homes.take_back(str(first))
    second = Path(homes.lend())
    assert not os.path.samestat(os.fstat(held), os.lstat(second))
    assert (mode(second), names_in(second)) == (0o40700, [])
    os.close(held)
    await homes.close()
    assert list(temporary.iterdir()) == []


async def test_s5_a_link_in_place_of_all_homes_is_not_followed(temporary, tmp_path):
    """A run may replace the folder that its own home stands in."""
    homes = Homes()
    home = Path(homes.lend())
    base, canary = home.parent, tmp_path / "canary"
    (canary / home.name).mkdir(parents=True)
    (canary / home.name / "kept").touch()
    remove(home, base)
    base.symlink_to(canary)
    homes.take_back(str(home))
    again = Path(homes.lend())
    homes.take_back(str(again))
    assert await gone(again)
    await homes.close()

    assert again.parent != base
    assert names_in(canary) == [home.name]
    assert names_in(canary / home.name) == ["kept"]
    assert list(temporary.iterdir()) == []


async def test_s5_what_was_left_on_a_loop_that_is_gone_goes_with_the_next_return(temporary):
    homes = Homes()

    async def leave():
        home = Path(homes.lend())
        (home / ".rc").touch()
        homes.take_back(str(home))
        return home

    left = await asyncio.to_thread(lambda: asyncio.run(leave()))
    other = homes._made()
    await asyncio.sleep(0.15)
    homes.take_back(other)
    assert await gone(left)
    await homes.close()
    assert list(temporary.iterdir()) == []


def test_a_home_may_come_back_when_no_loop_runs_any_more(temporary):
    homes = Homes()
    home = Path(homes.lend())
    (home / ".rc").touch()
    homes.take_back(str(home))
    assert asyncio.run(gone(home))
    asyncio.run(homes.close())
    assert list(temporary.iterdir()) == []
