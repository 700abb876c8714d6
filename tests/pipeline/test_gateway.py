"""A call through the whole pipeline: found, prepared, checked, judged, shaped."""

import asyncio
import json
import logging

import pytest

import toolrt
from toolrt.core.errors import BindingError, CallError
from toolrt.testing import open_files, stubbed

pytestmark = pytest.mark.anyio


def project(tool, **more):
    """A project of one tool `t`, whose YAML is given without its indentation."""
    indented = "\n".join(f"    {line}" for line in tool.strip().splitlines())
    return {"tools.d/t.yaml": f"tools:\n  t:\n    description: T.\n{indented}\n", **more}


async def answered(tool, answer, arguments=None, caller=None, **options):
    """The result of calling `t`, whose binding is a function of the checked arguments."""
    async with open_files(project(tool), **options) as rt:
        with stubbed(rt, {"t": answer if callable(answer) else lambda _: answer}):
            return await rt.call("t", arguments or {}, caller)


HTTP = "http: http://127.0.0.1:9/x\neffect: read\nretry: none\n"


async def test_an_unknown_tool_names_the_nearest():
    async with open_files(project(HTTP)) as rt:
        result = await rt.call("tt", {})
    assert (result.status, result.error.code) == ("error", "unknown-tool")
    assert result.document()["error"]["hint"]


async def test_the_document_has_the_agreed_shape():
    document = (await answered(HTTP, {"a": 1})).document()
    assert document["schema"] == "toolrt/v1"
    assert (document["status"], document["data"]) == ("success", {"a": 1})
    assert set(document) == {
        "schema",
        "call_id",
        "tool",
        "status",
        "text",
        "data",
        "control",
        "stats",
        "context",
    }
    assert document["control"] == {"final": False, "to": "both"}
    assert set(document["stats"]) == {"time_ms", "attempts", "cached"}
    assert document["context"] == {"generation": 1, "untrusted": True}
    json.dumps(document)


async def test_every_call_has_its_own_id():
    async with open_files(project(HTTP)) as rt:
        with stubbed(rt, {"t": lambda _: 1}):
            ids = {(await rt.call("t", {})).call_id for _ in range(50)}
    assert len(ids) == 50


async def test_a_missing_variable_makes_the_tool_unavailable_and_names_it():
    tool = 'http: {url: "http://127.0.0.1:9/x", headers: {X-Key: "${env:NOT_SET_1}"}}\neffect: read'
    async with open_files(project(tool), environ={}) as rt:
        assert "NOT_SET_1" in rt.snapshot.tools["t"].unavailable
        result = await rt.call("t", {})
    assert result.error.code == "unavailable"
    assert "NOT_SET_1" in result.error.message


async def test_an_irreversible_tool_waits_for_a_person():
    result = await answered(
        "http: {url: http://127.0.0.1:9/x, method: POST}\neffect: irreversible", 1
    )
    assert (result.status, result.pause.mode, result.attempts) == ("paused", "confirm", 0)


@pytest.mark.parametrize("mode", ["confirm", "input", "external"])
async def test_a_tool_that_asks_people_waits_for_one(mode):
    result = await answered(f"{HTTP}hitl: {mode}", 1)
    assert (result.status, result.pause.mode, result.attempts) == ("paused", mode, 0)


async def test_hitl_none_lets_an_irreversible_tool_run():
    tool = "http: {url: http://127.0.0.1:9/x, method: POST}\neffect: irreversible\nhitl: none"
    assert (await answered(tool, 1)).data == 1


BOUND = f"""{HTTP}parameters:
  q: string
  tenant: {{type: string, from: caller.tenant}}
  who: {{type: string, default_from: caller.principal}}
"""


async def test_a_bound_parameter_is_filled_from_the_caller_and_hidden():
    caller = toolrt.Caller("ann", tenant="acme")
    async with open_files(project(BOUND)) as rt:
        assert "tenant" not in rt.snapshot.tools["t"].input_schema["properties"]
        with stubbed(rt, {"t": lambda arguments: arguments}):
            result = await rt.call("t", {"q": "x"}, caller)
            given = await rt.call("t", {"q": "x", "who": "bob"}, caller)
            sent = await rt.call("t", {"q": "x", "tenant": "other"}, caller)
            lacking = await rt.call("t", {"q": "x"}, toolrt.Caller("ann"))
    assert result.data == {"q": "x", "tenant": "acme", "who": "ann"}
    assert given.data["who"] == "bob"
    assert sent.error.code == "invalid-arguments"
    assert "tenant" in sent.error.message
    assert (lacking.error.code, lacking.attempts) == ("unavailable", 0)
    assert "caller.tenant" in lacking.error.message


async def test_a_safe_coercion_is_told_in_the_context():
    tool = HTTP + "coerce: safe\nparameters: {n: integer}"
    result = await answered(tool, lambda arguments: arguments, {"n": "3"})
    assert result.data == {"n": 3}
    assert result.document()["context"]["notes"]
    plain = await answered(HTTP + "parameters: {n: integer}", 1, {"n": "3"})
    assert plain.error.code == "invalid-arguments"


REJECT = f"""{HTTP}parameters: {{low: integer, high: integer}}
reject:
  - {{when: args.low > args.high, reason: low must not exceed high}}
"""


async def test_reject_refuses_across_parameters_with_its_reason():
    result = await answered(REJECT, 1, {"low": 5, "high": 2})
    assert (result.error.code, result.error.message) == (
        "invalid-arguments",
        "low must not exceed high",
    )
    assert (await answered(REJECT, 1, {"low": 1, "high": 2})).data == 1


async def test_a_reject_that_cannot_be_evaluated_refuses_and_says_so():
    tool = HTTP + 'parameters: {n: integer}\nreject: [{when: "1 - args.n > 5", reason: too many}]'
    result = await answered(tool, 1, {"n": 99999999999999999999})
    assert result.error.code == "invalid-arguments"
    assert result.error.message.startswith("a check could not be made")
    assert "too many" in result.error.message


async def test_toolrt_run_inside_a_loop_says_what_to_use():
    with pytest.raises(RuntimeError, match=r"use toolrt\.open"):
        toolrt.run("t")


async def test_failed_when_turns_an_answer_into_a_failure_with_the_message_that_error_finds():
    tool = HTTP + 'result: {failed_when: "result.ok == false", error: problem.text}'
    result = await answered(tool, {"ok": False, "problem": {"text": "no such city"}})
    assert (result.error.code, result.error.message) == ("execution-failed", "no such city")
    assert (await answered(tool, {"ok": True})).data == {"ok": True}


async def test_failed_when_that_cannot_be_evaluated_fails_closed():
    result = await answered(HTTP + 'result: {failed_when: "result.ok == false"}', {"other": 1})
    assert result.error.code == "bad-response"


async def test_error_reads_the_body_of_a_failed_answer():
    def refuse(_):
        raise BindingError("the service answered 404", status=404, body={"detail": "gone"})

    result = await answered(HTTP + "result: {error: detail}", refuse)
    assert result.error.message == "gone"


async def test_select_then_text():
    tool = (
        HTTP + 'result: {select: "rows[].n", text: "{{ result | join(\', \') }} of {{ call.id }}"}'
    )
    result = await answered(tool, {"rows": [{"n": 1}, {"n": 2}]})
    assert result.data == [1, 2]
    assert result.text == f"1, 2 of {result.call_id}"


async def test_a_text_answer_is_the_text_and_nothing_is_said_to_be_nothing():
    assert (await answered(HTTP, "hello")).text == "hello"
    empty = await answered(HTTP, None)
    assert (empty.status, empty.text, empty.data) == (
        "success",
        "t completed with no output.",
        None,
    )


async def test_max_size_cuts_text_and_data_and_says_partial():
    result = await answered(HTTP + "result: {max_size: 1KB}", "é" * 2000)
    assert result.status == "partial"
    assert len(result.text.encode()) < 1100
    assert "more bytes were cut off" in result.text
    assert result.data["bytes"] == 4000
    assert result.data["spilled"] == result.context["spilled"]
    assert (await answered(HTTP + "result: {max_size: 1KB}", "x" * 900)).status == "success"


async def test_a_secret_never_comes_back_in_a_result():
    tool = 'http: {url: "http://127.0.0.1:9/x", headers: {X-Key: "${env:K}"}}\neffect: read\nretry: none'

    async with open_files(project(tool), environ={"K": "s3cr3t-value"}) as rt:
        await rt.call("t", {})
        with stubbed(rt, {"t": lambda _: {"echo": ["key s3cr3t-value"], "s3cr3t-value": "x"}}):
            result = await rt.call("t", {})

        def leak(_):
            raise BindingError("bad key s3cr3t-value", details={"key": "s3cr3t-value"})

        with stubbed(rt, {"t": leak}):
            failed = await rt.call("t", {})
    assert "s3cr3t" not in json.dumps(result.document())
    assert "s3cr3t" not in json.dumps(failed.document()) + repr(failed)


async def test_an_answer_that_is_no_json_is_a_bad_response():
    assert (await answered(HTTP, {"x": "\ud800"})).error.code == "bad-response"
    assert (await answered(HTTP, {"x": object()})).error.code == "bad-response"


async def test_one_json_line_is_logged_for_a_call_whatever_its_name(caplog):
    with caplog.at_level(logging.INFO, "toolrt.calls"):
        async with open_files(project(HTTP)) as rt:
            await rt.call('t\n{"level":"info"}', {})
    [line] = [record.getMessage() for record in caplog.records if record.name == "toolrt.calls"]
    assert "\n" not in line
    assert json.loads(line)["code"] == "unknown-tool"


async def test_a_preview_renders_the_request_and_does_nothing():
    tool = HTTP.replace("/x", "/x/{{ city }}") + "parameters: {city: string}"
    async with open_files(project(tool)) as rt:
        made = await rt.preview("t", {"city": "a b"})
        with pytest.raises(CallError) as refused:
            await rt.preview("t", {})
    assert made["request"]["url"].endswith("/x/a%20b")
    assert made["arguments"] == {"city": "a b"}
    assert refused.value.code == "missing-arguments"


async def test_a_generation_is_kept_by_a_call_that_began_with_it():
    async with open_files(project(HTTP)) as rt:
        with stubbed(rt, {"t": lambda _: rt.snapshot.generation}):
            result = await rt.call("t", {})
    assert (result.data, result.generation) == (1, 1)


def test_toolrt_run_calls_a_tool_without_a_loop(tmp_path):
    folder = tmp_path / "tools.d"
    folder.mkdir()
    (folder / "t.yaml").write_text(
        "tools:\n  t: {description: T., command: [/bin/echo, hi], effect: read}\n"
    )
    assert toolrt.run("t", {}, project=tmp_path).text.strip() == "hi"


def test_a_broken_project_is_refused_with_all_its_diagnostics(tmp_path):
    folder = tmp_path / "tools.d"
    folder.mkdir()
    (folder / "t.yaml").write_text("tools:\n  t: {descripton: T., command: [/bin/true]}\n")
    with pytest.raises(toolrt.ProjectError) as refused:
        toolrt.run("t", project=tmp_path)
    assert "tools.d/t.yaml:2:7" in refused.value.report
    assert "description" in refused.value.report


ANSWERS = """
tools:
  t:
    description: T.
    shell: {script: 'echo "{\\"a\\": 1}"', output: json}
    effect: read
    result: {%s}
"""


@pytest.mark.parametrize("output", ["select: nope.deep", "select: 'nope[0]'"])
async def test_a_select_that_finds_nothing_says_so(output):
    async with open_files({"tools.d/t.yaml": ANSWERS % output}) as rt:
        result = await rt.call("t", {})
    assert (result.status, result.data) == ("success", None)
    assert result.text == f"t: the answer has no `{output.split(': ')[1].strip(chr(39))}`."


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("result.ok == false", "result.ok"),
        ("result.deep.ok == false", "result.deep"),
        ("result.a == 2 || result.deep.ok", "result.deep"),
    ],
)
async def test_an_answer_without_what_failed_when_reads_is_told_its_name(condition, name):
    async with open_files({"tools.d/t.yaml": ANSWERS % f"failed_when: {condition}"}) as rt:
        result = await rt.call("t", {})
    assert result.error.code == "bad-response"
    assert result.error.details["condition"].endswith(f"not there: `{name}`")
    assert result.error.hint == (
        f"`result.failed_when` reads what is not there: ask `has({name})` first"
    )


SENSITIVE = """
tools:
  t:
    description: T.
    parameters:
      user: string
      pin: {type: string, sensitive: true}
      card: {type: object, properties: {number: {type: integer, sensitive: true}, name: {type: string}}}
    shell: {script: 'echo "$1"', argv: ["{{ user }}"], env: {PIN: "{{ pin }}", CARD: "{{ card.number }}"}, stdin: {all: "{{ card }}"}}
"""


async def test_a_preview_masks_sensitive_arguments_wherever_they_go():
    async with open_files({"tools.d/t.yaml": SENSITIVE}) as rt:
        card = {"number": 4111, "name": "Ann"}
        seen = await rt.preview("t", {"user": "ann", "pin": "12", "card": card})
    assert seen["arguments"] == {
        "user": "ann",
        "pin": "***",
        "card": {"number": "***", "name": "Ann"},
    }
    assert "4111" not in str(seen)
    assert seen["request"]["env"]["PIN"] == "***"
    assert seen["request"]["argv"][-1] == "ann"


READS = """
tools:
  t:
    description: T.
    parameters: {file: {type: string, format: path, root: notes}}
    command: [cat, --, "{{ file }}"]
    effect: read
"""


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("notes/a.txt", "`file` begins below its root folder: send a.txt"),
        ("notes/b.txt", None),
        ("b.txt", None),
    ],
)
async def test_a_path_that_repeats_the_name_of_its_root_is_told_what_to_send(file, hint):
    async with open_files({"tools.d/t.yaml": READS, "notes/a.txt": "hi"}) as rt:
        result = await rt.call("t", {"file": file})
        assert (await rt.call("t", {"file": "a.txt"})).data.strip() == "hi"
    assert (result.error.code, result.error.hint) == ("execution-failed", hint)


WAITS = """
import asyncio

async def wait(ms: int = 0) -> str:
    '''Waits.'''
    await asyncio.sleep(9)
"""
GIVEN_UP = 'python: "waits:wait"\neffect: write\n'


async def given_up(rt, call):
    """What the journal and the metrics tell of a call that is cancelled while it runs."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await rt._state.memory.journal.flush()
    told = await rt._state.memory.journal.records.entries()
    entries = [each for each in told if "status" in each]
    page = (await rt.metrics()).splitlines()
    return (
        [(each["tool"], each["status"], each["code"], each["attempts"]) for each in entries],
        [line for line in page if line.startswith("toolrt_calls_total")],
    )


async def test_a_call_that_is_cancelled_is_recorded_counted_and_logged(caplog):
    caplog.set_level(logging.INFO, "toolrt.calls")
    async with open_files(project(GIVEN_UP, **{"waits.py": WAITS})) as rt:
        entries, counts = await given_up(rt, rt.call("t", {}))

    assert entries == [("t", "error", "cancelled", 1)]
    assert counts == [
        'toolrt_calls_total{by="caller",code="cancelled",status="error",tool="t"} 1.0'
    ]
    assert json.loads(caplog.records[-1].message)["code"] == "cancelled"


async def test_calls_of_a_cancelled_call_are_told_as_well():
    files = {
        "waits.py": WAITS,
        "tools.d/t.yaml": """
            tools:
              a: {description: A., command: ["false"], effect: read, retry: none, fallback: t}
              t: {python: "waits:wait", effect: read}
            """,
    }
    async with open_files(files) as rt:
        with stubbed(rt, {"a": down}):
            entries, _ = await given_up(rt, rt.call("a", {}))

    assert sorted(entries) == [("a", "error", "cancelled", 1), ("t", "error", "cancelled", 1)]


def down(_arguments):
    raise BindingError("down", target_fault=True)


async def test_an_approved_call_that_is_cancelled_is_told():
    boss = toolrt.Caller("boss", may=frozenset({"call", "approve", "admin"}))
    tool = GIVEN_UP + "hitl: confirm\n"
    async with open_files(project(tool, **{"waits.py": WAITS})) as rt:
        id_ = (await rt.call("t", {})).pause.approval_id
        await rt.approvals.approve(id_, boss)
        entries, counts = await given_up(rt, rt.approvals.run(id_))

    assert ("t", "error", "cancelled", 1) in entries
    assert any('by="approval",code="cancelled"' in line for line in counts)
