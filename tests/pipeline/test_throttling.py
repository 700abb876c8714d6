"""Rates: never more calls in any span than the limit, whoever makes them, and no token is lost."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError
from toolrt.runtime import open as open_project
from toolrt.testing import ManualClock, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
defaults: {effect: read, retry: none}
tools:
  t: {description: T., python: "kit:nothing", rate: 5/10s}
  each: {description: T., python: "kit:nothing", rate: {limit: 2, per: 10s, by: caller}}
  firm: {description: T., python: "kit:nothing", rate: {limit: 2, per: 10s, by: tenant}}
  many: {description: T., python: "kit:nothing", rate: 64/10s}
  tries: {description: T., python: "kit:nothing", rate: 2/10s, retry: {attempts: 3, initial: 1ms}}
"""
FILES = {
    "tools.d/t.yaml": TOOLS,
    "kit.py": "async def nothing() -> str:\n    '''N.'''\n    return 'done'\n",
}
HOLD_S = 0.5
"""How long a token of ten seconds may be held."""


@asynccontextmanager
async def opened(files=FILES):
    clock = ManualClock()
    async with open_files(files, clock=clock) as runtime:
        yield runtime, clock


async def codes(runtime, times, tool="t", caller=None):
    results = [await runtime.call(tool, {}, caller) for _ in range(times)]
    return [each.error.code if each.error else each.status for each in results]


async def test_the_limit_may_be_used_at_once_and_then_the_rest_is_told_to_wait():
    async with opened() as (runtime, _):
        assert await codes(runtime, 5) == ["success"] * 5
        refused = await runtime.call("t", {})

    assert (refused.error.code, refused.attempts) == ("rate-limited", 0)
    assert refused.error.message == "`t` takes 5 calls in 10 s, and these are used up"
    assert 10.0 <= refused.error.details["retry_after"] <= 10.0 + HOLD_S
    assert refused.error.hint == "nothing ran; try again in 11 s"
    assert refused.error.retryable


async def test_what_it_says_is_when_a_call_goes_through_again():
    async with opened() as (runtime, clock):
        await codes(runtime, 3)
        clock.advance(4.0)
        await codes(runtime, 2)
        refused = await runtime.call("t", {})
        clock.advance(refused.error.details["retry_after"] - 0.01)
        assert await codes(runtime, 1) == ["rate-limited"]
        clock.advance(0.02)
        assert (await codes(runtime, 4))[-1] == "rate-limited"


async def test_callers_and_tenants_have_quotas_of_their_own():
    async with opened() as (runtime, _):
        ann, bob = Caller("ann", tenant="acme"), Caller("bob", tenant="acme")
        other = Caller("ann", tenant="other")
        assert Counter(await codes(runtime, 3, "each", ann)) == {"success": 2, "rate-limited": 1}
        assert await codes(runtime, 2, "each", bob) == ["success"] * 2
        assert await codes(runtime, 2, "each", other) == ["success"] * 2
        assert await codes(runtime, 1, "firm", ann) == ["success"]
        assert await codes(runtime, 2, "firm", bob) == ["success", "rate-limited"]
        refused = await runtime.call("firm", {}, bob)
        assert "for each tenant" in refused.error.message


async def test_a_call_takes_one_token_however_often_it_is_tried():
    async with opened() as (runtime, _):
        down = BindingError("down", retryable=True, sent="never")

        def fail(_arguments):
            raise down

        with stubbed(runtime, {"tries": fail}) as calls:
            assert await codes(runtime, 3, "tries") == ["execution-failed"] * 2 + ["rate-limited"]
    assert len(calls) == 6


async def test_calls_that_are_refused_before_take_none():
    async with opened() as (runtime, _):
        for _ in range(9):
            assert (await runtime.call("t", {"x": 1})).error.code == "invalid-arguments"
        assert await codes(runtime, 5) == ["success"] * 5


async def test_200_calls_at_once_get_as_many_tokens_as_there_are():
    async with opened() as (runtime, _):
        results = await asyncio.gather(*[runtime.call("many", {}) for _ in range(200)])

    statuses = Counter(each.error.code if each.error else each.status for each in results)
    assert statuses == {"success": 64, "rate-limited": 136}


async def test_a_caller_that_gives_up_while_it_waits_for_the_store_takes_no_token_with_it():
    async with opened() as (runtime, _):
        made = []
        for turns in range(6):
            call = asyncio.create_task(runtime.call("t", {}))
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            made.append(not call.cancelled())  # a quick store has answered by then
        assert not made[0]
        left = 5 - sum(made)
        assert await codes(runtime, left + 1) == ["success"] * left + ["rate-limited"]


async def test_settings_of_operators_lay_a_rate_over_tools_for_some_callers():
    policies = """
    rules: [{id: all, decide: allow, tools: ["*"]}]
    settings: [{tools: [t], when: caller.principal == "ann", rate: 1/10s}]
    """
    async with opened({**FILES, "policies.d/p.yaml": policies}) as (runtime, _):
        assert await codes(runtime, 2, caller=Caller("ann")) == ["success", "rate-limited"]
        assert await codes(runtime, 2, caller=Caller("bob")) == ["success"] * 2


async def test_what_is_held_is_given_back_at_the_end(tmp_path):
    write_files(tmp_path, FILES)
    clock = ManualClock()
    async with open_project(tmp_path, clock=clock) as one:
        assert await codes(one, 20, "many") == ["success"] * 20
    async with open_project(tmp_path, clock=clock) as two:
        assert Counter(await codes(two, 64, "many")) == {"success": 44, "rate-limited": 20}


async def test_a_store_that_fails_leaves_each_process_its_own_limit(tmp_path, caplog):
    write_files(tmp_path, FILES)
    (tmp_path / ".toolrt").mkdir()
    (tmp_path / ".toolrt" / "state.db").write_bytes(b"this is no database" * 100)
    clock = ManualClock()
    async with open_project(tmp_path, clock=clock) as runtime:
        assert await codes(runtime, 6) == ["success"] * 5 + ["rate-limited"]
        clock.advance(11.0)
        assert await codes(runtime, 6) == ["success"] * 5 + ["rate-limited"]

    assert len([each for each in caplog.messages if "is not shared" in each]) == 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.integers(0, 2), st.integers(1, 9)),
        st.tuples(
            st.just("wait"), st.sampled_from([0.1, 0.4, 0.6, 2.0, 5.0, 9.9, 10.5]), st.none()
        ),
    ),
    max_size=25,
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
async def test_over_all_processes_no_span_has_more_calls_than_the_limit(tmp_path_factory, steps):
    """Against the plainest reference: the times of all calls. And what may be used is used."""
    folder = write_files(tmp_path_factory.mktemp("rate"), FILES)
    clock, made = ManualClock(), []
    async with (
        open_project(folder, clock=clock) as one,
        open_project(folder, clock=clock) as two,
        open_project(folder, clock=clock) as three,
    ):
        for what, value, times in steps:
            if what == "wait":
                clock.advance(value)
                continue
            for code in await codes((one, two, three)[value], times):
                now = clock.monotonic()
                recent = sum(now - at < 10.0 for at in made)
                if code == "success":
                    assert recent < 5
                    made.append(now)
                else:
                    counted = sum(now - at < 10.0 + HOLD_S for at in made)
                    held = 2  # by the other two, a quarter of the limit each at most
                    assert counted + held >= 5
