"""Attempts: deadlines, retries and what is said about what is not known (statements E1 to E13)."""

import asyncio
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests.limits import AT_ONCE_S
from toolrt.core.errors import AttemptTimeoutError, BindingError, ToolError
from toolrt.testing import ManualClock, open_files, stubbed

pytestmark = pytest.mark.anyio

TOOLS = """
tools:
  read:
    description: Reads.
    effect: read
    http: http://127.0.0.1:9/x
    retry: {attempts: 3, initial: 100ms, max: 20s}
  write:
    description: Writes.
    effect: write
    http: {url: http://127.0.0.1:9/x, method: POST}
    retry: {attempts: 3}
  put:
    description: Writes the same thing again.
    http: {url: http://127.0.0.1:9/x, method: PUT}
  patient:
    description: Reads, ten times.
    effect: read
    http: http://127.0.0.1:9/x
    retry: {attempts: 10, initial: 1s, max: 8s}
  hasty:
    description: Reads, within two seconds.
    effect: read
    http: http://127.0.0.1:9/x
    timeout: {total: 2s}
    retry: {attempts: 5, initial: 4s}
  rejected:
    description: Writes, and a rejection means that nothing happened.
    http: {url: http://127.0.0.1:9/x, method: POST}
    retry: {rejected_means_not_applied: true}
  once:
    description: Reads once.
    effect: read
    http: http://127.0.0.1:9/x
    retry: none
  narrow:
    description: Reads, and only a 503 is worth another try.
    effect: read
    http: http://127.0.0.1:9/x
    retry: {when: status == 503}
"""


class Script:
    """Raises or answers what it is given, one a call."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.calls = 0

    def __call__(self, _arguments):
        self.calls += 1
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        return step


@asynccontextmanager
async def opened(seed=7):
    clock = ManualClock()
    async with open_files({"tools.d/t.yaml": TOOLS}, clock=clock, random=Random(seed)) as rt:
        yield rt, clock


async def called(tool, *steps, seed=7):
    script = Script(*steps)
    async with opened(seed) as (rt, clock):
        with stubbed(rt, {tool: script}):
            result = await rt.call(tool, {})
    return result, script.calls, clock.slept


def status(code, **more):
    return BindingError(
        f"the service answered {code}",
        status=code,
        retryable=code in {408, 425, 429, 500, 502, 503, 504},
        target_fault=code >= 500,
        **more,
    )


def refused():
    return BindingError("connection refused", retryable=True, sent="never", target_fault=True)


def reset():
    return BindingError("connection reset", retryable=True, sent="maybe", target_fault=True)


@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504])
async def test_e4_a_read_is_tried_again_after_a_passing_status(code):
    result, calls, slept = await called("read", status(code), {"ok": 1})
    assert (result.status, result.data, calls, len(slept)) == ("success", {"ok": 1}, 2, 1)
    assert result.attempts == 2


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422, 501, 505])
async def test_e4_a_final_status_is_never_tried_again(code):
    result, calls, slept = await called("read", status(code))
    assert (result.status, calls, slept) == ("error", 1, [])


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_e4_a_write_is_not_tried_again_after_an_answer(code):
    result, calls, _ = await called("write", status(code))
    assert (result.error.code, calls) == ("execution-failed", 1)


async def test_e4_put_is_idempotent_by_itself():
    result, calls, _ = await called("put", status(503), "done")
    assert (result.status, calls) == ("success", 2)


async def test_e4_a_rejected_write_is_tried_again_only_where_declared():
    result, calls, _ = await called("rejected", status(429), "done")
    assert (result.status, calls) == ("success", 2)
    result, calls, _ = await called("rejected", status(503))
    assert calls == 1
    result, calls, _ = await called("rejected", status(503, retry_after_s=1.0), "done")
    assert (result.status, calls) == ("success", 2)


@pytest.mark.parametrize("tool", ["read", "write", "put"])
async def test_e5_what_was_never_sent_is_tried_again_for_any_method(tool):
    result, calls, _ = await called(tool, refused(), refused(), "done")
    assert (result.status, calls) == ("success", 3)


async def test_e5_an_ambiguous_write_is_sent_once_and_its_outcome_is_unknown():
    result, calls, _ = await called("write", reset())
    assert (result.error.code, calls) == ("unknown-outcome", 1)
    assert result.error.details["outcome"] == "unknown"
    assert result.error.retryable is False
    assert "before you try again" in result.error.hint


async def test_e5_an_ambiguous_read_is_tried_again():
    result, calls, _ = await called("read", reset(), "done")
    assert (result.status, calls) == ("success", 2)


async def test_e3_a_write_that_timed_out_says_that_its_outcome_is_unknown():
    result, calls, _ = await called("write", AttemptTimeoutError("no answer"))
    assert (result.error.code, result.error.details["outcome"], calls) == ("timeout", "unknown", 1)


async def test_e3_a_read_that_timed_out_has_no_unknown_outcome():
    result, _, _ = await called("once", AttemptTimeoutError("no answer"))
    assert result.error.code == "timeout"
    assert "outcome" not in result.error.details


async def test_e6_retry_after_is_the_shortest_wait():
    _, calls, slept = await called("read", status(503, retry_after_s=2.5), "done")
    assert calls == 2
    assert slept[0] >= 2.5


async def test_e6_a_retry_after_beyond_sixty_seconds_ends_the_call():
    result, calls, slept = await called("read", status(503, retry_after_s=61.0))
    assert (result.status, calls, slept) == ("error", 1, [])


async def test_e2_no_attempt_begins_when_the_wait_would_use_up_the_time():
    result, calls, slept = await called("hasty", status(503, retry_after_s=1.99))
    assert (result.status, calls, slept) == ("error", 1, [])
    assert result.error.message == "the service answered 503"


async def test_e7_waits_are_full_jitter_below_a_doubling_ceiling():
    for seed in range(20):
        result, calls, slept = await called("patient", status(503), seed=seed)
        assert result.status == "error"
        assert calls == len(slept) + 1
        for number, wait in enumerate(slept):
            assert 0 <= wait <= min(8.0, 2.0**number)


async def test_e7_a_seeded_schedule_repeats_itself():
    _, _, first = await called("patient", status(503), seed=3)
    _, _, second = await called("patient", status(503), seed=3)
    _, _, other = await called("patient", status(503), seed=4)
    assert first == second
    assert first != other


async def test_e7_three_attempts_are_the_built_in():
    result, calls, _ = await called("put", status(503))
    assert (calls, result.attempts) == (3, 3)
    assert result.error.details["failed_attempts"] == ["execution-failed", "execution-failed"]


async def test_e8_a_dead_target_costs_at_most_a_fifth_more_attempts():
    script = Script(status(500))
    async with opened() as (rt, _):
        with stubbed(rt, {"read": script}):
            for _ in range(20):
                await rt.call("read", {})
            assert script.calls < 20 * 1.6
            before = script.calls
            for _ in range(100):
                result = await rt.call("read", {})
    assert script.calls - before <= 120
    assert result.error.details["retry_budget"] == "empty"


async def test_e8_a_target_and_a_tool_of_one_name_have_budgets_of_their_own():
    text = """
        targets: {shop: {url: "http://127.0.0.1:9"}}
        tools:
          shop: {description: Shops., effect: read, http: "http://127.0.0.1:9/x"}
          look: {description: Looks., effect: read, http: {target: shop, url: /x}}
          list: {description: Lists., effect: read, http: {target: shop, url: /y}}
        """
    async with open_files({"tools.d/t.yaml": text}) as rt:
        look, list_, shop = (rt.snapshot.tools[name] for name in ("look", "list", "shop"))
        of = rt._gateway._equipment.budgets.of
        assert of(look.target, look.name) is of(list_.target, list_.name)
        assert of(look.target, look.name) is not of(shop.target, shop.name)


async def test_e8_successes_fill_the_budget_again():
    async with opened() as (rt, _):
        with stubbed(rt, {"read": Script(status(500))}):
            for _ in range(10):
                await rt.call("read", {})
        with stubbed(rt, {"read": Script("fine")}):
            for _ in range(10):
                await rt.call("read", {})
        script = Script(status(500), "fine")
        with stubbed(rt, {"read": script}):
            assert (await rt.call("read", {})).status == "success"
    assert script.calls == 2


@pytest.mark.parametrize("error", [ToolError("no"), BindingError("TypeError: x")])
async def test_e9_what_is_not_retryable_is_not_tried_again(error):
    _, calls, _ = await called("read", error)
    assert calls == 1


async def test_e9_an_author_may_declare_a_failure_retryable():
    result, calls, _ = await called("read", ToolError("busy", retryable=True), "done")
    assert (result.status, calls) == ("success", 2)
    _, calls, _ = await called("write", ToolError("busy", retryable=True))
    assert calls == 1


async def test_e9_invalid_arguments_never_reach_the_binding():
    script = Script("done")
    async with opened() as (rt, _):
        with stubbed(rt, {"read": script}):
            result = await rt.call("read", {"x": 1})
    assert (result.error.code, script.calls, result.attempts) == ("invalid-arguments", 0, 0)


async def test_retry_none_means_one_attempt():
    _, calls, _ = await called("once", status(503))
    assert calls == 1


async def test_retry_when_narrows_what_is_tried_again():
    _, calls, _ = await called("narrow", status(503), "done")
    assert calls == 2
    _, calls, _ = await called("narrow", status(502))
    assert calls == 1


async def test_e3_a_result_after_the_deadline_is_a_timeout():
    async with opened() as (rt, clock):
        with stubbed(rt, {"hasty": lambda _: clock.advance(5)}):
            result = await rt.call("hasty", {})
    assert result.error.code == "timeout"


async def test_a_bug_inside_becomes_a_result():
    async with opened() as (rt, _):
        with stubbed(rt, {"read": Script(KeyError("bug"))}):
            result = await rt.call("read", {})
    assert (result.status, result.error.code) == ("error", "internal")
    assert "bug" not in result.error.message.replace("this is a bug", "")


SLOW = {
    "slow.py": """
        import asyncio

        async def wait(seconds: float) -> str:
            '''Wait.'''
            await asyncio.sleep(seconds)
            return "done"

        async def stubborn(seconds: float) -> str:
            '''Will not be cancelled.'''
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
            return "done"
        """,
    "tools.d/t.yaml": """
        defaults: {effect: read, retry: {attempts: 2, initial: 1ms}}
        tools:
          wait: {python: "slow:wait", timeout: {attempt: 100ms}}
          stubborn: {python: "slow:stubborn", timeout: 60ms, retry: none}
        """,
}


@pytest.mark.realtime
async def test_e2_each_attempt_has_its_own_deadline():
    async with open_files(SLOW) as rt:
        result = await rt.call("wait", {"seconds": 5})
        assert (result.error.code, result.attempts) == ("timeout", 2)
        assert 0.18 < result.time_s < AT_ONCE_S
        assert (await rt.call("wait", {"seconds": 0})).text == "done"


@pytest.mark.realtime
async def test_e3_a_callee_that_swallows_its_cancellation_still_timed_out():
    async with open_files(SLOW) as rt:
        result = await rt.call("stubborn", {"seconds": 5})
    assert result.error.code == "timeout"


@pytest.mark.realtime
async def test_e13_a_cancelled_call_stops_at_once_and_is_not_tried_again():
    async with open_files(SLOW) as rt:
        task = asyncio.create_task(rt.call("wait", {"seconds": 5}))
        await asyncio.sleep(0.02)
        started = asyncio.get_running_loop().time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.get_running_loop().time() - started < AT_ONCE_S


@pytest.mark.realtime
async def test_an_outer_timeout_is_not_mistaken_for_the_tools_own():
    async with open_files(SLOW) as rt:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.03):
                await rt.call("wait", {"seconds": 5})
        assert asyncio.current_task().cancelling() == 0


IN_DOUBT = """
tools:
  put: {description: Puts., http: {url: http://127.0.0.1:9/x, method: PUT}}
  get: {description: Gets., http: http://127.0.0.1:9/x}
  keyed: {description: Posts., idempotent: true, http: {url: http://127.0.0.1:9/x, method: POST}}
  post: {description: Posts., http: {url: http://127.0.0.1:9/x, method: POST}}
  rejected:
    description: Posts.
    http: {url: http://127.0.0.1:9/x, method: POST}
    retry: {rejected_means_not_applied: true}
"""


async def doubted(tool, *steps):
    files = {"tools.d/t.yaml": IN_DOUBT}
    async with open_files(files, clock=ManualClock(), random=Random(1)) as rt:
        with stubbed(rt, {tool: Script(*steps)}):
            return await rt.call(tool, {})


@pytest.mark.parametrize("tool", ["put", "keyed"])
@pytest.mark.parametrize(
    ("steps", "code", "is_unknown"),
    [
        ([reset(), refused()], "execution-failed", True),
        ([reset(), status(503)], "execution-failed", True),
        ([reset(), status(503), refused()], "execution-failed", True),
        ([AttemptTimeoutError("no answer"), refused()], "execution-failed", True),
        ([refused(), reset()], "execution-failed", True),
        ([refused(), AttemptTimeoutError("no answer")], "timeout", True),
        ([reset(), status(404)], "execution-failed", False),
        ([reset(), ToolError("sold out")], "execution-failed", False),
        ([refused()], "execution-failed", False),
        ([status(503), refused()], "execution-failed", False),
    ],
)
async def test_e5_doubt_of_an_earlier_attempt_lasts_until_a_later_one_is_answered(
    tool, steps, code, is_unknown
):
    error = (await doubted(tool, *steps)).error
    assert (error.code, error.details.get("outcome") == "unknown") == (code, is_unknown)
    assert ("not known whether it took effect" in error.message) is is_unknown


async def test_e5_a_read_is_never_in_doubt():
    error = (await doubted("get", reset(), refused())).error
    assert "outcome" not in error.details


RETRYABLE = [
    # tool, failure, whether the caller may repeat the call
    ("get", status(503), True),
    ("get", reset(), True),
    ("get", AttemptTimeoutError("no answer"), True),
    ("get", status(404), False),
    ("put", status(503), True),
    ("put", status(429), True),
    ("put", reset(), True),
    ("put", AttemptTimeoutError("no answer"), True),
    ("put", status(404), False),
    ("keyed", status(500), True),
    ("keyed", reset(), True),
    ("post", refused(), True),
    ("post", status(408), False),
    ("post", status(429), False),
    ("post", status(500), False),
    ("post", status(503), False),
    ("post", status(503, retry_after_s=1.0), False),
    ("post", reset(), False),
    ("post", AttemptTimeoutError("no answer"), False),
    ("post", AttemptTimeoutError("no connection", sent="never"), True),
    ("post", ToolError("busy", retryable=True), True),
    ("post", ToolError("no"), False),
    ("rejected", status(429), True),
    ("rejected", status(503, retry_after_s=1.0), True),
    ("rejected", status(503), False),
    ("rejected", reset(), False),
]


@pytest.mark.parametrize(("tool", "failure", "may_repeat"), RETRYABLE)
async def test_e4_retryable_means_that_the_caller_may_safely_repeat_the_call(
    tool, failure, may_repeat
):
    assert (await doubted(tool, failure)).error.retryable is may_repeat


CHANGES = """
    import asyncio

    seen = []

    def fails_twice(seen_now):
        seen.append(seen_now)
        if len(seen) % 3:
            raise ConnectionError("again")
        return seen[-3:]

    def plain(items: list[int], more: dict) -> list:
        '''Changes what it was given, and fails twice.'''
        items.append(9)
        more["deep"][0]["left"] = more.pop("n", "nothing")
        return fails_twice([items, more])

    async def waits(items: list[int], more: dict) -> list:
        '''The same, on the loop.'''
        await asyncio.sleep(0)
        return plain(items, more)

    def loose(**all_of_it) -> list:
        '''The same, of whatever type.'''
        return plain(**all_of_it)
"""


@pytest.mark.parametrize(
    ("call", "run_in"),
    [("plain", "thread"), ("plain", "inline"), ("loose", "thread"), ("waits", "thread")],
)
async def test_e10_every_attempt_gets_the_arguments_that_were_checked(call, run_in):
    manifest = f"""
    tools:
      t:
        effect: read
        description: Changes its arguments.
        parameters:
          items: {{type: array, items: {{type: integer}}}}
          more: {{type: object}}
        python: {{call: "changes:{call}", run_in: {run_in}}}
        retry: {{attempts: 3, initial: 1ms}}
        result: {{text: "{{{{ items | json }}}} {{{{ more | json }}}}"}}
    """
    given = {"items": [1], "more": {"n": 1, "deep": [{}]}}
    async with open_files({"tools.d/t.yaml": manifest, "changes.py": CHANGES}) as runtime:
        result = await runtime.call("t", given)

    assert result.data == [[[1, 9], {"deep": [{"left": 1}]}]] * 3
    assert result.text == '[1] {"n":1,"deep":[{}]}'
    assert given == {"items": [1], "more": {"n": 1, "deep": [{}]}}
