"""Many calls at once, before any is made: what is asked for, and in which order it is done.

Calls that only read are done together where they stand side by side; every other is done by
itself, in the order of the request. Who depends on another waits for it, wherever it stands.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from toolrt.catalog.snapshot import Snapshot
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.errors import RefusedError
from toolrt.core.names import did_you_mean
from toolrt.pipeline.stages.find import is_visible
from toolrt.schemas.text import parse_arguments

AT_ONCE: Final = 16
"""Calls that run together, unless a tool's `concurrency` says less."""

MOST_CALLS: Final = 1000

_KEYS = frozenset({"id", "tool", "arguments", "depends_on"})
_LONGEST_ID = 200


AtOnce = Callable[[str], int]
"""How many calls of the tool of that name may run together."""


class BatchCall(NamedTuple):
    """One call of a batch. `refusal` says why its arguments could not be read.

    `at_once` calls of its tool may run together and beside others; 0: it runs by itself.
    """

    id: str
    tool: str
    arguments: Any
    depends_on: tuple[str, ...] = ()
    refusal: RefusedError | None = None
    at_once: int = 0


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The calls in the order of the request, and the groups in which they are made."""

    calls: tuple[BatchCall, ...]
    groups: tuple[tuple[BatchCall, ...], ...]

    def document(self) -> dict[str, Any]:
        """JSON-ready: the ids of each group, and who waits for whom."""
        return {
            "calls": [
                {"id": each.id, "tool": each.tool, "depends_on": list(each.depends_on)}
                for each in self.calls
            ],
            "groups": [[each.id for each in group] for group in self.groups],
        }


def planned(
    calls: object, snapshot: Snapshot, caller: Caller, clock: Clock, *, serial: bool = False
) -> BatchPlan:
    """The plan of `calls` as this caller makes them; `serial` lets none run beside another.

    Raises:
        RefusedError: they are no batch; `details.call` is the number of the one at fault, from 1.
    """
    looking = Invocation("", "", {}, caller, clock, 0.0, 0.0)

    @cache
    def at_once(tool: str) -> int:
        return 0 if serial else _at_once(snapshot, tool, looking)

    read = tuple(_read_all(calls, at_once))
    return BatchPlan(read, tuple(grouped(_ordered(read))))


def _read_all(calls: object, at_once: AtOnce) -> list[BatchCall]:
    """Each call with its id; those without one are numbered."""
    if not isinstance(calls, Sequence) or isinstance(calls, str | bytes | bytearray):
        raise _refused("a batch is a list of calls", hint=_SHAPE)
    if len(calls) > MOST_CALLS:
        raise _refused(f"a batch has at most {MOST_CALLS} calls, this one {len(calls)}")
    read = [_read(each, number, at_once) for number, each in enumerate(calls, 1)]
    ids = {each.id for each in read}
    if len(ids) < len(read):
        _refuse_twins(read)
    for number, call in enumerate(read, 1):
        if call.depends_on:
            _check_dependencies(call, number, ids)
    return read


_SHAPE = 'write [{"tool": "files.size", "arguments": {"path": "note.md"}}, …]'


def _read(written: object, number: int, at_once: AtOnce) -> BatchCall:
    if not isinstance(written, dict | Mapping):
        raise _refused(f"call {number} is no object", number, _SHAPE)
    if not written.keys() <= _KEYS:
        raise _unknown_key(written, number)
    arguments, refusal = _arguments(written.get("arguments", {}))
    tool = written.get("tool", "")
    if not isinstance(tool, str):
        tool = f"<{type(tool).__name__}>"
    return BatchCall(
        _id(written["id"], number) if "id" in written else str(number),
        tool,
        arguments,
        _dependencies(written["depends_on"], number) if "depends_on" in written else (),
        refusal,
        at_once(tool) if isinstance(arguments, dict | Mapping) else 0,
    )


def _unknown_key(written: Mapping[Any, Any], number: int) -> RefusedError:
    key = next(str(each) for each in written if each not in _KEYS)
    hint = did_you_mean(key, sorted(_KEYS)) or f"a call has {', '.join(sorted(_KEYS))}"
    return _refused(f"call {number} has no key `{key[:100]}`", number, hint)


def _arguments(written: object) -> tuple[Any, RefusedError | None]:
    """What was handed over, and why it cannot be read; that is a failure of its call alone."""
    if not isinstance(written, str | bytes):
        return written, None
    try:
        return parse_arguments(written), None
    except RefusedError as refusal:
        return None, refusal


def _id(written: object, number: int) -> str:
    if isinstance(written, str) and 0 < len(written) <= _LONGEST_ID and written.isprintable():
        return written
    hint = "leave it away, and the call gets its number"
    raise _refused(f"the `id` of call {number} is no text of 1 to {_LONGEST_ID}", number, hint)


def _dependencies(written: object, number: int) -> tuple[str, ...]:
    if isinstance(written, list | tuple) and all(isinstance(each, str) for each in written):
        return tuple(dict.fromkeys(written))
    message = f"`depends_on` of call {number} is no list of ids"
    raise _refused(message, number, 'write "depends_on": ["a", "b"]')


def _refuse_twins(calls: Iterable[BatchCall]) -> None:
    first: dict[str, int] = {}
    for number, call in enumerate(calls, 1):
        if call.id in first:
            message = f"calls {first[call.id]} and {number} have the same `id`, `{call.id}`"
            raise _refused(message, number, "an id names one call; without one it gets its number")
        first[call.id] = number


def _check_dependencies(call: BatchCall, number: int, ids: set[str]) -> None:
    for each in call.depends_on:
        if each == call.id:
            raise _refused(f"call {number} (`{call.id}`) depends on itself", number)
    for each in set(call.depends_on) - ids:
        hint = did_you_mean(each, sorted(ids)) or "`depends_on` names calls of the same batch"
        message = f"call {number} (`{call.id}`) depends on `{each[:100]}`, which is no call here"
        raise _refused(message, number, hint)


def _at_once(snapshot: Snapshot, tool: str, looking: Invocation) -> int:
    """How many calls of a tool run beside others; 0 where it runs alone, or nobody can know."""
    entry = snapshot.tool(tool)
    if entry is None or not is_visible(entry, looking):
        return 0
    entry = entry.for_caller(looking)
    written = entry.manifest.concurrency
    if entry.effect != "read" or written == "serial":
        return 0
    return AT_ONCE if written is None else min(written, AT_ONCE)


def _ordered(calls: Sequence[BatchCall]) -> list[BatchCall]:
    """As close to the order of the request as dependencies let them be. Raises RefusedError."""
    if not any(call.depends_on for call in calls):
        return list(calls)
    places = {call.id: at for at, call in enumerate(calls)}
    missing = [len(call.depends_on) for call in calls]
    dependents: list[list[int]] = [[] for _ in calls]
    for at, call in enumerate(calls):
        for each in call.depends_on:
            dependents[places[each]].append(at)
    ready = [at for at, count in enumerate(missing) if not count]
    heapify(ready)
    ordered: list[BatchCall] = []
    while ready:
        at = heappop(ready)
        ordered.append(calls[at])
        for other in dependents[at]:
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, other)
    if len(ordered) < len(calls):
        raise _circle(calls, frozenset(call.id for call in ordered))
    return ordered


def _circle(calls: Sequence[BatchCall], done: frozenset[str]) -> RefusedError:
    """The refusal of calls that wait for each other."""
    left = {call.id: call for call in calls if call.id not in done}
    way: list[str] = []
    at = next(iter(left))
    while at not in way:
        way.append(at)
        at = next(each for each in left[at].depends_on if each in left)
    circle = [*way[way.index(at) :], at]
    number = next(n for n, call in enumerate(calls, 1) if call.id == at)
    told = " -> ".join(f"`{each}`" for each in circle)
    return _refused(f"calls wait for each other: {told}", number, "take one `depends_on` away")


def grouped(ordered: Iterable[BatchCall]) -> Iterable[tuple[BatchCall, ...]]:
    """Neighbours that may run together, and none that waits for another of them."""
    group: list[BatchCall] = []
    ids: set[str] = set()
    for call in ordered:
        if not call.at_once or not ids.isdisjoint(call.depends_on):
            if group:
                yield tuple(group)
            group, ids = [], set()
        if not call.at_once:
            yield (call,)
            continue
        group.append(call)
        ids.add(call.id)
    if group:
        yield tuple(group)


def _refused(message: str, number: int | None = None, hint: str | None = None) -> RefusedError:
    details = {} if number is None else {"call": number}
    hint = hint or "nothing ran; mend the batch and send all of it again"
    return RefusedError(message, code="invalid-arguments", hint=hint, details=details)
