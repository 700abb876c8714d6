"""Changes that failed in the middle: nobody knows whether they took effect, and it is said (E3, E5)."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError
from toolrt.pipeline.failing import IT_RAN
from toolrt.testing import ManualClock, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

CHECK = "check whether it took effect before you try again"
KEYED = "make the same call again, with the same arguments: its key keeps it to one effect"
AGAIN = "make the same call again: made twice it does no more than made once"
TOOLS = """
defaults: {retry: none}
tools:
  post: {description: Posts., http: {url: http://127.0.0.1:9/x, method: POST}}
  undone: {description: Posts., http: {url: http://127.0.0.1:9/x, method: POST}, effect: irreversible, hitl: none}
  put: {description: Puts., http: {url: http://127.0.0.1:9/x, method: PUT}}
  read: {description: Reads., http: http://127.0.0.1:9/x, effect: read}
  stood_in:
    description: Posts.
    http: {url: http://127.0.0.1:9/x, method: POST}
    fallback: {value: done}
  keyed:
    description: Posts with a key.
    parameters: {n: string}
    http: {url: http://127.0.0.1:9/x, method: POST}
    idempotency_key: "{{ n }}"
  asked:
    description: Posts with a key, and another tool can tell.
    parameters: {n: string}
    http: {url: http://127.0.0.1:9/x, method: POST}
    idempotency_key: "{{ n }}"
    verify: {tool: read, applied_when: result == 'yes'}
  rejected:
    description: Posts.
    http: {url: http://127.0.0.1:9/x, method: POST}
    retry: {attempts: 1, rejected_means_not_applied: true}
"""
CODE = """
import asyncio, os, signal

def error(kind: str) -> str:
    return made(kind)

async def later(kind: str) -> str:
    await asyncio.sleep(0)
    return made(kind)

async def at_once(kind: str) -> str:
    return made(kind)

def made(kind):
    from toolrt import ToolError
    raise {"runtime": RuntimeError, "key": KeyError, "value": ValueError, "os": OSError,
           "author": ToolError}[kind]("after the effect")

def killed() -> str:
    os.kill(os.getpid(), signal.SIGKILL)

class Odd:
    @classmethod
    def __get_pydantic_core_schema__(cls, _source, _handler):
        from pydantic_core import core_schema
        def boom(_value):
            raise RuntimeError("before anything")
        return core_schema.no_info_after_validator_function(boom, core_schema.str_schema())

def strange(odd: Odd) -> str:
    return "done"
"""
FILES = {
    "w.py": CODE,
    "tools.d/p.yaml": """
defaults: {retry: none, effect: write}
tools:
  thread: {python: "w:error", description: d}
  inline: {python: {call: "w:error", run_in: inline}, description: d}
  process: {python: {call: "w:error", run_in: process}, description: d}
  later: {python: "w:later", description: d}
  at_once: {python: "w:at_once", description: d}
  reads: {python: "w:error", description: d, effect: read}
  again: {python: "w:error", description: d, idempotent: true}
  killed: {python: {call: "w:killed", run_in: process}, description: d}
  signaled: {description: d, shell: {script: "kill -9 $$"}}
  flood: {description: d, command: [sh, -c, "yes | head -c 90000000"]}
  strange: {python: "w:strange", description: d}
  exits: {description: d, command: [sh, -c, "exit 3"]}
  paid: {python: "w:error", description: d, hitl: confirm}
  stopped: {description: d, shell: {script: "kill -9 $$"}, hitl: confirm}
  said: {description: d, command: [sh, -c, "exit 3"], hitl: confirm}
""",
    "policies.d/p.yaml": "default: allow\n",
}
BOSS = Caller("boss", may=frozenset({"approve"}))


def status(code: int, **more: object) -> BindingError:
    return BindingError("it said no", status=code, target_fault=code >= 500, **more)  # type: ignore[arg-type]


async def failed(tool: str, error: Exception):
    def answer(_arguments: object) -> object:
        raise error

    async with open_files({"tools.d/t.yaml": TOOLS}, clock=ManualClock()) as rt:
        with stubbed(rt, {tool: answer, "read": answer}):
            return await rt.call(tool, {"n": "1"} if tool in {"keyed", "asked"} else {})


def told(result):
    error = result.error
    course = result.context["recovery"]["course"]
    return error.code, error.details.get("outcome"), error.hint, error.retryable, course


UNKNOWN = ("execution-failed", "unknown", CHECK, False, "escalate")


@pytest.mark.parametrize("tool", ["post", "undone"])
@pytest.mark.parametrize("code", [500, 502, 503, 504, 507, 599])
async def test_e5_a_change_that_was_answered_with_5xx_has_an_unknown_outcome(tool, code):
    assert told(await failed(tool, status(code, retryable=True))) == UNKNOWN


@pytest.mark.parametrize(
    ("tool", "error"),
    [("post", status(400)), ("post", status(501)), ("post", status(505)), ("post", status(404)),
     ("put", status(500)), ("read", status(500)),
     ("rejected", status(503, retry_after_s=1.0, retryable=True))],
)  # fmt: skip
async def test_e5_what_had_no_effect_or_may_be_repeated_has_no_unknown_outcome(tool, error):
    assert "outcome" not in (await failed(tool, error)).error.details


async def test_e5_a_change_that_was_stopped_while_it_answered_has_an_unknown_outcome():
    found = told(await failed("post", BindingError("?", code="output-flood")))
    assert found == ("output-flood", *UNKNOWN[1:])


async def test_what_answered_well_and_cannot_be_read_is_not_done_again_in_another_way():
    error = BindingError("?", code="bad-response", status=200)
    assert told(await failed("post", error))[:3] == ("bad-response", None, IT_RAN)
    assert (await failed("stood_in", error)).error.code == "bad-response"


LOST = BindingError("reset", sent="maybe", retryable=True, target_fault=True)


@pytest.mark.parametrize("error", [LOST, status(500, retryable=True)], ids=["lost", "500"])
async def test_e11_with_a_key_the_same_call_again_is_the_next_step(error):
    found = told(await failed("keyed", error))
    assert found == ("execution-failed", "unknown", KEYED, True, "retry")


async def test_e4_a_lost_answer_of_what_may_be_repeated_says_so():
    assert told(await failed("put", LOST))[1:] == ("unknown", AGAIN, True, "retry")


async def test_e12_where_verify_cannot_tell_a_key_is_no_reason_to_repeat():
    found = told(await failed("asked", LOST))
    assert found == ("unknown-outcome", "unknown", CHECK, False, "escalate")


@pytest.fixture
async def runtime(anyio_backend, tmp_path):
    async with toolrt.open(write_files(tmp_path, FILES)) as opened:
        yield opened


@pytest.mark.parametrize("tool", ["thread", "inline", "process", "later", "at_once"])
@pytest.mark.parametrize("kind", ["runtime", "key", "value", "os"])
async def test_e5_an_exception_in_the_middle_of_a_callable_has_an_unknown_outcome(
    runtime, tool, kind
):
    result = await runtime.call(tool, {"kind": kind})
    assert told(result) == UNKNOWN
    assert result.text.endswith("; it is not known whether it took effect")


@pytest.mark.parametrize("tool", ["thread", "inline", "process", "later", "at_once"])
async def test_what_an_author_raises_is_taken_at_its_word(runtime, tool):
    found = told(await runtime.call(tool, {"kind": "author"}))
    assert found == ("execution-failed", None, None, False, "return-error")


@pytest.mark.parametrize("tool", ["reads", "again"])
async def test_an_exception_where_repeating_does_no_harm_is_a_plain_failure(runtime, tool):
    assert told(await runtime.call(tool, {"kind": "runtime"}))[1] is None


@pytest.mark.parametrize(
    ("tool", "code"),
    [("killed", "unknown-outcome"), ("signaled", "signaled"), ("flood", "output-flood")],
)  # fmt: skip
async def test_e5_a_program_that_was_stopped_has_an_unknown_outcome(runtime, tool, code):
    result = await runtime.call(tool, {})
    assert told(result)[:2] == (code, "unknown")
    assert result.error.hint.startswith(CHECK)
    assert result.context["recovery"]["course"] == "escalate"


async def test_arguments_that_do_not_convert_are_a_plain_failure(runtime):
    result = await runtime.call("strange", {"odd": "x"})
    assert "RuntimeError" in result.text
    assert told(result)[1] is None


async def test_an_exit_status_is_the_programs_own_word(runtime):
    assert told(await runtime.call("exits", {}))[1] is None


@pytest.mark.parametrize(
    ("tool", "call", "state"),
    [("paid", {"kind": "runtime"}, "unknown"), ("paid", {"kind": "author"}, "failed"),
     ("stopped", {}, "unknown"), ("said", {}, "failed")],
)  # fmt: skip
async def test_a2_an_approved_call_that_broke_off_ends_as_unknown_and_can_be_resolved(
    runtime, tool, call, state
):
    approval = (await runtime.call(tool, call, Caller("ann"))).pause.approval_id
    await runtime.approvals.approve(approval, BOSS)
    await runtime.approvals.run(approval)
    assert (await runtime.approvals.get(approval)).state == state

    again = await runtime.approvals.run(approval)
    assert again.error is not None
    moved = await runtime.approvals.resolve(approval, BOSS, "succeeded")
    assert moved.is_done == (state == "unknown")
