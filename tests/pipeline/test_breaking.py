"""The breaker itself (B1 to B5), against a model of it."""

import math

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.pipeline.breaker_model import Model
from toolrt.manifest.limits import Breaker as Options
from toolrt.pipeline.breaking import LONGEST_S, Breaker, Verdict, recovery_s

VERDICTS = st.sampled_from(list(Verdict))


class Machine(RuleBasedStateMachine):
    """Calls begin and end in any order; some never end, and some tell of a time gone by."""

    @initialize(
        failures=st.integers(1, 5),
        recovery=st.sampled_from([1.0, 8.0, 300.0, 3000.0]),
        ratio=st.sampled_from([0.25, 0.5, 1.0]),
        window=st.sampled_from([4.0, 64.0]),
    )
    def begin(self, failures, recovery, ratio, window):
        written = {"failures": failures, "ratio": ratio}
        options = Options(**written, recovery=f"{recovery:g}s", window=f"{window:g}s")
        self.breaker = Breaker(options)
        self.model = Model(failures, recovery, ratio, window)
        self.now = 1024.0
        self.running = []

    @rule(patience=st.sampled_from([0.5, 4.0, 64.0]))
    def call(self, patience):
        ends = self.now + patience
        token, call = self.breaker.enter(self.now, ends), self.model.enter(self.now, ends)
        assert (token is None) == (call is None)
        if call is not None:
            self.running.append((token, call))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), verdict=VERDICTS)
    def end(self, data, verdict):
        which = data.draw(st.integers(0, len(self.running) - 1))
        token, call = self.running.pop(which)
        before = self.breaker.state
        change = self.breaker.settle(token, verdict, self.now)
        self.model.settle(call, verdict.value, self.now)
        assert (change is not None) == (before != self.model.state)

    @rule(verdicts=st.lists(VERDICTS, min_size=1, max_size=12))
    def calls(self, verdicts):
        for verdict in verdicts:
            token = self.breaker.enter(self.now, self.now + 4)
            call = self.model.enter(self.now, self.now + 4)
            assert (token is None) == (call is None)
            if call is not None:
                self.breaker.settle(token, verdict, self.now)
                self.model.settle(call, verdict.value, self.now)

    @rule(seconds=st.sampled_from([0.125, 0.5, 2.0, 16.0, 256.0, 4096.0]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def wait_until_the_end(self):
        self.now = max(self.now, self.model.until)

    @invariant()
    def agrees(self):
        if not hasattr(self, "breaker"):
            return
        assert self.breaker.state == self.model.state
        assert (self.breaker.refusal_s(self.now) > 0) == self.model.is_refused(self.now)
        if self.model.state == "open":
            assert self.breaker.until == self.model.until


TestBreaker = Machine.TestCase
TestBreaker.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def breaker(**written):
    return Breaker(Options(**written))


def failing(breaker, times, now=0.0):
    for _ in range(times):
        token = breaker.enter(now, now + 1)
        breaker.settle(token, Verdict.FAULT, now)


def test_b1_three_faults_in_a_row_open_it_for_300_seconds():
    seed = breaker()
    failing(seed, 2)
    assert seed.state == "closed"
    failing(seed, 1)

    assert seed.state == "open"
    assert seed.refusal_s(0.0) == 300.0


def test_b1_half_of_ten_calls_open_it_however_they_are_mixed():
    mixed = breaker(failures=100)
    for number in range(9):
        token = mixed.enter(0.0, 1.0)
        mixed.settle(token, Verdict.FAULT if number % 2 else Verdict.SUCCESS, 0.0)
    assert mixed.state == "closed"
    failing(mixed, 1)

    assert mixed.state == "open"


def test_b1_calls_of_before_the_window_do_not_count():
    mixed = breaker(failures=100, window="10s")
    failing(mixed, 9, now=0.0)
    failing(mixed, 1, now=11.0)

    assert mixed.state == "closed"


def test_b3_a_refused_call_is_told_how_long_to_wait_and_is_no_failure():
    seed = breaker(failures=1, recovery="10s")
    failing(seed, 1)

    assert [seed.enter(1.0, 2.0) for _ in range(100)] == [None] * 100
    assert seed.refusal_s(4.0) == 6.0
    assert seed.enter(10.0, 11.0) is not None


@pytest.mark.parametrize("verdict", list(Verdict))
def test_b4_one_trial_at_a_time_and_however_it_ends_it_is_settled(verdict):
    seed = breaker(failures=1, recovery="10s")
    failing(seed, 1)
    trial = seed.enter(10.0, 40.0)

    assert trial is not None
    assert seed.enter(10.0, 40.0) is None
    seed.settle(trial, verdict, 11.0)

    expected = {"success": "closed", "fault": "open", "none": "open"}
    assert seed.state == expected[verdict.value]
    assert (seed.enter(11.0, 12.0) is None) == (verdict is Verdict.FAULT)


def test_b4_a_trial_that_never_ends_is_given_up_and_its_word_is_worth_nothing():
    seed = breaker(failures=1, recovery="10s")
    failing(seed, 1)
    lost = seed.enter(10.0, 40.0)
    assert seed.enter(39.9, 70.0) is None
    second = seed.enter(40.0, 70.0)
    seed.settle(lost, Verdict.SUCCESS, 41.0)

    assert seed.state == "half-open"
    seed.settle(second, Verdict.SUCCESS, 42.0)
    assert seed.state == "closed"


def test_a_call_of_before_it_opened_neither_closes_it_nor_keeps_it_open():
    seed = breaker(failures=1, recovery="10s")
    slow = [seed.enter(0.0, 60.0) for _ in range(2)]
    failing(seed, 1)
    seed.settle(slow[0], Verdict.SUCCESS, 5.0)
    seed.settle(slow[1], Verdict.FAULT, 6.0)

    assert (seed.state, seed.until) == ("open", 10.0)


def test_b5_each_trial_that_fails_doubles_the_wait_up_to_eight_times_and_an_hour():
    waits = [recovery_s(300.0, number) for number in range(6)]
    assert waits == [300.0, 600.0, 1200.0, 2400.0, 2400.0, 2400.0]
    assert recovery_s(1200.0, 5) == LONGEST_S
    assert recovery_s(7200.0, 5) == 7200.0
    assert math.isfinite(recovery_s(1.0, 10**6))
