"""What callers have seen is there for the next process, for a while."""

from dataclasses import replace

import pytest

from toolrt.stores.moments import Moment
from toolrt.stores.sightings import KEPT_S, KeptSightings
from toolrt.stores.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio


class Watch:
    def __init__(self):
        self.at = Moment(1000.0, 10.0, "boot")

    def now(self):
        return self.at

    def pass_(self, seconds):
        self.at = replace(self.at, wall=self.at.wall + seconds)


@pytest.fixture
async def kept(folder):
    database, watch = SqliteDatabase(folder / "state.db"), Watch()
    yield KeptSightings(database, watch), watch
    await database.close()


async def test_what_a_session_has_seen_is_what_was_written_last(kept):
    store, _ = kept
    await store.keep({"s": {"a": "1", "b": "1"}, "t": {"a": "7"}})
    await store.keep({"s": {"a": "2"}})

    assert await store.of("s") == {"a": "2"}
    assert await store.of("t") == {"a": "7"}
    assert await store.of("u") == {}


async def test_what_was_seen_long_ago_goes(kept):
    store, watch = kept
    await store.keep({"s": {"a": "1"}})
    watch.pass_(KEPT_S + 1)
    await store.keep({"t": {"a": "1"}})

    assert (await store.of("s"), await store.of("t")) == ({}, {"a": "1"})
