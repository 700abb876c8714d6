"""The breaker of one target or tool: three states, and when it goes from one to another (B1 to B5).

No clock, no store, no waiting: each step is told the time, in seconds of the monotonic clock, and
is over at once. `breakers` keeps those of a runtime and shares what becomes of them.
"""

from collections import Counter, deque
from enum import Enum
from typing import Literal

from toolrt.manifest.limits import Breaker as Options

BUCKETS = 10
MIN_CALLS = 10
"""So many calls must have ended within the window before their share of faults counts."""

LONGEST_S = 3600.0
MOST_TIMES = 8
"""Recovery doubles with each trial that fails: up to so many times what is written, and an hour."""

BUSY_S = 1.0
"""What callers are told to wait at most while another call is the trial."""

State = Literal["closed", "open", "half-open"]
Change = Literal["opened", "closed", "released"]


class Verdict(Enum):
    """What a call says of its target; `NONE` is a call that nobody can blame the target for."""

    SUCCESS = "success"
    FAULT = "fault"
    NONE = "none"


class Breaker:
    """Lets calls through, or refuses them for a while.

    Whoever is let through gets a token and settles it, however the call ends. One of before the
    last change of state is worth nothing any more: its call tells of a time gone by. `until` is
    when the trial may begin (open), or when it is given up (half-open). `moves` counts how often it
    came to a state.
    """

    __slots__ = (
        "failures",
        "is_closed",
        "most_failures",
        "moves",
        "options",
        "recent",
        "reopened",
        "state",
        "token",
        "until",
    )

    def __init__(self, options: Options) -> None:
        self.options = options
        self.most_failures = options.failures
        self.state: State = "closed"
        self.is_closed = True
        self.failures = 0
        self.reopened = 0
        self.until = 0.0
        self.token = 0
        self.moves: Counter[State] = Counter()
        self.recent = Recent(options.window)

    def refusal_s(self, now: float) -> float:
        """How long a call of now would have to wait; zero where it would be let through."""
        if self.state == "closed" or now >= self.until:
            return 0.0
        left_s = self.until - now
        return left_s if self.state == "open" else min(left_s, BUSY_S)

    def enter(self, now: float, until: float) -> int | None:
        """A token, or None for a call that is refused. A trial is given up at `until`."""
        if self.state == "closed":
            return self.token
        if now < self.until:
            return None
        self._move("half-open", until)
        return self.token

    def settle(self, token: int, verdict: Verdict, now: float) -> Change | None:
        """The call of this token has ended; gives the change of state that this makes."""
        if token != self.token:
            return None
        if self.state == "half-open":
            return self._settle_trial(verdict, now)
        if verdict is Verdict.SUCCESS:
            self.succeed(now)
            return None
        return self._fault(now) if verdict is Verdict.FAULT else None

    def succeed(self, now: float) -> None:
        """A call has ended well, of one that is closed."""
        self.failures = 0
        recent = self.recent
        if now >= recent.ends:
            recent.turn(now)
        recent.successes += 1

    def open(self, until: float, reopened: int) -> None:
        """Refuse calls until then; every token of before is worth nothing."""
        self.reopened = reopened
        self._move("open", until)

    def close(self) -> None:
        """Let calls through, with nothing against them."""
        self.failures = self.reopened = 0
        self.recent = Recent(self.options.window)
        self._move("closed", 0.0)

    def lend(self, until: float) -> None:
        """Somebody else makes the trial; it is given up at `until`."""
        self._move("half-open", until)

    def recovery_s(self) -> float:
        """How long it stays open, after so many trials that failed."""
        return recovery_s(self.options.recovery, self.reopened)

    def _settle_trial(self, verdict: Verdict, now: float) -> Change:
        if verdict is Verdict.SUCCESS:
            self.close()
            return "closed"
        if verdict is Verdict.FAULT:
            self.reopened += 1
            self.open(now + self.recovery_s(), self.reopened)
            return "opened"
        self.open(now, self.reopened)  # the next call is the trial
        return "released"

    def _fault(self, now: float) -> Change | None:
        self.failures += 1
        recent = self.recent
        if now >= recent.ends:
            recent.turn(now)
        recent.faults += 1
        if self.failures < self.most_failures and not recent.has_share(self.options.ratio):
            return None
        self.open(now + self.recovery_s(), 0)
        return "opened"

    def _move(self, state: State, until: float) -> None:
        self.moves[state] += state != self.state
        self.state, self.until = state, until
        self.is_closed = state == "closed"
        self.token += 1


class Recent:
    """How many calls ended within the last `span_s` seconds, and how many of them by a fault.

    Counted in ten buckets of time, so that the oldest tenth goes at once. `successes` and `faults`
    are those of the bucket that lasts until `ends`.
    """

    __slots__ = ("_earlier", "_number", "_width_s", "ends", "faults", "successes")

    def __init__(self, span_s: float) -> None:
        self.successes = self.faults = 0
        self.ends = float("-inf")
        self._width_s = max(span_s, 0.001) / BUCKETS
        self._number = 0
        self._earlier: deque[tuple[int, int, int]] = deque()

    def turn(self, now: float) -> None:
        """Begin the bucket of now; forget those whose time is over."""
        earlier, number = self._earlier, int(now / self._width_s)
        if self.successes or self.faults:
            earlier.append((self._number, self.successes, self.faults))
        while earlier and number - earlier[0][0] >= BUCKETS:
            earlier.popleft()
        self.successes = self.faults = 0
        self._number, self.ends = number, (number + 1) * self._width_s

    def has_share(self, ratio: float) -> bool:
        """Whether there were enough calls, and so many of them faults."""
        faults = self.faults + sum(each[2] for each in self._earlier)
        calls = faults + self.successes + sum(each[1] for each in self._earlier)
        return calls >= MIN_CALLS and faults >= ratio * calls


def recovery_s(written_s: float, reopened: int) -> float:
    """How long a breaker stays open after so many trials that failed."""
    longest_s = max(written_s, min(MOST_TIMES * written_s, LONGEST_S))
    return min(written_s * 2.0 ** min(reopened, 10), longest_s)
