"""Questions that become other ones: people have more to do by now than to say yes (A5)."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.pipeline.answering import Standing, Supplied
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

TOOL = """\
tools:
  pay:
    description: Pay.
    parameters: {invoice: string, note: {type: string, required: false}, why: {type: string, required: false}}
    command: [sh, -c, 'echo "$0" >> ran.txt', "{{ invoice }}"]
    effect: write
    hitl: %s
"""
RULES = """\
rules: [{id: look, decide: ask, tools: [pay], approval: {scopes: [once, pattern]}}]
default: allow
"""
ANN = Caller("ann", session="s1")
BOSS = Caller("boss", may=frozenset({"approve"}))
CALL = {"invoice": "A1"}
INPUT = "{mode: input, fields: [note]}"
WAYS = ["run", "the same call again"]


class Office:
    """An open project whose tool says in `ran.txt` that it has run."""

    def __init__(self, root, runtime):
        self.root, self.runtime, self.approvals = root, runtime, runtime.approvals

    async def becomes(self, hitl, rules=RULES):
        write_files(self.root, {"tools.d/t.yaml": TOOL % hitl, "policies.d/p.yaml": rules})
        assert (await self.runtime.reload(accept_loss=True)).is_accepted

    async def asked(self):
        return (await self.runtime.call("pay", CALL, ANN)).pause.approval_id

    async def goes_on(self, approval, way):
        if way == "run":
            return await self.approvals.run(approval)
        return await self.runtime.call("pay", CALL, ANN)

    @property
    def has_run(self):
        return (self.root / "ran.txt").exists()


@pytest.fixture
async def office(anyio_backend, tmp_path):
    root = write_files(tmp_path, {"tools.d/t.yaml": TOOL % "confirm", "policies.d/p.yaml": RULES})
    async with toolrt.open(root) as runtime:
        yield Office(root, runtime)


@pytest.mark.parametrize("way", WAYS)
async def test_a5_a_yes_runs_nothing_that_a_person_makes_by_now(office, way):
    approval = await office.asked()
    await office.approvals.approve(approval, BOSS)
    await office.becomes("external")

    paused = await office.goes_on(approval, way)
    record = await office.approvals.get(approval)
    assert (paused.status, paused.pause.mode) == ("paused", "external")
    assert (record.state, record.mode) == ("pending", "external")
    with pytest.raises(RefusedError, match="brings its result along"):
        await office.approvals.approve(approval, BOSS)
    await office.approvals.approve(approval, BOSS, supplied=Supplied({"paid": True}))
    assert (await office.goes_on(approval, way)).data == {"paid": True}
    assert not office.has_run


async def test_a5_operators_who_have_people_make_the_calls_stop_what_was_approved(office):
    approval = await office.asked()
    await office.approvals.approve(approval, BOSS)
    await office.becomes("confirm", RULES + "settings: [{tools: [pay], hitl: external}]\n")

    assert (await office.approvals.run(approval)).pause.mode == "external"
    assert not office.has_run


@pytest.mark.parametrize("way", WAYS)
async def test_a5_a_yes_fills_nothing_in(office, way):
    approval = await office.asked()
    await office.approvals.approve(approval, BOSS)
    await office.becomes(INPUT)

    paused = await office.goes_on(approval, way)
    assert (paused.pause.mode, paused.pause.fields) == ("input", ("note",))
    await office.approvals.approve(approval, BOSS, edits={"note": "fine"})
    assert (await office.goes_on(approval, way)).status == "success"
    assert office.has_run


async def test_a5_more_fields_are_filled_in_anew_and_fewer_are_not(office):
    await office.becomes(INPUT)
    approval = await office.asked()
    await office.approvals.approve(approval, BOSS, edits={"note": "fine"})
    await office.becomes("{mode: input, fields: [note, why]}")
    assert (await office.approvals.run(approval)).pause.fields == ("note", "why")
    await office.approvals.approve(approval, BOSS, edits={"why": "so"})
    await office.becomes("{mode: input, fields: [why]}")
    assert (await office.approvals.run(approval)).status == "success"


@pytest.mark.parametrize("edits", [None, {"note": "x"}])
async def test_a5_who_says_yes_to_another_question_is_told_so_and_asked_that_one(office, edits):
    approval = await office.asked()
    await office.becomes("external")

    moved = await office.approvals.approve(approval, BOSS, edits=edits)
    assert (moved.code, moved.record.state) == ("conflict", "pending")
    assert moved.message == "a person makes this call by now: look again"
    assert (moved.record.mode, moved.record.edited_by) == ("external", None)
    await office.approvals.approve(approval, BOSS, supplied=Supplied(1))
    assert (await office.approvals.run(approval)).data == 1
    assert not office.has_run


async def test_a5_what_a_person_has_done_is_not_done_once_more_by_the_tool(office):
    await office.becomes("external")
    approval = await office.asked()
    await office.approvals.approve(approval, BOSS, supplied=Supplied("done"))
    await office.becomes("confirm")

    assert (await office.approvals.run(approval)).data == "done"
    assert not office.has_run


async def test_a11_a_standing_yes_fills_nothing_in(office):
    await office.becomes("none")
    approval = await office.asked()
    await office.approvals.approve(approval, BOSS, standing=Standing("pattern", 3600.0))
    await office.becomes(INPUT)

    assert (await office.approvals.run(approval)).status == "paused"
    assert (await office.runtime.call("pay", CALL, ANN)).status == "paused"
    assert not office.has_run


async def test_a4_a_tool_that_has_changed_is_said_to_be_another_one(office, caplog):
    approval = await office.asked()
    await office.approvals.approve(approval, BOSS)
    changed = (TOOL % "confirm").replace("description: Pay.", "description: Pay it.")
    write_files(office.root, {"tools.d/t.yaml": changed})
    await office.runtime.reload(accept_loss=True)

    error = (await office.approvals.run(approval)).error
    assert error.code == "approval-mismatch"
    assert error.message == "`pay`: it is not the tool any more that was approved"
    assert not [each for each in caplog.records if approval in each.getMessage()]
