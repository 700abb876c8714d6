"""Cookies of browsers: signed, of one server and one purpose, and over in time."""

import pytest

from toolrt.core.calls import Caller
from toolrt.faces.http.access import Known
from toolrt.faces.http.sessions import Sessions

ANN = Known(Caller("ann"), proof="proof-of-ann")


def head(header: str) -> dict[bytes, bytes]:
    """What a browser sends back."""
    return {b"cookie": f"other=1; {header.partition(';')[0]}".encode()}


def test_a_cookie_leads_back_to_its_session() -> None:
    sessions = Sessions(b"s" * 32, "toolrt", is_secure=False)
    session = sessions.new(ANN)

    assert sessions.read(head(sessions.cookie(session))) == session
    assert session.proof == "proof-of-ann"


def test_over_https_it_belongs_to_this_host_and_no_other() -> None:
    sessions = Sessions(b"s" * 32, "toolrt", is_secure=True)
    header = sessions.cookie(sessions.new(ANN))

    assert header.startswith("__Host-toolrt=")
    assert header.endswith("; HttpOnly; SameSite=Strict; Secure")


@pytest.mark.parametrize(
    "other",
    [
        Sessions(b"t" * 32, "toolrt", is_secure=False),
        Sessions(b"s" * 32, "toolrt-visit", is_secure=False),
    ],
)
def test_a_cookie_of_another_server_or_purpose_is_none(other: Sessions) -> None:
    sessions = Sessions(b"s" * 32, "toolrt", is_secure=False)
    value = other.cookie(other.new(ANN)).partition("=")[2]

    assert sessions.read(head(f"toolrt={value}")) is None


def test_it_ends_with_the_token_that_it_was_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(b"s" * 32, "toolrt", is_secure=False)
    monkeypatch.setattr("time.time", lambda: 1000.0)
    cookie = sessions.cookie(sessions.new(Known(ANN.caller, 1060.0, ANN.proof)))
    monkeypatch.setattr("time.time", lambda: 1059.0)
    before = sessions.read(head(cookie))
    monkeypatch.setattr("time.time", lambda: 1061.0)

    assert before is not None
    assert sessions.read(head(cookie)) is None


def test_a_form_belongs_to_one_session() -> None:
    sessions = Sessions(b"s" * 32, "toolrt", is_secure=False)
    one, other = sessions.new(ANN), sessions.new(ANN)

    assert sessions.is_own_form(one, sessions.csrf(one))
    assert not sessions.is_own_form(other, sessions.csrf(one))
    assert not sessions.is_own_form(one, None)
