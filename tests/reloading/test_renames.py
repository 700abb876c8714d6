"""A tool under another name is still that tool: what decided about it may not be lost (L6)."""

from time import process_time

import pytest

pytestmark = pytest.mark.anyio

P, T, R = "toolrt.yaml", "tools.d/t.yaml", "policies.d/p.yaml"
TOOLS = """\
namespace: bank
tools:
  pay: {description: Pay., parameters: {sum: number}, command: [echo, "{{ sum }}"]}
  look: {description: Look., command: [echo], effect: read}
"""
NAMED = "rules:\n- {id: d, decide: deny, tools: [bank.pay, bank.look]}\n"
EVERY = "rules:\n- {id: d, decide: deny, tools: ['*'], when: '%s'}\n"
ASKED = "settings:\n- {tools: [bank.pay], hitl: confirm}\n"
TIMED = "settings:\n- {tools: [bank.pay], timeout: 5s}\n"
COUNTED = "rules:\n- {id: d, decide: deny, tools: ['*'], when: history.calls('1h') > 9}\n"

NAME = [(T, "pay:", "send:")]
SPACE = [(T, "namespace: bank", "namespace: bunk")]
AND_TEXT = [(T, "pay: {description: Pay.", "send: {description: Send!")]
AND_WORK = [(T, 'pay: {description: Pay., parameters: {sum: number}, command: [echo, "{{ sum }}"]',
             'send: {description: S., parameters: {sum: number}, command: [echo, -n, "{{ sum }}"]')]  # fmt: skip
AND_PLACE = [*AND_TEXT, (T, "tools:\n", "tools:\n  more: {description: M., command: [echo, m]}\n")]


def files(rules: str, default: str = "allow") -> dict[str, str]:
    return {T: TOOLS, R: f"default: {default}\n{rules}"}


@pytest.mark.parametrize("edits", [NAME, SPACE, AND_TEXT, AND_WORK, AND_PLACE])
@pytest.mark.parametrize(
    ("rules", "loss"),
    [
        (NAMED, "deny rule `d` would no longer hold for `bank.pay`"),
        (NAMED + TIMED, "deny rule `d` would no longer hold for `bank.pay`"),
        (ASKED, "` would no longer ask a person by itself"),
        (EVERY % 'tool.name == "bank.pay"', "deny rule `d` reads `tool.name` of `bank.pay`"),
        (COUNTED, "deny rule `d` reads the history of `bank.pay`, which begins anew"),
    ],
)
async def test_l6_a_tool_under_another_name_keeps_what_decides_about_it(edited, edits, rules, loss):
    outcome = await edited(files(rules), *edits)

    assert not outcome.is_accepted
    said = [each.replace("`bank.look`, ", "") for each in outcome.losses]
    assert any(loss in each for each in said), outcome.losses


async def test_l6_another_namespace_counts_where_a_rule_reads_it(edited):
    rules = EVERY % 'tool.namespace == "bank"'
    outcome = await edited(files(rules), *SPACE)

    assert "deny rule `d` reads `tool.namespace` of `bank.look`, which changes" in outcome.losses


async def test_l6_tools_that_swap_their_names_are_looked_at_by_what_they_do(edited):
    before = files("rules:\n- {id: d, decide: deny, tools: [bank.pay]}\n")
    swap = [(T, "pay:", "x:"), (T, "look:", "pay:"), (T, "x:", "look:")]
    outcome = await edited(before, *swap)

    assert outcome.losses == ("deny rule `d` would no longer hold for `bank.pay`",)


async def test_l6_the_same_work_in_another_file_is_the_same_tool(edited):
    before = {**files(NAMED), "tools.d/u.yaml": "tools: {}\n"}
    pay = TOOLS.splitlines(keepends=True)[2]
    moved = pay.replace("pay:", "send:").replace("Pay.", "Send.")
    outcome = await edited(before, (T, pay, ""), ("tools.d/u.yaml", "{}\n", "\n" + moved))

    assert outcome.losses == ("deny rule `d` would no longer hold for `bank.pay`",)


async def test_l6_a_name_that_lets_through_what_nothing_did_waits_for_somebody(edited):
    before = files("rules:\n- {id: a, decide: allow, tools: ['*.get_*', bank.look]}\n", "deny")
    outcome = await edited(before, (T, "pay:", "get_pay:"))

    assert outcome.losses == (
        "`bank.get_pay` would be let through by rule `a`, and `bank.pay` is by none",
    )


@pytest.mark.parametrize(
    ("before", "edits"),
    [
        (files("rules:\n- {id: d, decide: deny, tools: ['bank.*']}\n"), NAME),
        (files(NAMED), [*NAME, (R, "bank.pay", "bank.send")]),
        (files(ASKED), [*NAME, (R, "bank.pay", "bank.send")]),
        (files(EVERY % 'tool.effect == "read"'), NAME),
        (files("rules:\n- {id: a, decide: allow, tools: ['*.get_*', bank.look]}\n", "deny"), NAME),
        (files("rules:\n- {id: a, decide: allow, tools: ['bank.*']}\n", "deny"), NAME),
        (files(NAMED), [(T, TOOLS.splitlines(keepends=True)[2], "")]),
        (files("rules:\n- {id: d, decide: deny, tools: [bank.look]}\n"), AND_PLACE),
    ],
)  # fmt: skip
async def test_a_rename_that_loses_nothing_is_let_through(edited, before, edits):
    outcome = await edited(before, *edits)

    assert (outcome.is_new, outcome.losses) == (True, ())


async def test_many_tools_that_do_the_same_do_not_multiply(edited):
    """Each of them stands for each of the others: only some are compared."""
    one = "  %s%d: {description: D., command: [echo]}\n"
    old, new = ("".join(one % (name, each) for each in range(300)) for name in ("old", "new"))
    before = {**files("rules:\n- {id: d, decide: deny, tools: ['old*']}\n")}
    before |= {T: "tools:\n" + old, "tools.d/u.yaml": "tools: {}\n"}
    moved = [
        (T, "tools:\n" + old, "tools: {}\n"),
        ("tools.d/u.yaml", "tools: {}\n", "tools:\n" + new),
    ]
    started = process_time()
    outcome = await edited(before, *moved)

    assert "deny rule `d` would no longer hold for `old0`, `old1`" in outcome.losses[0]
    assert process_time() - started < 3
