"""Pins outlive their process; what was seen first stays until somebody approves another."""

import pytest

from toolrt.stores.moments import SystemMoments
from toolrt.stores.pins import KeptPins, StoredPin
from toolrt.stores.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio

FIRST = StoredPin("files", "read", "d1", "{}")
OTHER = StoredPin("files", "read", "d2", "{}")


@pytest.fixture
async def pins(tmp_path):
    database = SqliteDatabase(tmp_path / "state.db")
    yield KeptPins(database, SystemMoments())
    await database.close()


async def test_x1_the_first_sight_stays(pins):
    await pins.keep([FIRST])
    await pins.keep([OTHER])

    assert await pins.all() == [FIRST]


async def test_what_is_approved_takes_its_place(pins):
    await pins.keep([FIRST])
    await pins.replace([OTHER])

    assert await pins.all() == [OTHER]


async def test_nothing_is_kept_of_nothing(pins):
    await pins.keep([])

    assert await pins.all() == []
