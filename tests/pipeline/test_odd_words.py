"""Broken text and numbers without end at the doors of approvals are refused, not bugs."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.pipeline.answering import Standing
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

FILES = {
    "tools.d/t.yaml": """\
tools:
  pay:
    description: Pay.
    parameters: {amount: number}
    command: [echo, "{{ amount }}"]
    effect: write
""",
    "policies.d/p.yaml": """\
rules:
- {id: look, decide: ask, tools: [pay], approval: {scopes: [once, pattern]}}
""",
}
HALF = "\ud800"
MAY = frozenset({"call", "approve"})
ANN = Caller("ann", may=MAY)
BROKEN = [
    Caller(HALF, may=MAY),
    Caller("bot", tenant=HALF, may=MAY),
    Caller("bot", session=HALF, may=MAY),
    Caller("bot", (HALF,), may=MAY),
    Caller("bot", scopes=(HALF,), may=MAY),
    Caller("bot", claims={"a": HALF}, may=MAY),
]


@pytest.fixture
async def runtime(anyio_backend, tmp_path):
    async with toolrt.open(write_files(tmp_path, FILES)) as opened:
        yield opened


async def asked(runtime):
    return (await runtime.call("pay", {"amount": 1}, Caller("bot"))).pause.approval_id


async def refusal(work):
    with pytest.raises(RefusedError) as refused:
        await work
    assert refused.value.hint
    return refused.value.code, refused.value.message


@pytest.mark.parametrize("verb", ["get", "current", "wait", "run"])
async def test_an_id_of_half_characters_is_refused(runtime, verb):
    assert await refusal(getattr(runtime.approvals, verb)(HALF)) == (
        "invalid-arguments",
        "an id holds \\ud800, half a character (a lone surrogate)",
    )


@pytest.mark.parametrize("verb", ["approve", "deny", "cancel", "revoke"])
async def test_an_id_of_half_characters_is_refused_by_who_decides(runtime, verb):
    code, _ = await refusal(getattr(runtime.approvals, verb)(HALF, ANN))

    assert code == "invalid-arguments"


@pytest.mark.parametrize("verb", ["get", "revoke"])
async def test_an_id_that_is_too_long_is_not_repeated_whole(runtime, verb):
    by = (ANN,) if verb == "revoke" else ()
    code, message = await refusal(getattr(runtime.approvals, verb)("x" * 100_000, *by))

    assert (code, len(message) < 100) == ("not-found", True)


@pytest.mark.parametrize("caller", BROKEN)
@pytest.mark.parametrize("verb", ["approve", "deny", "cancel"])
async def test_a17_whoever_decides_has_a_name_of_whole_characters(runtime, caller, verb):
    approval = await asked(runtime)
    code, message = await refusal(getattr(runtime.approvals, verb)(approval, caller))

    assert (code, "half a character" in message) == ("invalid-arguments", True)
    assert (await runtime.approvals.get(approval)).state == "pending"


@pytest.mark.parametrize("caller", BROKEN)
async def test_whoever_asks_has_a_name_of_whole_characters(runtime, caller):
    result = await runtime.call("pay", {"amount": 7}, caller)

    assert (result.status, result.error.code) == ("error", "invalid-arguments")
    assert "half a character" in result.error.message


async def test_whoever_a_call_runs_for_has_a_name_of_whole_characters(runtime):
    approval = await asked(runtime)
    await runtime.approvals.approve(approval, ANN)
    code, _ = await refusal(runtime.approvals.run(approval, Caller(HALF)))

    assert code == "invalid-arguments"


@pytest.mark.parametrize("verb", ["approve", "deny"])
async def test_a_note_of_half_characters_is_refused(runtime, verb):
    approval = await asked(runtime)
    code, message = await refusal(getattr(runtime.approvals, verb)(approval, ANN, note=HALF))

    assert (code, "the note holds" in message) == ("invalid-arguments", True)


@pytest.mark.parametrize("uses", [0, 10**7, 2**63, 10**30, float("nan"), 1.5, True])
async def test_a11_a_standing_yes_has_uses_that_can_be_counted(runtime, uses):
    approval = await asked(runtime)
    yes = Standing("pattern", 60.0, uses)
    code, message = await refusal(runtime.approvals.approve(approval, ANN, standing=yes))

    assert (code, message) == ("invalid-arguments", "a grant is good for 1 to 1000000 uses")
    assert (await runtime.approvals.get(approval)).state == "pending"


@pytest.mark.parametrize("limit", [0, -1, 2**63, 2**70])
@pytest.mark.parametrize("verb", ["listed", "grants"])
async def test_a_list_of_no_length_is_refused(runtime, verb, limit):
    code, _ = await refusal(getattr(runtime.approvals, verb)(limit=limit))

    assert code == "invalid-arguments"


@pytest.mark.parametrize("state", ["nope", HALF, ""])
async def test_a_state_that_there_is_not_is_refused(runtime, state):
    code, message = await refusal(runtime.approvals.listed((state,)))

    assert (code, "there is no state" in message) == ("invalid-arguments", True)


@pytest.mark.parametrize("odd", [{"note": HALF}, {"standing": Standing("pattern", 60.0, 0)}])
async def test_a13_what_is_refused_leaves_no_edit_behind(runtime, odd):
    approval = await asked(runtime)
    code, _ = await refusal(runtime.approvals.approve(approval, ANN, edits={"amount": 2}, **odd))
    record = await runtime.approvals.get(approval)

    assert (code, record.edited_by) == ("invalid-arguments", None)
