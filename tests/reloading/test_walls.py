"""A tool that loses its sandbox, or gets a wider one, waits for somebody to confirm (L6)."""

import pytest

pytestmark = pytest.mark.anyio

TOOLS = """\
defaults: {shell: {sandbox: {write: [out]}}}
tools:
  run: {description: Run., command: {argv: [date], sandbox: {}}, effect: read}
  make: {description: Make., shell: {script: date}, effect: read}
  free: {description: Free., command: [date], effect: read}
"""
FILES = {
    "tools.d/t.yaml": TOOLS,
    "policies.d/p.yaml": "default: allow\n",
    "out/keep": "",
    "more/keep": "",
}
T = "tools.d/t.yaml"


@pytest.fixture
def tmp_path(disk):
    """Where a sandbox can hide what it has to."""
    return disk


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("argv: [date], sandbox: {}", "argv: [date]", "`run` would run outside of its sandbox"),
        ("sandbox: {}", "sandbox: null", "`run` would run outside of its sandbox"),
        ("defaults: {shell: {sandbox: {write: [out]}}}", "x-a: 1",
         "`make` would run outside of its sandbox"),
        ("shell: {script: date}", "command: [date]", "`make` would run outside of its sandbox"),
        ("  run: {description: Run., command: {argv: [date], sandbox: {}}",
         "  ran: {description: Run., command: {argv: [date]}",
         "`ran` would run outside of its sandbox"),
        ("sandbox: {}", "sandbox: {network: true}", "`run` could reach more from its sandbox"),
        ("write: [out]", "write: [out, more]", "`make` could reach more from its sandbox"),
        ("write: [out]", "write: [more]", "`make` could reach more from its sandbox"),
    ],
)  # fmt: skip
async def test_l6_a_wall_that_is_gone_or_lower_waits_for_somebody_to_confirm(
    edited, right, wrong, why
):
    outcome = await edited(FILES, (T, right, wrong))

    assert (outcome.is_accepted, outcome.why) == (False, why)
    files = {**FILES, T: TOOLS.replace(right, wrong)}
    assert (await edited(files, (T, "description: Free.", "description: It."))).is_accepted


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("write: [out]", "write: []"),
        ("write: [out]", "network: false, write: [out]"),
        ("command: [date]", "command: {argv: [date], sandbox: {}}"),
        ("command: [date]", "command: [id]"),
    ],
)
async def test_a_wall_that_is_as_high_or_higher_is_let_through(edited, right, wrong):
    assert (await edited(FILES, (T, right, wrong))).is_accepted


async def test_l6_a_confirmed_loss_of_a_wall_is_in_force(edited):
    outcome = await edited(FILES, (T, "sandbox: {}", "sandbox: null"), accept_loss=True)

    assert outcome.is_accepted
