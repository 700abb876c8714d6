"""An invocation is the same whichever way it is made."""

from dataclasses import fields
from types import SimpleNamespace

from toolrt.core.calls import Caller, Invocation, apart, begun


def test_one_that_is_made_sooner_lacks_nothing():
    caller, clock = Caller("ann"), SimpleNamespace()
    slow = Invocation("c-7", "look", {"a": 1}, caller, clock, 1.0, 1.0, 3, print, 7)
    fast = begun("c-7", "look", {"a": 1}, caller, clock, 1.0, 3, print, 7)

    names = [each.name for each in fields(Invocation) if each.init]
    assert [getattr(fast, name) for name in names] == [getattr(slow, name) for name in names]
    assert isinstance(fast, Invocation)
    assert repr(fast).partition("(")[2] == repr(slow).partition("(")[2]


def test_one_for_what_is_done_beside_shares_no_progress():
    one = begun("c-7", "look", {"a": 1}, Caller("ann"), SimpleNamespace(), 1.0, 3, None, 7)
    one.kept, one.sent = b"body", "maybe"

    beside = apart(one)
    beside.sent, beside.is_orphaned = "answered", True

    assert (beside.call_id, beside.arguments) == ("c-7", {"a": 1})
    assert (one.sent, one.is_orphaned, beside.kept) == ("maybe", False, None)
