"""What came of a run that nobody knows the end of: `verify` is asked, then a person (A2, A9)."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

FILES = {
    "tools.d/t.yaml": """\
tools:
  pay:
    description: Pay.
    parameters: {invoice: string, pin: {type: string, sensitive: true}}
    command: {argv: [sleep, "5"], stdin: "{{ invoice }}", env: {PIN: "{{ pin }}"}}
    effect: write
    timeout: {attempt: 200ms}
    retry: none
    hitl: confirm
    verify: {tool: status, args: {invoice: "{{ invoice }}", pin: "{{ pin }}"}, applied_when: result == 'yes'}
  hang:
    description: Hang.
    command: [sleep, "5"]
    timeout: {attempt: 200ms}
    hitl: confirm
  status:
    description: Whether it was paid.
    parameters: {invoice: string, pin: {type: string, sensitive: true}}
    command: [cat, --, "{{ invoice }}-{{ pin }}"]
    effect: read
    retry: none
""",
    "policies.d/p.yaml": "default: allow\n",
}
ANN = Caller("ann")
BOSS = Caller("boss", may=frozenset({"approve"}))
YES, NO = "`status` says that it took effect", "`status` says that it had no effect"
CANNOT = "`status` cannot tell whether it took effect"


@pytest.fixture
async def runtime(anyio_backend, tmp_path):
    async with toolrt.open(write_files(tmp_path, FILES)) as opened:
        yield opened


async def lost(runtime, tool="pay"):
    """The id of an approval whose run nobody knows the end of."""
    call = {"invoice": "A1", "pin": "4711"} if tool == "pay" else {}
    approval = (await runtime.call(tool, call, ANN)).pause.approval_id
    await runtime.approvals.approve(approval, BOSS)
    await runtime.approvals.run(approval)
    assert (await runtime.approvals.get(approval)).state == "unknown"
    return approval


def answers(tmp_path, text):
    (tmp_path / "A1-4711").write_text(text)


@pytest.mark.parametrize("said", [None, "the same"])
@pytest.mark.parametrize(
    ("answer", "state", "message"), [("yes", "succeeded", YES), ("no", "failed", NO)]
)
async def test_a9_verify_says_what_came_of_it(runtime, tmp_path, answer, state, message, said):
    approval = await lost(runtime)
    answers(tmp_path, answer)

    moved = await runtime.approvals.resolve(approval, BOSS, said and state)
    assert (moved.code, moved.record.state, moved.message) == (None, state, message)
    entries = await runtime._state.memory.journal.records.entries()
    told = [each for each in entries if each.get("event") == "resolved"]
    assert [(each["actor"], each["verify"]) for each in told] == [("boss", "status")]


async def test_a9_a_person_who_says_otherwise_than_verify_is_told_so(runtime, tmp_path):
    approval = await lost(runtime)
    answers(tmp_path, "yes")

    moved = await runtime.approvals.resolve(approval, BOSS, "failed")
    assert (moved.code, moved.record.state, moved.message) == ("conflict", "unknown", YES)


async def test_a9_where_verify_fails_the_person_is_believed(runtime):
    approval = await lost(runtime)

    open_ = await runtime.approvals.resolve(approval, BOSS)
    assert (open_.code, open_.record.state) == ("unknown-outcome", "unknown")
    assert open_.message == CANNOT
    moved = await runtime.approvals.resolve(approval, BOSS, "succeeded")
    assert (moved.code, moved.record.state, moved.message) == (None, "succeeded", CANNOT)


async def test_a9_without_verify_the_person_is_believed(runtime):
    approval = await lost(runtime, "hang")

    open_ = await runtime.approvals.resolve(approval, BOSS)
    assert (open_.code, open_.message) == (
        "unknown-outcome",
        "the tool has no `verify` to be asked",
    )
    assert (await runtime.approvals.resolve(approval, BOSS, "failed")).record.state == "failed"


async def test_a9_the_verify_of_a_tool_that_has_changed_is_not_asked(runtime, tmp_path):
    approval = await lost(runtime)
    answers(tmp_path, "yes")
    text = FILES["tools.d/t.yaml"].replace("description: Pay.", "description: Pay it.")
    write_files(tmp_path, {"tools.d/t.yaml": text})
    await runtime.reload()

    moved = await runtime.approvals.resolve(approval, BOSS, "failed")
    assert (moved.code, moved.record.state, moved.message) == (None, "failed", "")


@pytest.mark.parametrize("said", [None, "succeeded"])
async def test_a2_what_has_ended_or_never_ran_has_no_other_end(runtime, said):
    call = {"invoice": "A1", "pin": "4711"}
    approval = (await runtime.call("pay", call, ANN)).pause.approval_id

    moved = await runtime.approvals.resolve(approval, BOSS, said)
    assert (moved.code, moved.record.state) == ("conflict", "pending")
