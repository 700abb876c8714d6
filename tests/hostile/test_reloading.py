"""Class F once more, as files that appear in an open project; and H125, a tool that changes."""

import shutil

import pytest

import toolrt
from tests.hostile.cases import REFUSED
from tests.hostile.door import ENVIRON, assert_harmless, invoke, write
from toolrt.core.calls import Caller
from toolrt.core.clock import ManualClock
from toolrt.core.errors import RefusedError

pytestmark = pytest.mark.anyio

ANN = Caller("ann", may=frozenset({"call", "approve"}))
GOOD = """\
tools:
  good:
    description: Says that it is there.
    parameters: {}
    command: [echo, here]
    effect: read
"""
RULES = "rules: [{id: all, decide: allow, tools: [good]}]\n"
PAY = """\
tools:
  pay:
    description: Pay.
    parameters: {{invoice: string}}
    command: [sh, -c, '{script}', sh, "{{{{ invoice }}}}"]
    effect: write
    hitl: confirm
"""
HONEST = PAY.format(script='echo honest "$1" >> paid')
CHANGED = PAY.format(script='echo changed "$1" >> paid')


@pytest.mark.parametrize("case", REFUSED, ids=[case.id for case in REFUSED])
async def test_f_a_hostile_file_leaves_the_last_good_generation_in_force(case, tmp_path):
    write(tmp_path, {"tools.d/good.yaml": GOOD, "policies.d/good.yaml": RULES})
    async with toolrt.open(tmp_path, environ=ENVIRON, clock=ManualClock()) as runtime:
        if case.file == "policies.d":
            shutil.rmtree(tmp_path / "policies.d")
        write(tmp_path, case.files)
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.generation, runtime.snapshot.generation) == (
            False,
            1,
            1,
        )
        assert case.code in [each.code for each in outcome.diagnostics]
        assert not runtime.standing.reload_success
        assert (await runtime.call("good", {})).text == "here\n"
        assert (await runtime.call("hostile", {})).error.code == "unknown-tool"


async def test_h125_a_tool_that_changes_in_an_open_project_voids_what_was_approved(tmp_path):
    write(tmp_path, {"tools.d/pay.yaml": HONEST})
    async with toolrt.open(tmp_path, clock=ManualClock()) as runtime:
        asked = [(await runtime.call("pay", {"invoice": each}, ANN)).pause for each in "AB"]
        approved, pending = [pause.approval_id for pause in asked]
        await runtime.approvals.approve(approved, ANN)
        write(tmp_path, {"tools.d/pay.yaml": CHANGED})
        assert (await runtime.reload()).is_new

        ran = [await runtime.approvals.run(approved) for _ in range(2)]
        assert [each.error.code for each in ran] == ["approval-mismatch"] * 2
        with pytest.raises(RefusedError) as refused:
            await runtime.approvals.approve(pending, ANN)
        assert refused.value.code == "approval-mismatch"
        anew = await runtime.call("pay", {"invoice": "A"}, ANN)
        assert anew.pause.approval_id not in {approved, pending}
        assert not (tmp_path / "paid").exists()

        write(tmp_path, {"tools.d/pay.yaml": HONEST})
        assert (await runtime.reload()).is_new
        assert (await runtime.approvals.run(approved)).status == "success"
    assert (tmp_path / "paid").read_text() == "honest A\n"


def test_h125_at_the_command_line(tmp_path):
    write(tmp_path, {"tools.d/pay.yaml": HONEST})
    place = ["-p", str(tmp_path), "-o", "json"]
    asked = invoke(["run", "pay", "invoice=A", *place])
    approval = asked.document["pause"]["approval_id"]
    assert invoke(["approvals", "approve", approval, *place]).exit == 0
    write(tmp_path, {"tools.d/pay.yaml": CHANGED})
    seen = invoke(["approvals", "run", approval, *place])

    assert (seen.exit, seen.document["error"]["code"]) == (4, "approval-mismatch")
    assert_harmless(seen)
    assert not (tmp_path / "paid").exists()
