"""What an approval still needs, in words."""

import pytest

from toolrt.core.calls import Caller
from toolrt.core.decisions import Ask, Group, Need
from toolrt.policy.needs import awaits, told

FINANCE = Group(("finance",), ("ann",), 2)
STRICT = Need(FINANCE, ("huge",), (), is_strict=True)


def need(*said, count=1, strict=False):
    return Need(Group(("finance",), (), count), ("huge",), said, strict)


@pytest.mark.parametrize(
    ("given", "me", "said"),
    [
        (Need(Group()), None, "a yes of anybody who may approve"),
        (Need(Group(count=0)), None, "a yes of anybody who may approve"),
        (STRICT, None, "2 yeses of role finance or ann (not the requester)"),
        (STRICT, "bot", "2 yeses of role finance or ann (not you, who asked)"),
        (need("ben"), None, "a yes of role finance: given"),
        (need("ben", "cid", count=2), None, "2 yeses of role finance: given"),
        (
            need("ben", count=2, strict=True),
            "ben",
            "1 of 2 yeses; another is needed, of role finance (not you, not the requester)",
        ),
        (
            need("ben", count=3),
            "cid",
            "1 of 3 yeses; 2 more are needed, of role finance (not ben)",
        ),
    ],
)
def test_a_need_says_how_many_there_are_and_whose_is_missing(given, me, said):
    assert told(given, "bot", me) == said


def test_where_several_ask_a_need_says_for_whom():
    asks = (Ask("huge"), Ask(None))
    both = Need(Group(), ("huge", None))
    assert told(need(), "bot", of=asks) == "a yes of role finance, for rule `huge`"
    assert told(both, "bot", of=asks).endswith(", for rule `huge` and the tool itself")
    assert told(need(), "bot", of=asks[:1]) == "a yes of role finance"


def person(name, *roles, may=("approve",)):
    return Caller(name, roles, may=frozenset(may))


def test_nobody_is_awaited_twice_and_no_requester_where_four_eyes_look():
    assert awaits(need("ben", count=2), "bot", person("cid", "finance"))
    assert not awaits(need("ben", count=2), "bot", person("ben", "finance"))
    assert not awaits(need("ben"), "bot", person("cid", "finance"))
    assert awaits(need(), "bot", person("bot", "finance"))
    assert not awaits(need(strict=True), "bot", person("bot", "finance"))


def test_nobody_is_awaited_whose_yes_would_be_refused():
    assert not awaits(need(), "bot", person("cid", "it"))
    assert not awaits(need(), "bot", person("cid", "finance", may=("call", "admin")))
    assert awaits(Need(Group()), "bot", person("cid"))
