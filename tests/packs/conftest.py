"""A folder with the tools over it, opened in both ways that there are."""

import pytest
from file_desk import Desk

from toolrt.packs import beneath


@pytest.fixture(params=["openat2", "step by step"])
def desk(folder, request, monkeypatch):
    if request.param == "step by step":
        monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    elif not beneath.has_openat2():
        pytest.skip("this system has no openat2")
    return Desk(folder)
