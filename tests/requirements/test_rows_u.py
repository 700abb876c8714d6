"""What the product owes of tools and their calls (rows U), where no other file shows it."""

import ast
import asyncio
import json
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from mcp_project import lists, tool, write_project
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolrt
from toolrt.faces.cli.main import cli
from toolrt.pipeline.plan import ORDER
from toolrt.testing import open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

ANN = toolrt.Caller("ann")
BOSS = toolrt.Caller("boss", may=frozenset({"call", "approve"}))
FILL = """
tools:
  book:
    description: Book a room.
    parameters:
      city: string
      nights: {type: integer, minimum: 1, description: How many}
      note: {type: string, required: false}
    command: [echo, "{{ city }}", "{{ nights }}", "{{ note }}"]
    hitl: HITL
"""


def files(hitl):
    return {"tools.d/t.yaml": FILL.replace("HITL", hitl)}


async def openai(runtime, name):
    """What OpenAI's models are told of a tool."""
    documents = (await runtime.export("openai")).documents
    return next(each["function"] for each in documents if each["function"]["name"] == name)


async def test_u6_a_plan_knows_the_tools_of_now():
    def find(q: str) -> str:
        """Find something."""
        return f"found {q}"

    step = {"tool": "find", "parameters": {"q": "tea"}}
    thought = {"reasoning": "r", "plan": [step], "criticism": "c", "action": "execute_plan"}
    own = "tools: {t: {description: T., command: [/bin/true]}}"
    project = {"toolrt.yaml": "builtins: [plan_and_execute]", "tools.d/t.yaml": own}
    async with open_files(project) as runtime:
        ends = [await runtime.call("plan_and_execute", {"thought": thought})]
        await runtime.add(find)
        ends.append(await runtime.call("plan_and_execute", {"thought": thought}))
        await runtime.remove(find)
        ends.append(await runtime.call("plan_and_execute", {"thought": thought}))

    assert [each.status for each in ends] == ["error", "success", "error"]
    assert ends[1].data["result"] == "found tea"
    assert "there is no tool `find`" in ends[2].error.message


def test_u7_u15_a_tool_that_no_program_runs_says_so(tmp_path):
    text = "tools: {sign: {description: S., parameters: {what: string}, hitl: external}}"
    write_files(tmp_path, {"tools.d/t.yaml": text})

    shown = CliRunner().invoke(cli, ["-p", str(tmp_path), "list", "-o", "json"])

    (told,) = json.loads(shown.stdout)["tools"]
    assert (told["kind"], told["available"]) == ("external", True)


async def test_u14_where_no_field_is_named_people_fill_in_all_of_them():
    async with open_files(files("input")) as runtime:
        told = await openai(runtime, "book")
        result = await runtime.call("book", {}, ANN)

    assert told["parameters"]["properties"] == {}
    assert result.pause.fields == ("city", "nights", "note")


@pytest.mark.parametrize("mode", ["confirm", "external"])
async def test_u16_settings_replace_what_a_tool_asks_of_people_and_never_add_to_it(mode):
    settings = f"settings: [{{tools: [book], hitl: {mode}}}]"
    written = files("{mode: input, fields: [nights]}") | {"policies.d/p.yaml": settings}
    async with open_files(written) as runtime:
        result = await runtime.call("book", {"city": "Rome", "nights": 1}, ANN)

    assert (result.pause.mode, result.pause.fields) == (mode, ())


async def test_u45_a_model_is_told_to_call_what_people_confirm_directly():
    async with open_files(files("confirm")) as runtime:
        told = await openai(runtime, "book")

    assert told["description"] == (
        "Book a room. Call this tool directly; do not ask for permission in text. "
        "The call waits until a person has approved it."
    )


async def test_u46_what_people_fill_in_is_in_no_schema_and_named_in_the_description():
    async with open_files(files("{mode: input, fields: [nights]}")) as runtime:
        told = await openai(runtime, "book")

    assert list(told["parameters"]["properties"]) == ["city", "note"]
    assert "nights" not in told["parameters"]["required"]
    assert "A person fills `nights`: do not include them" in told["description"]


HOOKS = """
SEEN = []

def before(arguments):
    SEEN.append("before")

def run(n: int) -> int:
    SEEN.append("run")
    return n

def after(value):
    SEEN.append("after")
"""
ARMED = """
tools:
  t:
    description: T.
    python: "steps_kit:run"
    effect: read
    cache: 5m
    retry: {attempts: 2, initial: 1ms}
    breaker: {failures: 9}
    hooks: {before: ["steps_kit:before"], after: ["steps_kit:after"]}
    hitl: confirm
    reject: [{when: args.n > 8, reason: Too large.}]
"""


@pytest.fixture
def spans(monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter.get_finished_spans
    provider.shutdown()


async def test_u48_m12_a_call_passes_its_stages_in_the_order_that_is_written(spans):
    async with open_files({"tools.d/t.yaml": ARMED, "steps_kit.py": HOOKS}) as runtime:
        paused = await runtime.call("t", {"n": 1}, ANN)
        asked = [each.name for each in sorted(spans(), key=lambda one: one.start_time)]
        await runtime.approvals.approve(paused.pause.approval_id, BOSS)
        result = await runtime.call("t", {"n": 1}, ANN)
        import steps_kit
    stages = [name for name in asked if name in ORDER]

    assert (paused.attempts, result.data) == (0, 1)
    assert stages == sorted(stages, key=list(ORDER).index)
    assert stages.index("validate") < stages.index("approve")
    assert "attempt" not in asked
    assert "cache" not in asked
    assert steps_kit.SEEN == ["before", "before", "run", "after"]


async def test_u50_no_kept_answer_is_a_way_around_a_question():
    tool = "tools: {t: {description: T., command: [echo], effect: read, cache: 5m, hitl: confirm}}"
    async with open_files({"tools.d/t.yaml": tool}) as runtime:
        with stubbed(runtime, {"t": lambda _: "kept"}) as calls:
            first = await runtime.call("t", {}, ANN)
            await runtime.approvals.approve(first.pause.approval_id, BOSS)
            answered = await runtime.call("t", {}, ANN)
            again = await runtime.call("t", {}, ANN)

    assert (answered.data, again.status, len(calls)) == ("kept", "paused", 1)


def called(folder, arguments):
    """What one process of its own would be told of a call."""

    async def once():
        async with toolrt.open(folder) as runtime:
            return await runtime.call("book", arguments, ANN)

    return asyncio.run(once())


def test_u68_u70_what_waits_goes_on_in_another_process_by_any_door(folder):
    write_files(folder, files("{mode: input, fields: [nights]}"))
    id_ = called(folder, {"city": "Rome"}).pause.approval_id
    edit = ["-p", str(folder), "approvals", "approve", id_, "--edit"]
    wrong = CliRunner().invoke(cli, [*edit, "nights=two"])
    said = CliRunner().invoke(cli, [*edit, "nights=2"])
    result = called(folder, {"city": "Rome"})

    assert (wrong.exit_code, said.exit_code) == (2, 0)
    assert result.data == "Rome 2\n"


def test_u69_people_are_shown_what_to_fill_in_with_types_and_words(folder):
    write_files(folder, files("{mode: input, fields: [nights]}"))
    id_ = called(folder, {"city": "Rome"}).pause.approval_id
    shown = CliRunner().invoke(cli, ["-p", str(folder), "approvals", "show", id_, "-o", "json"])
    document = json.loads(shown.stdout)

    assert document["fields"]["properties"] == {
        "nights": {"type": "integer", "minimum": 1, "description": "How many"}
    }
    assert document["arguments"] == {"city": "Rome"}


@pytest.mark.realtime
async def test_u58_a_call_of_a_server_takes_no_longer_than_its_tool_may(tmp_path):
    lists(tmp_path, tool("hang"), tool("echo"))
    overrides = "overrides: {hang: {retry: none, timeout: {attempt: 300ms, total: 20s}}}"
    async with toolrt.open(write_project(tmp_path, overrides)) as runtime:
        result = await runtime.call("odd.hang", {})
        after = await runtime.call("odd.echo", {})

    assert (result.error.code, after.status) == ("timeout", "success")
    assert 0.3 <= result.time_s < 5


async def test_u83_a_tool_of_ones_own_may_be_called_like_one_of_a_vendor():
    text = """
    tools:
      web_search:
        description: Search our own pages.
        parameters: {q: string}
        http: {url: "http://web.example/find", query: {q: "{{ q }}"}}
      of_the_vendor: {description: V., provider: {vendor: openai, type: web_search}}
    """
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, text=request.url.params["q"])
    )
    async with open_files({"tools.d/t.yaml": text}, transport=transport) as runtime:
        made = (await runtime.export("openai_responses")).documents
        result = await runtime.call("web_search", {"q": "tea"})

    assert result.data == "tea"
    assert {each.get("name", each["type"]) for each in made} == {"web_search"}
    assert len(made) == 2


def test_u88_nothing_of_pydantic_but_what_is_public_is_used():
    root = Path(toolrt.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.startswith("pydantic"):
                names = [*module.split("."), *(each.name for each in node.names)]
                assert not [name for name in names if name.startswith("_")], path
