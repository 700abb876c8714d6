"""Files as editors, deployments and mounts change them, and who is asked to look."""

import asyncio
import shutil
from contextlib import aclosing, asynccontextmanager

import pytest
from reloading_project import replace

from toolrt.loading import watcher as module
from toolrt.loading.watcher import Interest, Watcher

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

SOON_S = 5.0


@pytest.fixture(autouse=True)
def _short_ticks(monkeypatch):
    monkeypatch.setattr(module, "_TICK_MS", 150)


@pytest.fixture
def root(tmp_path):
    for folder in ("tools.d", "policies.d"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools.d" / "a.yaml").write_text("tools: {}\n")
    return tmp_path


def interest(root):
    folders = [root / "tools.d", root / "policies.d"]
    files = [each for folder in folders if folder.is_dir() for each in folder.iterdir()]
    return Interest.of(folders, [root / "toolrt.yaml", *files])


@asynccontextmanager
async def watching(root):
    """`await next_ask()`: the next reason, or None when none comes."""
    asks: asyncio.Queue[str] = asyncio.Queue()

    async def listen():
        async with aclosing(Watcher(lambda: interest(root)).asks()) as heard:
            async for reason in heard:
                asks.put_nowait(reason)

    async def next_ask(within_s=SOON_S):
        try:
            return await asyncio.wait_for(asks.get(), within_s)
        except TimeoutError:
            return None

    task = asyncio.create_task(listen())
    assert await next_ask() == "watch", "what happened before anybody watched is looked for"
    try:
        yield next_ask
    finally:
        task.cancel()
        await asyncio.wait([task])


def edit(root):
    (root / "tools.d" / "a.yaml").write_text("tools: {}\n# edited\n")


def put_in_place(root):
    replace(root / "tools.d" / "a.yaml", "tools: {}\n# replaced\n")


def add(root):
    (root / "policies.d" / "new.yml").write_text("rules: []\n")


def delete(root):
    (root / "tools.d" / "a.yaml").unlink()


def rename(root):
    (root / "tools.d" / "a.yaml").rename(root / "tools.d" / "b.yaml")


def begin_a_project_file(root):
    (root / "toolrt.yaml").write_text("vars: {}\n")


def delete_a_folder(root):
    shutil.rmtree(root / "tools.d")


@pytest.mark.parametrize(
    "change",
    [edit, put_in_place, add, delete, rename, begin_a_project_file, delete_a_folder],
    ids=lambda change: change.__name__,
)
async def test_a_change_asks_once(root, change):
    async with watching(root) as next_ask:
        change(root)

        assert await next_ask() == "watch"
        if change is not delete_a_folder:
            assert await next_ask(0.5) is None


@pytest.mark.parametrize(
    "name", [".a.yaml.swp", "a.yaml~", "4913", "#a.yaml#", "a.yaml.tmp", "a.txt"]
)
async def test_l4_what_editors_leave_behind_asks_nothing(root, name):
    async with watching(root) as next_ask:
        (root / "tools.d" / name).write_text("x")
        (root / "app.log").write_text("x")
        (root / "other.yaml").write_text("x")

        assert await next_ask(0.6) is None


async def test_l3_one_who_writes_on_and_on_is_waited_for(root):
    async with watching(root) as next_ask:
        for number in range(12):
            (root / "tools.d" / "a.yaml").write_text(f"tools: {{}}\n# {number}\n")
            await asyncio.sleep(0.05)
        assert await next_ask() == "watch"
        assert await next_ask(0.5) is None


async def test_l3_but_not_for_ever(root, monkeypatch):
    monkeypatch.setattr(module, "MOST_S", 0.5)
    async with watching(root) as next_ask:
        asked = asyncio.create_task(next_ask())
        for number in range(100):
            (root / "tools.d" / "a.yaml").write_text(f"tools: {{}}\n# {number}\n")
            await asyncio.sleep(0.03)
            if asked.done():
                break
        assert await asked == "watch"
        assert number < 99


async def test_a_folder_that_was_made_again_is_watched_again(root):
    async with watching(root) as next_ask:
        shutil.rmtree(root / "tools.d")
        assert await next_ask() == "watch"
        (root / "tools.d").mkdir()
        assert await next_ask() == "watch"
        await asyncio.sleep(0.3)
        while await next_ask(0.5):
            pass
        (root / "tools.d" / "again.yaml").write_text("tools: {}\n")
        assert await next_ask() == "watch"


async def test_a_folder_that_was_replaced_by_another_is_watched(root):
    async with watching(root) as next_ask:
        (root / "next").mkdir()
        (root / "tools.d").rename(root / "old")
        (root / "next").rename(root / "tools.d")
        assert await next_ask() == "watch"
        while await next_ask(1.2):
            pass
        (root / "tools.d" / "again.yaml").write_text("tools: {}\n")
        assert await next_ask() == "watch"


async def test_l4_a_mounted_config_map_is_followed(tmp_path):
    mount = tmp_path / "tools.d"
    for version in ("..2026_1", "..2026_2"):
        (mount / version).mkdir(parents=True)
        (mount / version / "a.yaml").write_text(f"tools: {{}} # {version}\n")
    (mount / "..data").symlink_to("..2026_1")
    (mount / "a.yaml").symlink_to("..data/a.yaml")
    async with watching(tmp_path) as next_ask:
        (mount / "..data_tmp").symlink_to("..2026_2")
        (mount / "..data_tmp").replace(mount / "..data")

        assert await next_ask() == "watch"
        assert "2026_2" in (mount / "a.yaml").read_text()


async def test_a_file_behind_a_link_is_watched_where_it_is(root, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "shared.yaml"
    elsewhere.write_text("tools: {}\n")
    (root / "tools.d" / "link.yaml").symlink_to(elsewhere)
    async with watching(root) as next_ask:
        elsewhere.write_text("tools: {}\n# more\n")

        assert await next_ask() == "watch"


async def test_l4_a_look_now_and_then_needs_no_news(root, monkeypatch):
    monkeypatch.setattr(module, "POLL_S", 0.1)
    async with watching(root) as next_ask:
        assert await next_ask() == "poll"


async def test_without_a_way_to_watch_there_is_still_a_look_now_and_then(root, monkeypatch, caplog):
    def refuses(*_folders, **_options):
        raise OSError("no more watches")

    monkeypatch.setattr("watchfiles.awatch", refuses)
    monkeypatch.setattr(module, "POLL_S", 0.1)
    async with watching(root) as next_ask:
        assert await next_ask() == "watch"
        assert "no more watches" in caplog.text
