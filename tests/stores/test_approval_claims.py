"""Claims: one owner, a lease, an end."""

import pytest

pytestmark = pytest.mark.anyio


async def approved(desk, call="1"):
    asked = await desk.ask(call)
    await desk.decide(asked.id)
    return asked.id


async def test_a8_a_claim_has_one_winner_and_the_loser_knows_them(desk):
    which = await approved(desk)
    won, lost = await desk.claim(which, "w1"), await desk.claim(which, "w2")

    assert won.is_done
    assert won.record.lease == desk.moments.now().plus(30)
    assert lost.code == "conflict"
    assert lost.record.owner == "w1"
    assert desk.events.count("claimed") == 1


async def test_a8_the_same_owner_does_not_claim_twice(desk):
    which = await approved(desk)
    await desk.claim(which)

    assert (await desk.claim(which)).code == "conflict"


async def test_a4_other_arguments_are_not_claimed_and_the_row_stays(desk):
    which = await approved(desk)
    before = await desk.get(which)

    refused = await desk.claim(which, final_hash="final-other")
    assert refused.code == "approval-mismatch"
    assert await desk.get(which) == before
    assert (
        desk.entries[-1] | {"event": "mismatch", "claimed_hash": "final-other"} == desk.entries[-1]
    )
    assert (await desk.claim(which)).is_done


@pytest.mark.parametrize(
    ("way", "code"),
    [
        ("nothing", "conflict"),
        ("deny", "approval-denied"),
        ("cancel", "cancelled"),
        ("expire", "approval-expired"),
        ("run", "conflict"),
        ("lose", "unknown-outcome"),
    ],
)
async def test_a8_only_an_approved_one_is_claimed(desk, way, code):
    which = (await desk.ask()).id if way in {"nothing", "deny"} else await approved(desk)
    if way == "deny":
        await desk.decide(which, "deny")
    if way == "cancel":
        await desk.cancel(which)
    if way == "expire":
        desk.moments.advance(300)
    if way in {"run", "lose"}:
        await desk.claim(which)
    if way == "run":
        await desk.settle(which)
    if way == "lose":
        desk.moments.advance(30)

    assert (await desk.claim(which, "w2")).code == code


async def test_a7_a_yes_that_nobody_uses_expires_at_execute_by(desk):
    in_time, late = await approved(desk, "1"), await approved(desk, "2")
    desk.moments.advance(299)
    assert (await desk.claim(in_time)).is_done

    desk.moments.advance(1)
    assert (await desk.claim(late, final_hash="final-2")).code == "approval-expired"
    assert await desk.state(late) == "expired"


async def test_a7_execute_by_counts_from_the_yes_not_from_the_question(desk):
    asked = await desk.ask()
    desk.moments.advance(599)
    await desk.decide(asked.id)
    desk.moments.advance(299)

    assert (await desk.claim(asked.id)).is_done


async def test_a9_a_renewed_claim_goes_on(desk):
    which = await approved(desk)
    await desk.claim(which)
    for _ in range(5):
        desk.moments.advance(20)
        assert (await desk.renew(which)).is_done

    assert (await desk.settle(which)).record.state == "succeeded"


async def test_a9_a_claim_that_went_silent_is_unknown_and_not_claimed_again(desk):
    which = await approved(desk)
    await desk.claim(which)
    desk.moments.advance(30)

    assert (await desk.renew(which)).code == "unknown-outcome"
    assert await desk.state(which) == "unknown"
    assert (await desk.claim(which, "w2")).code == "unknown-outcome"
    assert desk.events[-1] == "unknown"


@pytest.mark.parametrize("jump_s", [-7200, 7200])
async def test_a9_a_wall_clock_set_anew_neither_ends_nor_prolongs_a_lease(desk, jump_s):
    which = await approved(desk)
    await desk.claim(which)
    desk.moments.jump(jump_s)
    desk.moments.advance(29)
    assert (await desk.renew(which)).is_done
    desk.moments.jump(jump_s)
    desk.moments.advance(30)

    assert (await desk.renew(which)).code == "unknown-outcome"


async def test_a9_only_the_owner_renews_and_settles(desk):
    which = await approved(desk)
    await desk.claim(which, "w1")

    assert (await desk.renew(which, "w2")).code == "conflict"
    assert (await desk.settle(which, owner="w2")).code == "conflict"
    assert await desk.state(which) == "claimed"


@pytest.mark.parametrize("state", ["succeeded", "failed"])
@pytest.mark.parametrize("is_swept", [True, False])
async def test_a2_a_late_owner_says_what_happened(desk, state, is_swept):
    which = await approved(desk)
    await desk.claim(which)
    desk.moments.advance(3600)
    if is_swept:
        await desk.sweep()

    settled = await desk.settle(which, state)
    assert settled.record.state == state
    assert settled.record.outcome == '{"ok":true}'
    assert settled.record.ended == desk.moments.now()


async def test_a2_an_owner_may_say_that_it_does_not_know(desk):
    which = await approved(desk)
    await desk.claim(which)

    assert (await desk.settle(which, "unknown")).record.state == "unknown"
    assert (await desk.settle(which, "unknown")).is_repeat
    assert (await desk.settle(which, "failed")).record.state == "failed"


async def test_a2_what_has_been_settled_stays(desk):
    which = await approved(desk)
    await desk.claim(which)
    await desk.settle(which, "succeeded")

    assert (await desk.settle(which, "succeeded")).is_repeat
    assert (await desk.settle(which, "failed")).code == "conflict"
    assert await desk.state(which) == "succeeded"


async def test_a2_a_person_resolves_an_unknown_outcome(desk):
    which = await approved(desk)
    await desk.claim(which)
    assert (await desk.resolve(which)).code == "conflict"
    desk.moments.advance(30)

    assert (await desk.resolve(which, "failed", "ann")).record.state == "failed"
    assert desk.entries[-1] | {"event": "resolved", "actor": "ann"} == desk.entries[-1]
    assert (await desk.settle(which, "succeeded")).code == "conflict"


async def test_a18_a_call_called_off_is_cancelled(desk):
    waits, said = (await desk.ask("1")).id, await approved(desk, "2")

    assert (await desk.cancel(waits)).record.state == "cancelled"
    assert (await desk.cancel(said)).record.state == "cancelled"
    assert (await desk.cancel(said)).is_repeat
    assert (await desk.decide(waits)).code == "cancelled"
    assert (await desk.claim(said, final_hash="final-2")).code == "cancelled"


async def test_a18_what_runs_is_not_called_off(desk):
    which = await approved(desk)
    await desk.claim(which)

    assert (await desk.cancel(which)).code == "conflict"
    assert await desk.state(which) == "claimed"


async def test_a18_what_has_ended_is_not_called_off(desk):
    asked = await desk.ask()
    await desk.decide(asked.id, "deny")

    assert (await desk.cancel(asked.id)).code == "approval-denied"
