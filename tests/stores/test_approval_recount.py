"""Whose yes counts when the call is about to run (A5)."""

from dataclasses import replace

import pytest
from approval_desk import SEALS, TERMS

from toolrt.core.decisions import Group
from toolrt.stores import approval_claims
from toolrt.stores.approval_recount import counted_now

pytestmark = pytest.mark.anyio

TWO = (Group(roles=("finance",)), Group(roles=("it",)))


def without(*actors, roles=()):
    """These people may decide no more, and nobody has these roles any more."""

    def roles_now(vote):
        held = tuple(each for each in vote.roles if each not in roles)
        return None if vote.actor in actors else held

    return roles_now


@pytest.fixture
def claim(desk):
    async def once(which, roles_now):
        more = {"owner": "w1", "final_hash": "final-1", "lease_s": 30.0}
        return await desk.run(
            approval_claims.claim, which, **more, roles_now=roles_now, seals=SEALS
        )

    return once


@pytest.fixture
async def approved(desk):
    """A call that a role of each of two groups said yes to, in person."""
    asked = await desk.ask(terms=replace(TERMS, groups=TWO))
    await desk.decide(asked.id, actor="ann", roles=("finance", "staff"))
    await desk.decide(asked.id, actor="bob", roles=("it",))
    return asked.id


async def test_a8_what_all_still_stand_by_is_claimed(approved, claim):
    assert (await claim(approved, without("eve", roles=("staff",)))).record.state == "claimed"


@pytest.mark.parametrize("roles_now", [without("ann"), without(roles=("finance",))])
async def test_a5_what_lacks_a_yes_is_pending_for_its_whole_time_again(
    desk, approved, claim, roles_now
):
    desk.moments.advance(299)
    moved = await claim(approved, roles_now)

    assert (moved.code, moved.record.state) == ("conflict", "pending")
    assert moved.record.expires == desk.moments.now().plus(600.0)
    assert (moved.record.execute_by, moved.record.owner) == (None, None)
    assert desk.entries[-1]["withdrawn"] == ["ann"]
    counts = {each.actor: each.final_hash == "final-1" for each in await desk.votes(approved)}
    assert counts == {"ann": False, "bob": True}


async def test_a5_another_yes_in_its_place_is_enough(desk, approved, claim):
    await claim(approved, without("ann"))
    assert (await desk.decide(approved, actor="cid", roles=("finance",))).record.state == "approved"
    assert (await claim(approved, without("ann"))).record.state == "claimed"


async def test_a5_whoever_is_back_says_yes_once_more(desk, approved, claim):
    await claim(approved, without("ann"))
    again = await desk.decide(approved, actor="ann", roles=("finance",))
    assert (again.is_repeat, again.record.state) == (False, "approved")


async def test_a6_a_yes_that_came_too_late_to_be_used_is_not_given_more_time(desk, approved, claim):
    desk.moments.advance(301)
    moved = await claim(approved, without("ann"))
    assert (moved.code, moved.record.state) == ("approval-expired", "expired")


async def test_votes_that_count_have_the_roles_of_today(desk, approved):
    votes = counted_now(await desk.votes(approved), without("bob", roles=("staff",)))
    assert [(each.actor, each.roles) for each in votes] == [("ann", ("finance",))]
