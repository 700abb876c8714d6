"""`settings` with `when`: options of operators that hold for some callers only."""

from datetime import UTC, datetime

import pytest

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.runtime import load
from toolrt.testing import open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  pay: {description: Pay., parameters: {amount: integer}, command: [echo, "{{ amount }}"]}
  look: {description: Look., command: [echo, ok]}
"""
GUEST = "'\"guest\" in caller.roles'"
VIP = "'\"vip\" in caller.roles'"
CALL = {"amount": 1}


def project(settings, more="default: allow\n", **files):
    return {
        "tools.d/t.yaml": TOOLS,
        "policies.d/p.yaml": f"settings: [{settings}]\n{more}",
        **files,
    }


def seen(runtime, *roles, tool="pay", wall=0.0):
    """The tool as it is for a caller of these roles."""
    clock = ManualClock(wall)
    caller = Caller("ada", roles)
    return runtime.snapshot.tools[tool].for_caller(
        Invocation("", tool, {}, caller, clock, 0.0, 0.0)
    )


def total_s(runtime, *roles, **more):
    return seen(runtime, *roles, **more).manifest.timeout.total


def found(tmp_path, files):
    said = load(write_files(tmp_path, files)).diagnostics
    return [(one.severity, one.code, one.line, one.column) for one in said]


async def test_a_setting_with_when_holds_for_its_callers_only():
    async with open_files(project(f"{{tools: [pay], timeout: 5s, when: {GUEST}}}")) as runtime:
        assert total_s(runtime, "guest") == 5.0
        assert total_s(runtime) == 60.0
        assert runtime.snapshot.tools["look"].variants is None


async def test_a_call_is_made_by_the_variant_of_its_caller():
    files = project(f"{{tools: ['*'], hitl: confirm, when: {GUEST}}}")
    async with open_files(files) as runtime:
        with stubbed(runtime, {"pay": lambda _: "paid"}) as calls:
            guest = await runtime.call("pay", CALL, Caller("ada", ("guest",)))
            other = await runtime.call("pay", CALL, Caller("ada"))
            assert (guest.status, other.status, len(calls)) == ("paused", "success", 1)


async def test_a_call_that_a_variant_asked_about_is_approved_and_run_once():
    boss = Caller("boss", may=frozenset({"approve"}))
    files = project(f"{{tools: [pay], hitl: confirm, timeout: 7s, when: {GUEST}}}")
    async with open_files(files) as runtime:
        with stubbed(runtime, {"pay": lambda _: "paid"}) as calls:
            guest = Caller("ada", ("guest",))
            asked = await runtime.call("pay", CALL, guest)
            await runtime.approvals.approve(asked.pause.approval_id, boss, edits={"amount": 2})
            result = await runtime.approvals.run(asked.pause.approval_id)
            assert (result.status, [each.arguments for each in calls]) == (
                "success",
                [{"amount": 2}],
            )


async def test_an_exact_setting_lets_some_callers_run_what_cannot_be_undone():
    tools = TOOLS.replace("{description: Pay.,", "{description: Pay., effect: irreversible,")
    files = project(f"{{tools: [pay], hitl: none, when: {VIP}}}", **{"tools.d/t.yaml": tools})
    async with open_files(files) as runtime:
        with stubbed(runtime, {"pay": lambda _: "paid"}):
            vip = await runtime.call("pay", CALL, Caller("ada", ("vip",)))
            other = await runtime.call("pay", CALL, Caller("ada"))
            assert (vip.status, other.status) == ("success", "paused")


async def test_later_settings_lie_higher_whether_they_have_a_condition_or_not():
    settings = f"""
      {{tools: [pay], timeout: 5s}},
      {{tools: [pay], timeout: 6s, retry: none, when: {GUEST}}},
      {{tools: [pay], timeout: 7s, when: {VIP}}},
      {{tools: [pay], retry: {{attempts: 5}}}}
    """
    async with open_files(project(settings)) as runtime:
        assert total_s(runtime) == 5.0
        assert total_s(runtime, "guest") == 6.0
        assert total_s(runtime, "vip") == total_s(runtime, "guest", "vip") == 7.0
        assert seen(runtime, "guest").manifest.retry.attempts == 5


async def test_a_condition_knows_the_constants_and_the_time():
    when = "'now.getHours() == vars.hour'"
    files = project(
        f"{{tools: [pay], timeout: 5s, when: {when}}}", **{"toolrt.yaml": "vars: {hour: 9}"}
    )
    at_nine = datetime(2026, 3, 1, 9, 30, tzinfo=UTC).timestamp()
    async with open_files(files) as runtime:
        assert total_s(runtime, wall=at_nine) == 5.0
        assert total_s(runtime, wall=at_nine + 3600) == 60.0


async def test_where_a_condition_fails_people_are_asked_and_nothing_else_is_changed():
    settings = """
      {tools: [pay], hitl: confirm, when: caller.claims.level < 3},
      {tools: [look], timeout: 5s, when: caller.claims.level < 3}
    """
    async with open_files(project(settings)) as runtime:
        assert (await runtime.call("pay", CALL)).status == "paused"
        assert total_s(runtime, tool="look") == 60.0


@pytest.mark.parametrize(
    ("when", "code", "column"),
    [
        ("args.amount > 3", "unknown-name", 32),
        ("tool.name == 'pay'", "unknown-name", 32),
        ("caller.rolls == []", "unknown-name", 39),
        ("vars.hour == 3", "unknown-name", 37),
        ("caller.principal", "type-mismatch", 32),
        ("caller.principal ==", "invalid-condition", 51),
    ],
)
def test_a_condition_is_over_callers_and_a_fault_has_its_place(tmp_path, when, code, column):
    files = project(f'{{tools: [pay], hitl: none, when: "{when}"}}')
    assert found(tmp_path, files)[0][:2] == ("error", code)
    assert found(tmp_path, files)[0][3] >= column


def test_a_tool_has_so_many_conditional_settings_and_no_more(tmp_path):
    one = "{tools: [pay], timeout: 5s, when: 'caller.principal == \"a\"'}"
    assert found(tmp_path, project(", ".join([one] * 4))) == []
    assert [code for _, code, *_ in found(tmp_path, project(", ".join([one] * 5)))] == [
        "too-many-settings"
    ]


def test_hitl_none_by_a_pattern_is_refused_with_a_condition_too(tmp_path):
    files = project(f"{{tools: ['*'], hitl: none, when: {GUEST}}}")
    assert [code for _, code, *_ in found(tmp_path, files)] == ["hitl-by-pattern"]


BY_HAND = """
tools:
  pay: {description: Pay., parameters: {amount: integer}, hitl: external}
  fill:
    description: Fill.
    parameters: {amount: integer}
    command: [echo, "{{ amount }}"]
    hitl: input
"""


@pytest.mark.parametrize("when", ["", f", when: {GUEST}"])
@pytest.mark.parametrize(
    ("tools", "hitl"),
    [("'*'", "confirm"), ("fi*", "confirm"), ("p*", "input"), ("fill, p*", "confirm")],
)
def test_p3_a_pattern_that_lets_people_do_less_than_a_tool_says_is_told(
    tmp_path, tools, hitl, when
):
    files = project(f"{{tools: [{tools}], hitl: {hitl}{when}}}", "default: allow")
    said = found(tmp_path, {**files, "tools.d/t.yaml": BY_HAND})
    assert ("warning", "hitl-by-pattern") in [each[:2] for each in said]


@pytest.mark.parametrize(
    ("tools", "hitl"),
    [("pay, fill", "confirm"), ("'*'", "external"), ("fi*", "input"), ("fi*, fill", "confirm")],
)
def test_p3_what_names_a_tool_exactly_or_has_people_do_as_much_is_not_told(tmp_path, tools, hitl):
    files = project(f"{{tools: [{tools}], hitl: {hitl}}}", "default: allow")
    said = found(tmp_path, {**files, "tools.d/t.yaml": BY_HAND})
    assert "hitl-by-pattern" not in [each[1] for each in said]


def test_a_fault_that_only_a_variant_has_is_reported_at_its_place(tmp_path):
    settings = f"{{tools: [pay], hitl: {{mode: input, fields: [amont]}}, when: {GUEST}}}"
    ((severity, code, line, _),) = found(tmp_path, project(settings))
    assert (severity, code, line) == ("error", "unknown-name", 1)


async def test_a_reload_takes_over_what_a_condition_says_now():
    before, after = (
        project(f"{{tools: [pay], timeout: {time}, when: {GUEST}}}") for time in ("5s", "6s")
    )
    async with open_files(before) as runtime:
        write_files(runtime.project, after)
        outcome = await runtime.reload()
        assert outcome.changes.changed == {"pay": "settings for some callers"}
        assert total_s(runtime, "guest") == 6.0
        write_files(runtime.project, project(f"{{tools: [pay], timeout: 6s, when: {VIP}}}"))
        await runtime.reload()
        assert (total_s(runtime, "guest"), total_s(runtime, "vip")) == (60.0, 6.0)


async def test_the_policy_of_a_variant_decides_what_its_callers_see():
    files = project(f"{{tools: [pay], hitl: confirm, when: {GUEST}}}", "default: deny\n")
    async with open_files(files) as runtime:
        guest = await runtime.call("pay", CALL, Caller("ada", ("guest",)))
        other = await runtime.call("pay", CALL, Caller("ada"))
        assert guest.status == "paused"
        assert other.error.code == "unknown-tool"


async def test_what_a_setting_asks_of_people_does_not_change_what_the_tool_is():
    files = project(f"{{tools: [pay], hitl: confirm, timeout: 5s, when: {GUEST}}}")
    async with open_files(files) as runtime:
        guest, other = seen(runtime, "guest"), seen(runtime)
        assert guest.description != other.description
        assert guest.definition_hash == other.definition_hash


async def test_a_variant_can_have_a_person_fill_in_an_argument():
    boss = Caller("boss", may=frozenset({"approve"}))
    files = project(f"{{tools: [pay], hitl: {{mode: input, fields: [amount]}}, when: {GUEST}}}")
    async with open_files(files) as runtime:
        with stubbed(runtime, {"pay": lambda given: given["amount"]}):
            guest = Caller("ada", ("guest",))
            asked = await runtime.call("pay", {}, guest)
            assert (asked.pause.mode, asked.pause.fields) == ("input", ("amount",))
            await runtime.approvals.approve(asked.pause.approval_id, boss, edits={"amount": 3})
            assert (await runtime.call("pay", {}, guest)).data == 3
            assert (await runtime.call("pay", CALL, Caller("ada"))).data == 1


async def test_a_tool_that_is_stood_in_for_is_so_for_every_caller():
    async with open_files(project(f"{{tools: [pay], timeout: 5s, when: {GUEST}}}")) as runtime:
        with stubbed(runtime, {"pay": lambda _: "stub"}):
            assert (await runtime.call("pay", CALL, Caller("ada", ("guest",)))).data == "stub"


@pytest.mark.parametrize(
    "settings", ["{tools: [1, true], timeout: 5s}", "{tools: [pay], when: true}"]
)
def test_names_and_conditions_that_yaml_reads_as_something_else_are_texts(tmp_path, settings):
    assert "error" not in [severity for severity, *_ in found(tmp_path, project(settings))]


@pytest.mark.parametrize(
    ("when", "code", "column"),
    [("now.getHours() > 24", "out-of-range", 64), ("1 == 2", "constant-condition", 47)],
)
def test_a_setting_that_never_holds_is_warned_of(tmp_path, when, code, column):
    files = project(f"{{tools: [pay], timeout: 5s, when: '{when}'}}")
    assert found(tmp_path, files) == [("warning", code, 1, column)]
