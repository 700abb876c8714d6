"""Calls of the past, decided by two policies; nothing runs."""

import pytest

from toolrt.core.calls import Caller
from toolrt.pipeline.redeciding import recorded, redecided, rules_of
from toolrt.rehearsal import compare, replay
from toolrt.runtime import load
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  pay:
    description: Pay.
    parameters: {amount: number}
    shell: 'touch paid'
"""
LAX = "default: allow\n"
STRICT = """
rules:
  - {id: big, decide: deny, tools: [pay], when: args.amount > 500.0, reason: Too much.}
  - {id: often, decide: ask, tools: [pay], when: 'history.calls("10m") >= 2'}
  - {id: rest, decide: allow, tools: ["*"]}
"""


def entry(number, amount, at=None, **more):
    return {
        "kind": "call",
        "call_id": f"c{number}",
        "at": 1000.0 + number if at is None else at,
        "tool": "pay",
        "caller": {"principal": "ann", "roles": ["clerk"], "tenant": None, "session": "s"},
        "decision": {"decision": "allow", "rule": None},
        "arguments": {"amount": amount},
        "status": "success",
        "code": None,
        "attempts": 1,
        **more,
    }


@pytest.fixture
def project(tmp_path):
    files = {"tools.d/t.yaml": TOOLS, "policies.d/p.yaml": STRICT, "old/policies.d/p.yaml": LAX}
    return write_files(tmp_path, files)


def snapshots(project):
    """The rules of the old and of the new generation."""
    new = load(project).snapshot
    (project / "policies.d" / "p.yaml").write_text(LAX)
    return rules_of(load(project).snapshot), rules_of(new)


async def test_a_call_that_is_decided_otherwise_is_a_flip(project):
    found = redecided(recorded([entry(1, 900), entry(2, 3)]), *snapshots(project))

    assert (found.calls, found.gone, found.masked) == (2, 0, 0)
    (flip,) = found.flips
    assert flip.document() == {
        "call_id": "c1",
        "tool": "pay",
        "caller": "ann",
        "roles": ["clerk"],
        "masked": False,
        "old": {"decision": "allow", "rule": None, "reason": None, "code": None},
        "new": {"decision": "deny", "rule": "big", "reason": "Too much.", "code": "denied"},
    }


async def test_each_policy_counts_the_calls_that_it_lets_through(project):
    """In order of time, whatever the order of the entries, and only within the window."""
    entries = [entry(n, 1) for n in (3, 1, 2)] + [entry(9, 1, at=9000.0)]

    found = redecided(recorded(entries), *snapshots(project))

    assert [(flip.call.call_id, flip.after.rule) for flip in found.flips] == [("c3", "often")]


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "approval"},
        {"code": "invalid-arguments"},
        {"code": "missing-arguments"},
        {"arguments": {"bytes": 70_000, "sha256": "ab"}},
        {"arguments": "***"},
    ],
)
async def test_what_no_policy_has_seen_whole_is_left_out(more):
    assert list(recorded([entry(1, 900, **more)])) == []


async def test_masked_arguments_are_counted(project):
    found = redecided(recorded([entry(1, "***")]), *snapshots(project))

    assert found.masked == 1


async def test_a_tool_that_is_no_more_is_counted(project):
    found = redecided(recorded([entry(1, 900, tool="gone")]), *snapshots(project))

    assert (found.calls, found.gone, found.flips) == (0, 1, ())


async def test_a_recorded_caller_is_who_it_was():
    (call,) = recorded([entry(1, 900)])

    assert call.caller == Caller("ann", ("clerk",), None, "s")


@pytest.mark.parametrize("other", ["old", "old/policies.d"])
async def test_another_folder_is_a_project_or_one_of_policies(project, other):
    found = await compare(project, project / other, [entry(1, 900)])

    assert [flip.call.call_id for flip in found.flips] == ["c1"]
    assert not (project / "paid").exists()
    assert not (project / ".toolrt").exists()


async def test_a_replay_compares_with_what_was_decided_then(project):
    entries = [entry(1, 900), entry(2, 900, decision={"decision": "deny", "rule": "big"})]

    found = await replay(project, entries)

    assert [flip.call.call_id for flip in found.flips] == ["c1"]
    assert found.flips[0].before.verdict == "allow"
