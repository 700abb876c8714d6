"""The page of metrics: what is told under which name, as Prometheus reads it.

Numbers come from whoever counts them; `METRICS` says what there is. The library is loaded when a
page is asked for, and never before.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

CONTENT_TYPE: Final = "text/plain; version=1.0.0; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric is, and the labels that tell its series apart."""

    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str


class Distribution(NamedTuple):
    """A histogram: how many are within each bound, then how many there are; and their sum."""

    bounds: tuple[float, ...]
    within: tuple[int, ...]
    total: float

    def plus(self, other: "Distribution") -> "Distribution":
        within = tuple(a + b for a, b in zip(self.within, other.within, strict=True))
        return Distribution(self.bounds, within, self.total + other.total)


class Reading(NamedTuple):
    """One value of a metric, with the values of its labels in their order."""

    name: str
    labels: tuple[str, ...]
    value: "float | Distribution"


_CALL = ("tool", "status", "code", "by")

METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "toolrt_calls_total": Metric(
            "counter", _CALL, "Calls that have ended, by who made them (caller, tool, approval)."
        ),
        "toolrt_call_duration_seconds": Metric(
            "histogram", ("tool", "status"), "How long calls took, from the question to the result."
        ),
        "toolrt_attempts_total": Metric("counter", ("tool",), "Tries at the binding."),
        "toolrt_retries_total": Metric("counter", ("tool",), "Failed tries that were repeated."),
        "toolrt_schema_violations_total": Metric(
            "counter", ("tool",), "Calls whose arguments did not fit the schema."
        ),
        "toolrt_unknown_tool_calls_total": Metric(
            "counter", (), "Calls of tools that are not there, or not for this caller."
        ),
        "toolrt_degraded_calls_total": Metric(
            "counter", ("tool", "by"), "Calls that a fallback answered (tool, value, stale)."
        ),
        "toolrt_throttled_calls_total": Metric(
            "counter", ("tool",), "Calls refused because the rate of the tool was used up."
        ),
        "toolrt_cache_hits_total": Metric("counter", ("tool",), "Calls answered by a kept answer."),
        "toolrt_cache_misses_total": Metric(
            "counter", ("tool",), "Calls of tools with a cache that asked the binding."
        ),
        "toolrt_result_tokens_total": Metric(
            "counter", ("tool",), "Tokens of results, estimated: a token for four bytes."
        ),
        "toolrt_breaker_state": Metric(
            "gauge", ("of", "name", "state"), "1 for the state of the breaker, 0 for the others."
        ),
        "toolrt_breaker_changes_total": Metric(
            "counter", ("of", "name", "to"), "Changes of the state of the breaker in this process."
        ),
        "toolrt_approvals": Metric("gauge", ("state",), "Approvals in the store, by their state."),
        "toolrt_approval_decisions": Metric(
            "gauge", ("verdict",), "What people have said to approvals in the store."
        ),
        "toolrt_approval_wait_seconds": Metric(
            "gauge", ("verdict",), "How long these decisions were waited for, all together."
        ),
        "toolrt_approval_oldest_seconds": Metric(
            "gauge", (), "How long the oldest pending approval has been waiting."
        ),
        "toolrt_reload_success": Metric("gauge", (), "Whether the files of now are in force."),
        "toolrt_reload_last_success_timestamp_seconds": Metric(
            "gauge", (), "When files last came into force, or were found to be."
        ),
        "toolrt_generation": Metric("gauge", (), "The number of the generation in force."),
        "toolrt_generation_info": Metric("gauge", ("hash",), "1 for the files in force."),
        "toolrt_tools": Metric("gauge", ("state",), "Tools in force (available, unavailable)."),
        "toolrt_journal_waiting": Metric(
            "gauge", (), "Entries of the journal that are not written yet."
        ),
        "toolrt_journal_lost_total": Metric(
            "counter", (), "Entries that the journal had no room for while its store failed."
        ),
        "toolrt_wrong_keys_total": Metric(
            "counter", ("answer",), "Keys that nobody has, by what came of it (refused, braked)."
        ),
        "toolrt_build_info": Metric("gauge", ("version",), "1 for the version of toolrt."),
    }
)  # fmt: skip
"""Every metric, in the order of the page."""


def page(readings: Iterable[Reading], mask: Callable[[str], str]) -> str:
    """The readings as Prometheus reads them; `mask` takes secrets out of labels (O1).

    Raises KeyError for a metric that is not in the table.
    """
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - start-up

    series = _series(readings, mask)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(series))
    return generate_latest(registry).decode()


_Series = dict[str, dict[tuple[str, ...], float | Distribution]]


def _series(readings: Iterable[Reading], mask: Callable[[str], str]) -> _Series:
    """The values by metric and labels; what has the same ones once they are masked is one."""
    found: _Series = {name: {} for name in METRICS}
    for name, written, value in readings:
        of_metric, labels = found[name], tuple(map(mask, written))
        before = of_metric.get(labels)
        of_metric[labels] = value if before is None else _sum(before, value)
    return found


def _sum(one: float | Distribution, other: float | Distribution) -> float | Distribution:
    if isinstance(one, Distribution) and isinstance(other, Distribution):
        return one.plus(other)
    if isinstance(one, Distribution) or isinstance(other, Distribution):
        raise TypeError("a histogram has no number")
    return one + other


class _Families:
    """What the library collects."""

    def __init__(self, series: _Series) -> None:
        self._series = series

    def collect(self) -> "Iterator[Family]":
        return (_family(name, found) for name, found in self._series.items() if found)


def _family(name: str, found: Mapping[tuple[str, ...], float | Distribution]) -> "Family":
    from prometheus_client.core import (  # noqa: PLC0415 - start-up
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    metric = METRICS[name]
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(name, metric.help, labels=metric.labels)
        for labels, value in found.items():
            if isinstance(value, Distribution):
                histogram.add_metric(labels, _buckets(value), value.total)
        return histogram
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(name.removesuffix("_total"), metric.help, labels=metric.labels)
    for labels, value in found.items():
        if not isinstance(value, Distribution):
            family.add_metric(labels, value)
    return family


def _buckets(value: Distribution) -> list[tuple[str, float]]:
    bounds = (*(f"{bound:g}" for bound in value.bounds), "+Inf")
    return [(bound, float(count)) for bound, count in zip(bounds, value.within, strict=True)]
