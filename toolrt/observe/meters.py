"""Counts what became of calls, tool by tool; the page of metrics is made of it when somebody asks.

A call adds a number to a list and to a sum. All else waits until the list is long, or is read.
What is counted outlives generations: a tool that is compiled again goes on with its meter.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from toolrt.core.calls import Invocation
from toolrt.core.errors import CODES
from toolrt.core.results import ToolResult
from toolrt.observe.metrics import Distribution, Reading

BOUNDS_S: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the histogram of how long calls take."""

MOST_SERIES: Final = 2000
"""Tools with their statuses and codes that are told apart; what comes later is `(other)`."""

OTHER: Final = "(other)"
UNKNOWN: Final = "(unknown)"
"""Stands for every name that is no tool's: a name that a model made up is never a label."""

BYTES_A_TOKEN: Final = 4

By = Literal["caller", "tool", "approval"]
"""Who made the call: who uses tools, another call (E14), or somebody who runs what was approved."""

MOST_RECENT: Final = 1024
_OF_SCHEMA = frozenset({"invalid-arguments", "missing-arguments"})
_End = tuple[str, str, By]
_PLAIN: Final[_End] = ("success", "", "caller")
_INNER: Final[_End] = ("success", "", "tool")


class Latency:
    """How long calls took: those within each bound, all of them, and their sum in seconds."""

    __slots__ = ("_sum_s", "_within", "recent")

    def __init__(self) -> None:
        self.recent: list[float] = []
        self._within = [0] * (len(BOUNDS_S) + 1)
        self._sum_s = 0.0

    def add(self, time_s: float) -> None:
        self.recent.append(time_s)
        if len(self.recent) > MOST_RECENT:
            self.settle()

    def settle(self) -> None:
        """Sort what came lately into the buckets."""
        recent = self.recent
        recent.sort()
        for place, bound in enumerate(BOUNDS_S):
            self._within[place] += bisect_right(recent, bound)
        self._within[-1] += len(recent)
        self._sum_s += sum(recent)
        recent.clear()

    @property
    def count(self) -> int:
        return self._within[-1] + len(self.recent)

    def distribution(self) -> Distribution:
        self.settle()
        return Distribution(BOUNDS_S, tuple(self._within), self._sum_s)


class Meter:
    """What became of the calls of one tool. `is_kept`: its answers are, for a while.

    `recent` are the times of calls that went well at the first try, and did not wait for `settle`
    yet: that is for who counts them without `note` (see `telling`).
    """

    __slots__ = (
        "_ends", "_latencies", "_meters", "_plain", "attempts", "bytes_", "degraded", "hits",
        "inner", "is_kept", "misses", "recent", "retries", "settle", "throttled", "tool",
        "violations",
    )  # fmt: skip

    def __init__(self, tool: str, meters: "Meters") -> None:
        self.tool = tool
        self.is_kept = False
        self.attempts = self.retries = self.hits = self.misses = 0
        self.throttled = self.violations = self.bytes_ = 0
        self.degraded: Counter[str] = Counter()
        self._meters = meters
        self._ends: Counter[_End] = Counter({_PLAIN: 0})
        self._plain = Latency()
        self.inner: Latency | None = None
        self.recent, self.settle = self._plain.recent, self._plain.settle
        self._latencies: dict[str, Latency] = {}

    def note(self, invocation: Invocation, result: ToolResult) -> None:
        """Count a call that somebody made who uses tools; most went well at the first try, or were
        answered without one.
        """
        attempts, marks = invocation.attempts, invocation.marks
        has_way = marks is not None and "fallback" in marks
        if attempts > 1 or has_way or result.status != "success":
            self.add(invocation, result, "caller")
            return
        recent = self._plain.recent
        recent.append(result.time_s)
        self.bytes_ += invocation.shown_bytes
        if not attempts:
            self.attempts -= 1  # each plain call stands for one
            self.hits += invocation.is_cached
        elif self.is_kept:
            self.misses += 1
        if len(recent) > MOST_RECENT:
            self._plain.settle()

    def note_inner(self, invocation: Invocation, result: ToolResult) -> None:
        """Count a call that another tool made, and that went well at the first try; from then on
        it is enough to add the time of such a one to `inner`.
        """
        self.add(invocation, result, "tool")
        if _INNER in self._ends and not self.is_kept:
            self.inner = Latency()

    def add(self, invocation: Invocation, result: ToolResult, by: By) -> None:
        """Count any call."""
        code = result.error.code if result.error is not None else ""
        end = (result.status, code if code in CODES or not code else "other", by)
        is_unknown = code == "unknown-tool" and not invocation.attempts
        if is_unknown and self.tool != UNKNOWN:
            self._meters.unknown.add(invocation, result, by)
        elif end not in self._ends and not self._meters.has_room(self):
            self._meters.other.add(invocation, result, by)
        else:
            self._count(invocation, result, end)

    def _count(self, invocation: Invocation, result: ToolResult, end: _End) -> None:
        self._ends[end] += 1
        self._latencies.setdefault(result.status, Latency()).add(result.time_s)
        self.attempts += invocation.attempts
        if invocation.failed:
            self.retries += sum(each.delay_s is not None for each in invocation.failed)
        self.violations += end[1] in _OF_SCHEMA and not invocation.attempts
        self.hits += invocation.is_cached
        self.misses += self.is_kept and bool(invocation.attempts) and not invocation.is_cached
        self.bytes_ += max(invocation.shown_bytes, len(result.text))
        if invocation.marks is not None:
            self.degraded.update(_WAYS & {*invocation.marks.get("fallback", ())})

    def readings(self) -> Iterator[Reading]:
        """All that was counted; nothing of a tool that nobody called."""
        plain, inner = self._plain.count, self.inner.count if self.inner else 0
        if not plain and not self._latencies and not self.throttled:
            return
        tool = self.tool
        for (status, code, by), count in self._ends.items():
            total = count + (plain if (status, code, by) == _PLAIN else 0)
            total += inner if (status, code, by) == _INNER else 0
            if total:
                yield Reading("toolrt_calls_total", (tool, status, code, by), total)
        yield from self._times()
        yield from self._sums(self.attempts + plain + inner)
        for way, count in self.degraded.items():
            yield Reading("toolrt_degraded_calls_total", (tool, way), count)

    def _sums(self, attempts: int) -> Iterator[Reading]:
        sums = {
            "toolrt_attempts_total": attempts,
            "toolrt_retries_total": self.retries,
            "toolrt_schema_violations_total": self.violations,
            "toolrt_throttled_calls_total": self.throttled,
            "toolrt_result_tokens_total": self.bytes_ // BYTES_A_TOKEN,
        }
        if self.is_kept or self.hits or self.misses:
            sums["toolrt_cache_hits_total"] = self.hits
            sums["toolrt_cache_misses_total"] = self.misses
        is_tool = self.tool not in {OTHER, UNKNOWN}
        return (Reading(name, (self.tool,), n) for name, n in sums.items() if n or is_tool)

    def ended_by(self, wanted: str) -> int:
        """How many calls ended with that code."""
        return sum(count for (_, code, _), count in self._ends.items() if code == wanted)

    def _times(self) -> Iterator[Reading]:
        latencies = dict(self._latencies)
        inner = self.inner
        name = "toolrt_call_duration_seconds"
        if self._plain.count:
            plain = self._plain.distribution()
            more = latencies.pop("success", None)
            whole = plain if more is None else plain.plus(more.distribution())
            whole = whole if inner is None else whole.plus(inner.distribution())
            yield Reading(name, (self.tool, "success"), whole)
        elif inner is not None:
            more = latencies.pop("success")
            both = more.distribution().plus(inner.distribution())
            yield Reading(name, (self.tool, "success"), both)
        for status, latency in latencies.items():
            yield Reading(name, (self.tool, status), latency.distribution())


_WAYS = frozenset({"tool", "value", "stale"})
"""How a fallback stood in for a tool."""


class _Silent(Meter):
    """Counts nothing."""

    __slots__ = ()

    def note(self, invocation: Invocation, result: ToolResult) -> None:
        """Nothing."""

    def add(self, invocation: Invocation, result: ToolResult, by: By) -> None:
        """Nothing."""


class Meters:
    """The meters of a runtime."""

    def __init__(self) -> None:
        self._made: dict[str, Meter] = {}
        self._series = 0
        self.other, self.unknown = Meter(OTHER, self), Meter(UNKNOWN, self)

    def of(self, tool: str, *, is_kept: bool) -> Meter:
        """The meter of a tool of the project."""
        meter = self._made.get(tool) or self._new(tool)
        meter.is_kept = is_kept and meter is not self.other
        return meter

    def has_room(self, meter: Meter) -> bool:
        """Whether there may be one more series, which is counted then."""
        if meter is self.other or meter is self.unknown:
            return True
        if self._series >= MOST_SERIES:
            return False
        self._series += 1
        return True

    def readings(self) -> Iterable[Reading]:
        """All that was counted."""
        for meter in (*self._made.values(), self.other, self.unknown):
            yield from meter.readings()
        yield Reading("toolrt_unknown_tool_calls_total", (), self.unknown.ended_by("unknown-tool"))

    def _new(self, tool: str) -> Meter:
        if self._series >= MOST_SERIES:
            return self.other
        self._series += 1
        return self._made.setdefault(tool, Meter(tool, self))


class NoMeters(Meters):
    """Stands there where metrics are off."""

    def __init__(self) -> None:
        super().__init__()
        self.other = self.unknown = _Silent(OTHER, self)

    def of(self, tool: str, *, is_kept: bool) -> Meter:
        del tool, is_kept
        return self.other
