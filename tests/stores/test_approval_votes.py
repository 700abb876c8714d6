"""What several people's words come to, without a database."""

from dataclasses import replace

import pytest
from approval_desk import FOUR_EYES, TERMS

from toolrt.core.decisions import Group
from toolrt.stores.approval_votes import CHANNELS, Vote, judge, objection


def yes(actor, *roles):
    return Vote(actor, roles, "cli", "approve", None, 0.0, "f")


def no(actor):
    return replace(yes(actor), verdict="deny")


FINANCE = Group(roles=("finance",))
LEGAL = Group(principals=("lea",))


@pytest.mark.parametrize(
    ("terms", "votes", "state"),
    [
        (TERMS, [], "pending"),
        (TERMS, [yes("ann")], "approved"),
        (TERMS, [yes("bot")], "approved"),  # on one machine the person asks and answers
        (TERMS, [no("ann")], "denied"),
        (TERMS, [yes("ann"), no("bob")], "denied"),
        (replace(TERMS, groups=()), [], "pending"),
        (replace(TERMS, groups=(Group(count=0),)), [], "pending"),
        (replace(TERMS, exclude_requester=True), [yes("bot")], "pending"),
        (replace(TERMS, exclude_requester=True), [yes("bot"), yes("ann")], "approved"),
        (FOUR_EYES, [yes("ann")], "pending"),
        (FOUR_EYES, [yes("ann"), yes("ann")], "pending"),
        (FOUR_EYES, [yes("ann"), yes("bot")], "pending"),
        (FOUR_EYES, [yes("ann"), yes("bob")], "approved"),
        (FOUR_EYES, [yes("ann"), yes("bob"), no("cy")], "denied"),
        (replace(TERMS, groups=(FINANCE,)), [yes("ann", "sales")], "pending"),
        (replace(TERMS, groups=(FINANCE,)), [yes("ann", "sales", "finance")], "approved"),
        (replace(TERMS, groups=(FINANCE, LEGAL)), [yes("ann", "finance")], "pending"),
        (replace(TERMS, groups=(FINANCE, LEGAL)), [yes("lea")], "pending"),
        (replace(TERMS, groups=(FINANCE, LEGAL)), [yes("ann", "finance"), yes("lea")], "approved"),
        (replace(TERMS, groups=(FINANCE, LEGAL)), [yes("lea", "finance")], "approved"),
    ],
)
def test_a10_votes_come_to(terms, votes, state):
    assert judge(terms, {"bot"}, votes) == state


def test_a10_the_agents_own_principal_counts_as_the_requester():
    assert judge(FOUR_EYES, {"bot", "agent-7"}, [yes("ann"), yes("agent-7")]) == "pending"


@pytest.mark.parametrize("channel", CHANNELS)
def test_a17_people_decide_by_channels_of_their_own(channel):
    assert objection(TERMS, {"bot"}, "ann", (), channel) is None


@pytest.mark.parametrize("channel", ["agent", "", "mcp", "CLI", "tool"])
def test_a17_no_other_channel_decides(channel):
    assert "channel" in objection(TERMS, {"bot"}, "ann", (), channel)


def test_a17_nobody_decides_nothing():
    assert objection(TERMS, {"bot"}, "", (), "cli") is not None
