"""What a breaker does, in the plainest words: every call is remembered, nothing is counted ahead."""

from dataclasses import dataclass, field

BUCKETS, MIN_CALLS, MOST_TIMES, LONGEST_S = 10, 10, 8, 3600.0


@dataclass(eq=False)
class Call:
    """One that was let through, and in which age of the breaker: ages end with each change."""

    age: int
    ends: float


@dataclass
class Model:
    """The breaker of a target that other processes know nothing of."""

    failures: int
    recovery: float
    ratio: float
    window: float
    age: int = 0
    state: str = "closed"
    until: float = 0.0
    trials: int = 0
    ended: list = field(default_factory=list)

    def is_refused(self, now):
        return self.state != "closed" and now < self.until

    def enter(self, now, ends):
        """The call, or None where it is refused."""
        if self.is_refused(now):
            return None
        if self.state != "closed":
            self.change("half-open", ends)
        return Call(self.age, ends)

    def settle(self, call, verdict, now):
        if call.age != self.age:
            return  # it tells of a time gone by
        if self.state == "half-open":
            self.settle_trial(verdict, now)
        elif verdict != "none":
            self.ended.append((now, verdict))
            if verdict == "fault" and (self.has_row() or self.has_share(now)):
                self.trials = 0
                self.change("open", now + self.recovery)

    def settle_trial(self, verdict, now):
        if verdict == "success":
            self.ended, self.trials = [], 0
            self.change("closed", 0.0)
        elif verdict == "fault":
            self.trials += 1
            most = max(self.recovery, min(MOST_TIMES * self.recovery, LONGEST_S))
            self.change("open", now + min(most, self.recovery * 2**self.trials))
        else:
            self.change("open", now)

    def has_row(self):
        """Whether the last calls that say anything were all faults."""
        last = [verdict for _, verdict in self.ended[-self.failures :]]
        return last == ["fault"] * self.failures

    def has_share(self, now):
        """Whether enough calls of the window were faults; a tenth of it goes at once."""
        width = self.window / BUCKETS
        recent = [v for at, v in self.ended if int(now / width) - int(at / width) < BUCKETS]
        return len(recent) >= MIN_CALLS and recent.count("fault") >= self.ratio * len(recent)

    def change(self, state, until):
        self.age += 1
        self.state, self.until = state, until
