"""Spans of calls, where the program has set a provider of tracers; and nothing where it has not."""

import asyncio
import subprocess
import sys

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError, ToolError
from toolrt.observe.spans import Spans
from toolrt.testing import ManualClock, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
targets: {shop: {url: "https://shop.example", allow_private: true}}
defaults: {effect: read, retry: none}
tools:
  look: {description: Looks., command: [printf, hello], parameters: {name: string}}
  again: {description: Tries., command: [printf, hello], retry: {attempts: 3, initial: 1s}}
  spare: {description: Fails., command: ["false"], fallback: other}
  other: {description: Stands in., command: [printf, other]}
  wipe: {description: Wipes., command: [printf, gone], effect: irreversible}
  env: {description: Tells., command: [env]}
  mine: {description: Tells., command: {argv: [env], env: {TRACEPARENT: mine}}}
  list: {description: Lists., http: {target: shop, url: /list, redirects: true}}
  own: {description: Lists., http: {target: shop, url: /list, headers: {traceparent: mine}}}
  child: {description: Asks., python: "kit:child"}
"""
KIT = """
from opentelemetry import trace

def child() -> str:
    '''Asks in a thread.'''
    return f"{trace.get_current_span().get_span_context().span_id:016x}"
"""
FILES = {
    "tools.d/t.yaml": TOOLS,
    "kit.py": KIT,
}
BOSS = Caller("boss", may=frozenset({"call", "approve", "admin"}))


@pytest.fixture
def spans(monkeypatch):
    """The spans that have ended, of a provider that is set."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter.get_finished_spans
    provider.shutdown()


def tree(spans):
    """Each span as its name below that of its parent, in the order in which they began."""
    names = {each.context.span_id: each.name for each in spans}
    ordered = sorted(spans, key=lambda each: each.start_time)
    return [
        (names.get(each.parent.span_id) if each.parent else None, each.name) for each in ordered
    ]


def named(spans, name):
    (found,) = (each for each in spans if each.name == name)
    return found


async def test_a_call_is_a_span_with_its_stages_and_attempts_below(spans):
    async with open_files(FILES) as rt:
        result = await rt.call("look", {"name": "s3cret"})

    call = "execute_tool look"
    assert tree(spans()) == [(None, call), (call, "validate"), (call, "attempt"), (call, "shape")]
    told = named(spans(), call)
    assert dict(told.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": result.call_id,
        "toolrt.status": "success",
        "toolrt.attempts": 1,
        "toolrt.cached": False,
        "toolrt.generation": 1,
        "toolrt.degraded": False,
    }
    assert told.status.is_ok
    assert told.instrumentation_scope.name == "toolrt"


async def test_a_stage_ends_when_it_hands_the_call_on(spans):
    async with open_files(FILES) as rt:
        await rt.call("look", {"name": "x"})

    assert named(spans(), "validate").end_time <= named(spans(), "attempt").start_time


async def test_each_attempt_is_a_span_of_its_own(spans):
    failures = [BindingError("busy", retryable=True, sent="never")] * 2

    def flaky(_arguments):
        if failures:
            raise failures.pop()
        return "hello"

    async with open_files(FILES, clock=ManualClock()) as rt:
        with stubbed(rt, {"again": flaky}):
            await rt.call("again", {})

    attempts = [each for each in spans() if each.name == "attempt"]
    assert [each.attributes["toolrt.attempt"] for each in attempts] == [1, 2, 3]
    assert [each.attributes.get("error.type") for each in attempts] == [
        *["execution-failed"] * 2,
        None,
    ]


async def test_a_refusal_ends_its_stage_with_the_code(spans):
    async with open_files(FILES) as rt:
        await rt.call("look", {})

    for name in ("validate", "execute_tool look"):
        told = named(spans(), name)
        assert told.attributes["error.type"] == "missing-arguments"
        assert not told.status.is_ok


async def test_o1_no_argument_no_result_and_no_text_of_an_error_is_told(spans):
    def fail(_arguments):
        raise ToolError("s3cret-value", code="s3cret-value")

    async with open_files(FILES) as rt:
        with stubbed(rt, {"again": fail, "other": lambda _: "s3cret-value"}):
            await rt.call("again", {})
            await rt.call("other", {"s3cret-value": "s3cret-value"})
            await rt.call("s3cret-value", {})
            await rt.call(5, {})

    assert "s3cret" not in "".join(each.to_json() for each in spans())
    assert [each.name for each in spans() if each.name.startswith("execute")][2:] == [
        "execute_tool"
    ] * 2


async def test_the_span_of_whoever_calls_is_the_parent(spans):
    async with open_files(FILES) as rt:
        with trace.get_tracer_provider().get_tracer("mine").start_as_current_span("agent"):
            await asyncio.gather(*(rt.call("look", {"name": "x"}) for _ in range(3)))

    assert tree(spans()).count(("agent", "execute_tool look")) == 3
    assert tree(spans()).count(("execute_tool look", "attempt")) == 3


async def test_a_call_that_another_one_makes_is_a_span_below_its(spans):
    async with open_files(FILES) as rt:
        await rt.call("spare", {})

    found = tree(spans())
    assert ("execute_tool spare", "execute_tool other") in found
    assert named(spans(), "execute_tool spare").attributes["toolrt.degraded"]


async def test_a_paused_call_and_the_one_that_runs_are_two_spans(spans):
    async with open_files(FILES) as rt:
        paused = await rt.call("wipe", {})
        await rt.approvals.approve(paused.pause.approval_id, BOSS)
        await rt.approvals.run(paused.pause.approval_id)

    first, second = (each for each in spans() if each.name == "execute_tool wipe")
    assert (first.attributes["toolrt.status"], second.attributes["toolrt.status"]) == (
        "paused",
        "success",
    )
    names = [name for _, name in tree(spans())]
    assert names.index("approve") < names.index("revalidate") < names.index("claim")


async def test_a_call_that_is_given_up_ends_its_spans(spans):
    async def waits(_arguments):
        await asyncio.sleep(60)

    async with open_files(FILES) as rt:
        with stubbed(rt, {"other": lambda _: None}):
            rt.snapshot.tools["other"].binding.call = waits
            task = asyncio.create_task(rt.call("other", {}))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    assert named(spans(), "execute_tool other").attributes["error.type"] == "CancelledError"


async def test_a_thread_of_a_tool_goes_on_below_the_attempt(spans):
    async with open_files(FILES) as rt:
        result = await rt.call("child", {})

    assert result.data == f"{named(spans(), 'attempt').context.span_id:016x}"


def parent_of(span):
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-"


async def test_s5_a_child_gets_the_number_of_the_attempt_unless_the_tool_says_otherwise(spans):
    async with open_files(FILES) as rt:
        told = (await rt.call("env", {})).text
        mine = (await rt.call("mine", {})).text

    first = next(each for each in spans() if each.name == "attempt")
    assert f"TRACEPARENT={parent_of(first)}" in told
    assert "TRACEPARENT=mine\n" in mine
    assert "TRACESTATE" not in told


class Heard:
    """A service that redirects once, and remembers what it was told."""

    def __init__(self, to):
        self.to, self.told = to, []

    def __call__(self, request):
        self.told.append((request.url.host, request.url.path, request.headers.get("traceparent")))
        if request.url.path == "/list":
            return httpx.Response(302, headers={"location": self.to})
        return httpx.Response(200, json={})


async def listed(tool, to):
    heard = Heard(to)
    async with open_files(FILES, transport=httpx.MockTransport(heard)) as rt:
        await rt.call(tool, {})
    return heard.told


async def test_services_are_told_of_the_attempt_and_other_origins_are_not(spans):
    here = await listed("list", "/there")
    away = await listed("list", "https://other.example/there")

    first, second = (each for each in spans() if each.name == "attempt")
    for (_, path, told), wanted in zip(here, ("/list", "/there"), strict=True):
        assert path == wanted
        assert told.startswith(parent_of(first))
    assert away[0][2].startswith(parent_of(second))
    assert away[1] == ("other.example", "/there", None)


async def test_a_header_that_the_tool_writes_wins(spans):
    assert (await listed("own", "/there"))[0][2] == "mine"


async def test_without_a_provider_nothing_is_wrapped_and_services_are_told_nothing():
    assert Spans.of_provider("1") is None
    assert await listed("list", "/there") == [
        ("shop.example", "/list", None),
        ("shop.example", "/there", None),
    ]
    async with open_files(FILES) as rt:
        assert rt.call.__name__ == "call"
        assert "TRACEPARENT" not in (await rt.call("env", {})).text


async def test_traces_that_nobody_wants_are_not_made(spans):
    async with open_files({**FILES, "toolrt.yaml": "telemetry: {traces: false}"}) as rt:
        await rt.call("look", {"name": "x"})

    assert spans() == ()


PROGRAM = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from toolrt.observe.spans import Spans
assert Spans.of_provider("1") is None
trace.set_tracer_provider(trace.NoOpTracerProvider())
assert Spans.of_provider("1") is None
trace._TRACER_PROVIDER = TracerProvider()
assert Spans.of_provider("1") is not None
"""


def test_a_provider_counts_when_a_program_has_set_it():
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], check=False, capture_output=True, timeout=60
    )

    assert ended.stderr == b""
    assert ended.returncode == 0


def test_the_library_is_not_imported_for_a_program_that_does_not_trace():
    program = (
        "import sys, toolrt.runtime\n"
        "from toolrt.observe.spans import Spans\n"
        "assert Spans.of_provider('1') is None\n"
        "assert not {'opentelemetry', 'prometheus_client'} & {m.split('.')[0] for m in sys.modules}"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=60
    )

    assert ended.stderr == b""
