"""A journal in an empty folder."""

import pytest
from journal_desk import closed, journal_in


@pytest.fixture
async def journal(anyio_backend, folder):
    made = journal_in(folder)
    yield made
    await closed(made)
