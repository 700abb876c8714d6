"""Standing yeses: scoped, counted, soon over."""

from dataclasses import replace

import pytest
from approval_desk import FOUR_EYES, TERMS

from toolrt.core.decisions import Group
from toolrt.core.errors import RefusedError
from toolrt.stores import grants
from toolrt.stores.base import ForbiddenChangeError

pytestmark = pytest.mark.anyio

OPEN = {"mode": "confirm", "groups": (Group(),), "scopes": ("once", "pattern")}


async def test_a11_a_grant_lets_a_matching_call_through_and_counts_it(desk):
    grant = await desk.grant(max_uses=2)

    assert (await desk.use()).uses == 1
    assert (await desk.use()).uses == 2
    assert await desk.use() is None
    assert desk.events == ["granted", "used", "used"]
    kept = await desk.database.read(lambda session: grants.get(session, grant.id))
    assert kept.uses == 2


@pytest.mark.parametrize(
    "other",
    [{"tool_hash": "tool-2"}, {"principal": "eve"}, {"tenant": "acme"}],
    ids=["a tool that has changed", "another caller", "another tenant"],
)
async def test_a11_a_grant_is_bound_to(desk, other):
    await desk.grant()

    assert await desk.use(**other) is None


async def test_a11_a_grant_for_a_session_holds_in_that_one_only(desk):
    await desk.grant(scope="session", session="s1")

    assert await desk.use(session="s2") is None
    assert await desk.use(session=None) is None
    assert await desk.use(session="s1") is not None


async def test_a11_a_pattern_holds_in_every_session(desk):
    await desk.grant(session="s1")

    assert await desk.use(session="s2") is not None


@pytest.mark.parametrize(
    ("pattern", "arguments", "is_match"),
    [
        ({}, {}, True),
        ({}, {"a": "1"}, False),
        ({"a": None}, {"a": "1"}, True),
        ({"a": None}, {}, True),
        ({"a": None}, {"a": "1", "b": "1"}, False),
        ({"a": "1"}, {"a": "1"}, True),
        ({"a": "1"}, {"a": '"1"'}, False),
        ({"a": "1"}, {"a": "true"}, False),
        ({"a": "1"}, {}, False),
        ({"a": "null"}, {"a": "null"}, True),
        ({"a": "null"}, {"a": "1"}, False),
        ({"a": '"*"'}, {"a": '"x"'}, False),
        ({"a": "1", "b": None}, {"a": "1", "b": "[1,2]"}, True),
        ({"a": "1", "b": None}, {"a": "2", "b": "[1,2]"}, False),
    ],
)
async def test_a11_a_pattern_names_every_argument(desk, pattern, arguments, is_match):
    await desk.grant(pattern=pattern)

    assert (await desk.use(arguments=arguments) is not None) == is_match


@pytest.mark.parametrize("jump_s", [-86400, 0, 86400])
async def test_a11_a_grant_is_over_when_its_time_is(desk, jump_s):
    await desk.grant(ttl_s=60)
    desk.moments.jump(jump_s)
    desk.moments.advance(59)
    assert await desk.use() is not None

    desk.moments.advance(1)
    assert await desk.use() is None


async def test_a11_after_another_boot_the_wall_clock_ends_a_grant(desk):
    await desk.grant(ttl_s=60)
    desk.moments.advance(59)
    await desk.use()
    desk.moments.reboot()
    desk.moments.jump(1)

    assert await desk.use() is None


@pytest.mark.parametrize(
    "broad",
    [
        {"ttl_s": 86401.0},
        {"ttl_s": 0.0},
        {"ttl_s": -1.0},
        {"ttl_s": float("inf")},
        {"ttl_s": float("nan")},
        {"max_uses": 0},
        {"scope": "session", "session": None},
        {"scope": "session", "session": ""},
    ],
)
async def test_a11_a_grant_that_is_too_broad_is_refused(desk, broad):
    with pytest.raises(RefusedError):
        await desk.grant(**broad)


async def test_a11_a_revoked_grant_is_over_at_once_and_for_good(desk):
    grant = await desk.grant()
    assert (await desk.revoke(grant.id[:8], "ann")).revoked_by == "ann"

    assert await desk.use() is None
    assert (await desk.revoke(grant.id, "bob")).revoked_by == "ann"
    assert desk.events == ["granted", "revoked"]


@pytest.mark.parametrize(
    "change",
    [
        "max_uses = 99",
        "uses = 0",
        "expires_s = expires_s + 60",
        "pattern = '{}'",
        "principal = 'eve'",
        "tool_hash = 'x'",
    ],
)
async def test_a11_a_grant_never_grows_whatever_the_statement(desk, change):
    await desk.grant()
    await desk.use()

    with pytest.raises(ForbiddenChangeError, match="never grows"):
        await desk.database.run(lambda session: session.change(f"UPDATE grants SET {change}"))


async def test_of_several_grants_the_one_that_ends_first_is_used(desk):
    await desk.grant(id="long", ttl_s=600.0)
    await desk.grant(id="short", ttl_s=60.0, max_uses=1)

    assert [(await desk.use()).id for _ in range(2)] == ["short", "long"]


async def test_looking_for_a_grant_uses_none(desk):
    await desk.grant(ttl_s=60.0)
    call = grants.Use("tool-1", "bot", None, "s1", {"amount": "1"}, TERMS)

    async def found():
        now = desk.moments.now()
        return await desk.database.read(lambda session: grants.matching(session, call, now))

    assert [each.uses for each in await found()] == [0]
    desk.moments.advance(60)
    assert await found() == []


@pytest.mark.parametrize(("which", "code"), [("gra", "invalid-arguments"), ("x", "not-found")])
async def test_a_part_of_an_id_must_mean_one_grant(desk, which, code):
    await desk.grant(id="grant1")
    await desk.grant(id="grant2")

    with pytest.raises(RefusedError) as caught:
        await desk.revoke(which)
    assert caught.value.code == code


async def test_a_list_shows_all_grants_the_latest_first(desk):
    await desk.grant(id="a")
    desk.moments.advance(1)
    await desk.grant(id="b")
    await desk.revoke("a")

    found = await desk.database.read(grants.listed)
    assert [each.id for each in found] == ["b", "a"]


async def test_a_list_of_what_stands_leaves_out_what_is_over_before_it_is_cut(desk):
    await desk.grant(id="a")
    await desk.grant(id="b", max_uses=1)
    for each in "cd":
        desk.moments.advance(1)
        await desk.grant(id=each, ttl_s=5)
    await desk.revoke("d")
    now = desk.moments.now()
    stand = await desk.database.read(lambda session: grants.listed(session, 3, None, now))
    desk.moments.advance(60)
    later = desk.moments.now()
    first = await desk.database.read(lambda session: grants.listed(session, 1, None, later))

    assert [each.id for each in stand] == ["c", "a", "b"]
    assert [each.id for each in first] == ["a"]


@pytest.mark.parametrize(
    "terms",
    [
        TERMS,
        replace(FOUR_EYES, scopes=("pattern",)),
        replace(TERMS, scopes=("session",)),
        replace(TERMS, scopes=("pattern",), mode="input"),
        replace(TERMS, scopes=("pattern",), groups=(Group(principals=("chief",)),)),
    ],
    ids=["once only", "two people", "of a session", "fields to fill in", "somebody else's yes"],
)
async def test_a11_a_grant_stands_on_terms_that_its_approval_met(desk, terms):
    await desk.grant()

    assert await desk.use(terms=terms) is None
    assert await desk.use(terms=replace(terms, **OPEN)) is not None


async def test_a11_a_grant_without_the_approval_that_it_came_from_lets_nothing_through(desk):
    await desk.grant(approval_id=None)

    assert await desk.use() is None
