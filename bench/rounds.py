"""How a case is measured: contestants take turns, and only ratios between neighbours count."""

import gc
import json
import random
import resource
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import median

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: `value` is compared with `goal`; `stretch` is where it should go."""

    what: str
    against: str
    value: float
    goal: float
    stretch: float | None = None
    unit: str = "x"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of this process and its children, of this process alone, and on the wall."""

    cpu_s: float
    own_cpu_s: float
    wall_s: float


Costs = Mapping[str, list[Cost]]


async def in_turns(contestants: Mapping[str, Call], *, rounds: int, batch: int) -> Costs:
    """The cost of `batch` calls of each contestant, in `rounds` rounds of random order."""
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    for call in contestants.values():
        await _cost_of(call, max(1, batch // 10))
    for number in range(rounds):
        for name in random.Random(number).sample(sorted(contestants), len(contestants)):  # noqa: S311 - an order, no secret
            costs[name].append(await _cost_of(contestants[name], batch))
    return costs


def cpu_ratio(costs: Costs, name: str, limit: str) -> float:
    """Median over the rounds of CPU of `name` / CPU of `limit`."""
    return median(a.cpu_s / b.cpu_s for a, b in zip(costs[name], costs[limit], strict=True))


def own_cpu_ratio(costs: Costs, name: str, limit: str) -> float:
    """The same of this process alone, for what children cost is not ours to change."""
    pairs = zip(costs[name], costs[limit], strict=True)
    return median(a.own_cpu_s / b.own_cpu_s for a, b in pairs)


def wall_ratio(costs: Costs, name: str, limit: str) -> float:
    """Median over the rounds of time of `name` / time of `limit`."""
    return median(a.wall_s / b.wall_s for a, b in zip(costs[name], costs[limit], strict=True))


def show(*figures: Figure) -> None:
    """What a case says to `run.py`: one JSON document on stdout."""
    print(json.dumps([asdict(figure) for figure in figures]))


async def _cost_of(call: Call, times: int) -> Cost:
    gc.collect()
    cpu_s, own_s, wall_s = _cpu_s(), time.process_time(), time.perf_counter()
    for _ in range(times):
        await call()
    wall_s, own_s = time.perf_counter() - wall_s, time.process_time() - own_s
    return Cost(_cpu_s() - cpu_s, own_s, wall_s)


def _cpu_s() -> float:
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
