"""The back ends that every contract is held against, each with an empty database."""

import pytest
from approval_desk import Desk

from toolrt.stores.sqlite import SqliteDatabase


def sqlite(folder):
    return SqliteDatabase(folder / ".toolrt" / "state.db", busy_s=0.2)


BACK_ENDS = {"sqlite": sqlite}


@pytest.fixture(params=BACK_ENDS.values(), ids=list(BACK_ENDS))
async def database(request, anyio_backend, folder):
    database = request.param(folder)
    yield database
    await database.close()


@pytest.fixture
def desk(database):
    return Desk(database)


@pytest.fixture
def moments(desk):
    return desk.moments
