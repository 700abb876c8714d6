"""A tool that more can call than could waits for somebody to confirm (L6)."""

import pytest

pytestmark = pytest.mark.anyio

TOOLS = """\
tools:
  inner: {description: Inner., command: [date], effect: read, expose: false}
  open: {description: Open., command: [date], effect: read}
  asks: {description: Asks., command: [date], hitl: confirm}
  plan: {description: Plan., steps: [{id: a, tool: inner}, {id: b, tool: open}, {id: c, tool: asks}]}
"""
T, P = "tools.d/t.yaml", "policies.d/p.yaml"
ALLOW, DENY = "default: allow\n", "default: deny\n"
OPENED = "`inner` could be called by itself, and not by other tools alone (`expose`)"
FREED = "`open` could be called by other tools without a rule that lets it through (`expose`)"
SHUT = ("description: Open., command: [date]", "description: Open., expose: false, command: [date]")


def rule(decide, tool, when=""):
    return f"rules: [{{id: r, decide: {decide}, tools: [{tool}]{when}}}]\n"


@pytest.mark.parametrize(
    ("rules", "edit", "why"),
    [
        (ALLOW, (", expose: false", ""), OPENED),
        (ALLOW, (", expose: false", ", expose: true"), OPENED),
        (DENY + rule("allow", "inner"), (", expose: false", ""), OPENED),
        (DENY + rule("allow", "'*'", ", when: '1 < 2'"), (", expose: false", ""), OPENED),
        (DENY, SHUT, FREED),
        (DENY + rule("allow", "open", ", when: '1 < 2'"), SHUT, FREED),
        (DENY, ("open: {description: Open.,", "now: {description: Open., expose: false,"),
         FREED.replace("open", "now")),
    ],
)  # fmt: skip
async def test_l6_a_tool_that_more_can_call_waits_for_somebody_to_confirm(edited, rules, edit, why):
    tools = TOOLS if "open:" not in edit[0] else TOOLS.replace(", {id: b, tool: open}", "")
    files = {T: tools, P: rules}
    outcome = await edited(files, (T, *edit))

    assert (outcome.is_accepted, outcome.why) == (False, why)
    assert (await edited(files, (T, *edit), accept_loss=True)).is_accepted


@pytest.mark.parametrize(
    ("rules", "edit"),
    [
        (DENY, (", expose: false", "")),
        (ALLOW, SHUT),
        (DENY + rule("allow", "open"), SHUT),
        (DENY + rule("deny", "open"), SHUT),
        (DENY, ("hitl: confirm", "hitl: confirm, expose: false")),
        (ALLOW, ("description: Inner.", "description: It.")),
    ],
)
async def test_a_tool_that_no_more_can_call_than_before_is_let_through(edited, rules, edit):
    assert (await edited({T: TOOLS, P: rules}, (T, *edit))).is_accepted
