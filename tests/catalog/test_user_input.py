"""`builtins: [get_user_input]`: a model asks a person for values."""

import pytest

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.runtime import load
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

BOSS = Caller("boss", may=frozenset({"approve"}))
FIELDS = [
    {"name": "city", "description": "Which city?"},
    {"name": "days", "type": "integer", "description": "How many days?"},
    {"name": "price", "type": "number", "description": "How much?"},
    {"name": "insured", "type": "boolean", "description": "With insurance?"},
]
CALL = {"fields": FIELDS}


def project(builtins="get_user_input", tools="{}", policies="default: allow\n"):
    return {
        "toolrt.yaml": f"builtins: [{builtins}]\n",
        "tools.d/t.yaml": f"tools: {tools}\n",
        "policies.d/p.yaml": policies,
    }


def diagnostics(tmp_path, files):
    return load(write_files(tmp_path, files)).diagnostics


async def asked(runtime, fields=FIELDS):
    result = await runtime.call("get_user_input", {"fields": fields})
    assert result.status == "paused", result.error
    return result.pause


async def test_it_is_a_tool_of_the_project_where_it_is_named_and_nowhere_else():
    async with open_files(project()) as runtime:
        assert list(runtime.snapshot.tools) == ["get_user_input"]
    async with open_files(project(builtins="")) as runtime:
        assert list(runtime.snapshot.tools) == []


async def test_u76_its_description_says_how_to_ask():
    async with open_files(project()) as runtime:
        said = runtime.snapshot.tools["get_user_input"].description
    for rule in (
        "do not ask for them in text",
        "only for what the task requires",
        "never for the same thing twice",
        "left empty comes back as false",
        "Accept what is given as it is, and finish",
    ):
        assert rule in said


async def test_u76_the_pause_shows_the_fields_that_the_call_asks_for():
    async with open_files(project()) as runtime:
        pause = await asked(runtime)
        assert (pause.mode, pause.fields) == ("input", ("city", "days", "price", "insured"))


async def test_u76_what_a_person_fills_in_is_the_data_of_the_result():
    async with open_files(project()) as runtime:
        pause = await asked(runtime)
        edits = {"city": "Rome", "days": 3, "price": 9.5, "insured": True}
        await runtime.approvals.approve(pause.approval_id, BOSS, edits=edits)
        result = await runtime.call("get_user_input", CALL)
        assert (result.status, result.data) == ("success", edits)


async def test_u76_a_boolean_that_is_left_out_is_false():
    async with open_files(project()) as runtime:
        pause = await asked(runtime)
        edits = {"city": "Rome", "days": 3, "price": 9.5}
        await runtime.approvals.approve(pause.approval_id, BOSS, edits=edits)
        result = await runtime.approvals.run(pause.approval_id)
        assert result.data == {**edits, "insured": False}


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ({}, "missing-arguments"),
        ({"city": "Rome", "days": "three", "price": 1}, "invalid-arguments"),
        ({"city": "Rome", "days": 3, "price": 1, "insured": "yes"}, "invalid-arguments"),
        ({"city": "Rome", "days": 3, "price": 1, "colour": "red"}, "invalid-arguments"),
    ],
)
async def test_u76_values_that_do_not_fit_their_field_are_refused(edits, code):
    async with open_files(project()) as runtime:
        pause = await asked(runtime)
        with pytest.raises(RefusedError) as refused:
            await runtime.approvals.approve(pause.approval_id, BOSS, edits=edits)
        assert refused.value.code == code
        assert (await runtime.approvals.get(pause.approval_id)).state == "pending"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"fields": []},
        {"fields": [{"name": "city"}]},
        {"fields": [{"name": "the city", "description": "?"}]},
        {"fields": [{"name": "city", "type": "date", "description": "?"}]},
        {"fields": [FIELDS[0], FIELDS[0]]},
        {"fields": [{"name": "fields", "description": "?"}]},
        {"fields": FIELDS, "city": "filled in by the model"},
        {"fields": [{**FIELDS[0], "name": f"a{number}"} for number in range(21)]},
    ],
)
async def test_fields_that_make_no_form_are_refused(arguments):
    async with open_files(project()) as runtime:
        result = await runtime.call("get_user_input", arguments)
        assert result.error.code in {"invalid-arguments", "missing-arguments"}


async def test_a_person_may_refuse_to_answer():
    async with open_files(project()) as runtime:
        pause = await asked(runtime)
        await runtime.approvals.deny(pause.approval_id, BOSS, note="I do not know")
        assert (await runtime.call("get_user_input", CALL)).error.code == "recently-denied"


async def test_rules_decide_about_it_like_about_any_tool():
    deny = "rules: [{id: no, decide: deny, tools: [get_user_input]}]\n"
    async with open_files(project(policies=deny)) as runtime:
        assert (await runtime.call("get_user_input", CALL)).error.code == "unknown-tool"


async def test_where_nobody_is_asked_no_values_are_made_up():
    none = "settings: [{tools: [get_user_input], hitl: none}]\n"
    async with open_files(project(policies=none)) as runtime:
        result = await runtime.call("get_user_input", CALL)
        assert result.error.code == "approval-unavailable"


async def test_settings_lie_over_it():
    settings = "settings: [{tools: [get_user_input], hitl: {mode: input, ttl: 5m}, timeout: 5s}]\n"
    async with open_files(project(policies=settings)) as runtime:
        assert runtime.snapshot.tools["get_user_input"].manifest.timeout.total == 5.0
        record = await runtime.approvals.get((await asked(runtime)).approval_id)
        assert record.terms.ttl_s == 300.0


def test_a_tool_of_the_project_with_its_name_is_a_diagnostic(tmp_path):
    tools = "{get_user_input: {description: Mine., command: [echo]}}"
    (found,) = diagnostics(tmp_path, project(tools=tools))
    assert (found.code, found.file, found.column) == ("duplicate-tool", "toolrt.yaml", 12)
    assert "tools.d/t.yaml:1" in found.message


def test_one_that_is_named_twice_is_there_once(tmp_path):
    files = project("get_user_input, get_user_input")
    compiled = load(write_files(tmp_path, files))
    assert (compiled.diagnostics, list(compiled.snapshot.tools)) == ([], ["get_user_input"])
