"""Deciding: one winner, four eyes, edits, and a second look."""

from dataclasses import replace

import pytest
from approval_desk import FOUR_EYES, SEALS, TERMS

from toolrt.core.decisions import Group
from toolrt.stores.approval_decisions import Reasked, reopen

pytestmark = pytest.mark.anyio


async def test_a2_one_yes_approves_and_one_no_denies(desk):
    first, second = await desk.ask("1"), await desk.ask("2")

    assert (await desk.decide(first.id)).record.state == "approved"
    assert (await desk.decide(second.id, "deny")).record.state == "denied"
    assert (await desk.get(first.id)).execute_by == desk.moments.now().plus(300)
    assert (await desk.get(second.id)).ended == desk.moments.now()


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_a3_the_loser_is_told_the_decision_its_actor_and_its_time(desk, verdict):
    asked = await desk.ask()
    won_at = desk.moments.now().wall
    await desk.decide(asked.id, verdict, "ann")
    desk.moments.advance(5)

    lost = await desk.decide(asked.id, "approve", "bob")
    assert lost.code == "already-decided"
    assert not lost.is_done
    assert (lost.earlier.verdict, lost.earlier.actor, lost.earlier.at) == (verdict, "ann", won_at)
    assert [vote.actor for vote in await desk.votes(asked.id)] == ["ann"]
    assert desk.events == ["asked", "decided"]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_a3_the_same_by_the_same_actor_is_a_success(desk, verdict):
    asked = await desk.ask()
    await desk.decide(asked.id, verdict)

    again = await desk.decide(asked.id, verdict)
    assert again.is_done
    assert again.is_repeat
    assert desk.events == ["asked", "decided"]


async def test_a3_the_same_is_a_success_even_once_it_runs(desk):
    asked = await desk.ask()
    await desk.decide(asked.id)
    await desk.claim(asked.id)
    assert (await desk.decide(asked.id)).is_repeat

    await desk.settle(asked.id)
    assert (await desk.decide(asked.id)).is_repeat


@pytest.mark.parametrize(("first", "second"), [("approve", "deny"), ("deny", "approve")])
async def test_a3_something_else_by_the_same_actor_is_a_conflict(desk, first, second):
    asked = await desk.ask()
    await desk.decide(asked.id, first)

    lost = await desk.decide(asked.id, second)
    assert lost.code == "already-decided"
    assert lost.earlier.verdict == first


async def test_a3_a_change_of_mind_while_others_are_awaited_is_a_conflict(desk):
    asked = await desk.ask(terms=FOUR_EYES)
    await desk.decide(asked.id)

    lost = await desk.decide(asked.id, "deny")
    assert lost.code == "already-decided"
    assert (lost.earlier.actor, lost.earlier.verdict) == ("ann", "approve")
    assert lost.record.state == "pending"


async def test_a10_two_different_people_are_needed_where_two_are_asked_for(desk):
    asked = await desk.ask(terms=FOUR_EYES)

    assert (await desk.decide(asked.id, actor="ann")).record.state == "pending"
    again = await desk.decide(asked.id, actor="ann")
    assert again.is_repeat
    assert again.record.state == "pending"
    assert (await desk.decide(asked.id, actor="bob")).record.state == "approved"
    assert [vote.actor for vote in await desk.votes(asked.id)] == ["ann", "bob"]


async def test_a10_any_deny_ends_it(desk):
    asked = await desk.ask(terms=FOUR_EYES)
    await desk.decide(asked.id, actor="ann")

    assert (await desk.decide(asked.id, "deny", "bob")).record.state == "denied"
    late = await desk.decide(asked.id, actor="cy")
    assert late.code == "already-decided"
    assert late.earlier.actor == "bob"


@pytest.mark.parametrize("terms", [FOUR_EYES, replace(TERMS, exclude_requester=True)])
async def test_a10_whoever_asked_does_not_decide_where_four_eyes_do(desk, terms):
    asked = await desk.ask(terms=terms)

    for verdict in ("approve", "deny"):
        assert (await desk.decide(asked.id, verdict, "bot")).code == "access-denied"
        agent = await desk.decide(asked.id, verdict, "agent-7", agents={"agent-7"})
        assert agent.code == "access-denied"
    assert await desk.votes(asked.id) == []
    assert desk.events == ["asked"]


async def test_a10_whoever_asked_decides_where_nobody_forbids_it(desk):
    asked = await desk.ask()

    assert (await desk.decide(asked.id, actor="bot")).record.state == "approved"


async def test_a10_only_those_named_decide_whatever_they_say(desk):
    asked = await desk.ask(terms=replace(TERMS, groups=(Group(roles=("finance",)),)))

    for verdict in ("approve", "deny"):
        assert (await desk.decide(asked.id, verdict, roles=("sales",))).code == "access-denied"
    assert (await desk.decide(asked.id, roles=("finance",))).record.state == "approved"


@pytest.mark.parametrize("channel", ["agent", "", "mcp"])
async def test_a17_the_agents_own_channel_never_decides(desk, channel):
    asked = await desk.ask()

    for verdict in ("approve", "deny"):
        assert (await desk.decide(asked.id, verdict, channel=channel)).code == "access-denied"
    assert (await desk.edit(asked.id, channel=channel)).code == "access-denied"
    assert await desk.state(asked.id) == "pending"


async def test_a17_one_who_may_not_decide_learns_nothing_of_who_did(desk):
    asked = await desk.ask(terms=replace(TERMS, groups=(Group(principals=("ann",)),)))
    await desk.decide(asked.id)

    refused = await desk.decide(asked.id, actor="eve")
    assert refused.code == "access-denied"
    assert refused.earlier is None


async def test_a6_a_decision_at_the_deadline_is_too_late_though_nobody_has_swept(desk):
    in_time, late = await desk.ask("1"), await desk.ask("2")
    desk.moments.advance(599.9)
    assert (await desk.decide(in_time.id)).is_done

    desk.moments.advance(0.1)
    refused = await desk.decide(late.id)
    assert refused.code == "approval-expired"
    assert refused.record.state == "expired"
    assert await desk.state(late.id) == "expired"
    assert desk.events == ["asked", "asked", "decided", "expired"]


@pytest.mark.parametrize("jump_s", [-7200, -86400 * 365])
async def test_a6_a_wall_clock_moved_back_revives_nothing(desk, jump_s):
    asked = await desk.ask()
    desk.moments.advance(600)
    desk.moments.jump(jump_s)

    assert (await desk.decide(asked.id)).code == "approval-expired"


async def test_a6_a_wall_clock_moved_forward_shortens_nothing_in_the_same_boot(desk):
    asked = await desk.ask()
    desk.moments.jump(86400 * 365)
    desk.moments.advance(599)

    assert (await desk.decide(asked.id)).is_done


async def test_a6_after_another_boot_the_wall_clock_counts(desk):
    in_time, late = await desk.ask("1"), await desk.ask("2")
    desk.moments.reboot()
    desk.moments.jump(599)
    assert (await desk.decide(in_time.id)).is_done

    desk.moments.jump(1)
    assert (await desk.decide(late.id)).code == "approval-expired"


async def test_a6_a_wall_clock_moved_back_over_a_boot_revives_nothing(desk):
    asked = await desk.ask("1")
    desk.moments.advance(599)
    await desk.ask("2")  # the store has seen this time
    desk.moments.advance(1)
    await desk.ask("3")
    desk.moments.reboot()
    desk.moments.jump(-86400)

    assert (await desk.decide(asked.id)).code == "approval-expired"


async def test_a6_a_clock_once_far_ahead_ends_what_was_before_and_nothing_after(desk):
    early = await desk.ask("1")
    desk.moments.jump(86400 * 365)
    await desk.ask("2")
    desk.moments.jump(-86400 * 365)
    desk.moments.reboot()
    assert (await desk.decide(early.id)).code == "approval-expired"

    later = await desk.ask("3")
    desk.moments.advance(599)
    assert (await desk.decide(later.id)).is_done


async def test_a13_an_edit_takes_the_place_of_what_was_asked(desk):
    asked = await desk.ask()
    edited = await desk.edit(asked.id, sealed='{"card":"2"}', view="POST /pay 1")

    record = await desk.get(asked.id)
    assert edited.record == record
    assert (record.arguments, record.final_hash) == ('{"amount":1}', "final-edited")
    assert (record.asked_arguments, record.asked_hash) == ('{"amount":900}', "asked-1")
    assert (record.edited_by, record.view, record.sealed) == ("ann", "POST /pay 1", '{"card":"2"}')
    assert desk.entries[-1] | {"actor": "ann", "before": "final-1"} == desk.entries[-1]


async def test_a13_an_edit_brings_the_terms_of_what_it_makes_of_the_call(desk):
    asked = await desk.ask()
    desk.moments.advance(100)
    reasked = Reasked(replace(FOUR_EYES, ttl_s=60.0), 2, "policy-2", ("two",), "Two must look.")
    await desk.edit(asked.id, asked=reasked)

    record = await desk.get(asked.id)
    assert (record.rules, record.reason, record.terms) == (
        ("two",),
        "Two must look.",
        reasked.terms,
    )
    assert record.expires == desk.moments.now().plus(60)
    first = await desk.decide(asked.id, roles=())
    assert first.record.state == "pending"
    assert desk.entries[-2]["rules"] == ["two"]


async def test_a13_an_edit_prolongs_no_question(desk):
    asked = await desk.ask()
    desk.moments.advance(100)
    await desk.edit(asked.id, asked=Reasked(replace(TERMS, ttl_s=9000.0), 2, "policy-2"))

    assert (await desk.get(asked.id)).expires == asked.expires


async def test_a13_a_yes_to_other_arguments_does_not_count(desk):
    asked = await desk.ask(terms=FOUR_EYES)
    await desk.decide(asked.id, actor="ann")
    await desk.edit(asked.id, actor="bob")
    assert (await desk.decide(asked.id, actor="bob")).record.state == "pending"

    again = await desk.decide(asked.id, actor="ann")
    assert not again.is_repeat
    assert again.record.state == "approved"


async def test_a12_a_decision_about_what_was_not_shown_is_refused(desk):
    asked = await desk.ask()
    await desk.edit(asked.id, actor="bob")

    assert (await desk.decide(asked.id, final_hash="final-1")).code == "approval-mismatch"
    assert (await desk.decide(asked.id, final_hash="final-edited")).is_done


async def test_a13_only_what_waits_can_be_edited(desk):
    first, second = await desk.ask("1"), await desk.ask("2")
    await desk.decide(first.id)
    assert (await desk.edit(first.id)).code == "already-decided"

    desk.moments.advance(600)
    assert (await desk.edit(second.id)).code == "approval-expired"
    assert (await desk.get(first.id)).final_hash == "final-1"


async def test_a13_whoever_may_not_decide_may_not_edit(desk):
    asked = await desk.ask(terms=FOUR_EYES)

    assert (await desk.edit(asked.id, actor="bot")).code == "access-denied"


async def test_a5_an_approval_goes_back_where_policy_asks_for_more(desk):
    asked = await desk.ask()
    await desk.decide(asked.id)
    desk.moments.advance(200)

    reopened = await desk.reopen(asked.id, FOUR_EYES)
    assert reopened.record.state == "pending"
    assert reopened.record.expires == desk.moments.now().plus(600)
    assert (reopened.record.generation, reopened.record.policy_hash) == (2, "policy-2")
    assert (await desk.claim(asked.id)).code == "conflict"
    assert (await desk.decide(asked.id, actor="bob")).record.state == "approved"
    assert (await desk.claim(asked.id)).is_done


async def test_a5_what_was_said_meets_the_new_terms_or_does_not(desk):
    asked = await desk.ask()
    await desk.decide(asked.id, roles=("finance",))

    met = await desk.reopen(asked.id, replace(TERMS, groups=(Group(roles=("finance",)),)))
    assert met.record.state == "approved"
    unmet = await desk.reopen(asked.id, replace(TERMS, groups=(Group(roles=("legal",)),)))
    assert unmet.record.state == "pending"


async def test_a5_a_yes_to_other_arguments_does_not_count_after_a_reopening(desk):
    asked = await desk.ask(terms=FOUR_EYES)
    await desk.decide(asked.id, actor="ann")
    await desk.edit(asked.id, actor="bob")
    await desk.decide(asked.id, actor="bob")
    await desk.decide(asked.id, actor="cid")

    three = replace(TERMS, groups=(Group(count=3),))
    assert (await desk.reopen(asked.id, three)).record.state == "pending"
    assert (await desk.decide(asked.id, actor="dan")).record.state == "approved"


async def test_a5_a_reopened_one_tells_which_rules_ask_now(desk):
    asked = await desk.ask()
    await desk.decide(asked.id)
    again = Reasked(FOUR_EYES, 2, "policy-2", ("two",), "Two must look.")
    await desk.run(reopen, asked.id, again, seals=SEALS)

    record = await desk.get(asked.id)
    assert (record.rules, record.reason) == (("two",), "Two must look.")


async def test_a5_the_requesters_own_yes_counts_no_more_once_four_eyes_are_needed(desk):
    asked = await desk.ask()
    await desk.decide(asked.id, actor="bot")

    reopened = await desk.reopen(asked.id, replace(TERMS, exclude_requester=True))
    assert reopened.record.state == "pending"


async def test_a5_only_an_approved_one_is_reopened(desk):
    asked = await desk.ask()
    assert (await desk.reopen(asked.id, FOUR_EYES)).code == "conflict"

    await desk.decide(asked.id)
    await desk.claim(asked.id)
    assert (await desk.reopen(asked.id, FOUR_EYES)).code == "conflict"
    assert await desk.state(asked.id) == "claimed"


async def test_a19_deciding_leaves_it_to_be_claimed(desk):
    asked = await desk.ask()
    decided = await desk.decide(asked.id)

    assert decided.record.owner is None
    assert decided.record.outcome is None


async def test_a13_an_edit_of_other_terms_than_the_editor_saw_changes_nothing(desk):
    seen = await desk.ask()
    await desk.decide(seen.id)
    await desk.reopen(seen.id, FOUR_EYES)
    moved = await desk.edit(seen.id, actor="bea", seen=seen)

    assert (moved.code, moved.message) == (
        "conflict",
        "more is asked for by now, or other yeses: look again",
    )
    assert (await desk.get(seen.id)).final_hash == seen.final_hash


async def test_a13_an_edit_takes_away_the_result_of_before(desk):
    asked = await desk.ask(mode="external", terms=FOUR_EYES)
    await desk.decide(asked.id, outcome='{"data":1}')
    await desk.edit(asked.id, actor="bea")

    assert (await desk.get(asked.id)).outcome is None
