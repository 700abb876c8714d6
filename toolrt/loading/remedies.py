"""What to write instead of a value that was refused: the slips that people make most.

Beside `problems`, which says what is wrong; a hint is given only where it is surely right.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from toolrt.core.faults import Path
from toolrt.core.names import nearest
from toolrt.manifest import planned

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_UNITS: Mapping[str, str] = {
    "": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "msec": "ms", "millis": "ms", "millisecond": "ms", "milliseconds": "ms",
    "min": "m", "mins": "m", "minute": "m", "minutes": "m",
    "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d",
}  # fmt: skip
_SIZES: Mapping[str, str] = {
    "": "B", "b": "B", "k": "KB", "kb": "KB", "m": "MB", "mb": "MB", "g": "GB", "gb": "GB",
    "kib": "KiB", "mib": "MiB", "gib": "GiB",
}  # fmt: skip
_TRUTHS: Mapping[str, str] = {
    "yes": "true", "on": "true", "y": "true", "true": "true",
    "no": "false", "off": "false", "n": "false", "false": "false",
}  # fmt: skip
_LIKELY = (
    "url", "bearer", "basic", "api_key", "description", "parameters", "python", "http", "command",
    "shell", "call", "script", "argv", "method", "target", "query", "headers", "json", "form",
    "body", "auth", "env", "stdin", "effect", "timeout", "retry", "result", "tools", "targets",
    "namespace", "defaults", "output", "success",
)  # fmt: skip
"""Keys that people write most, of every place."""
_IDLE = frozenset(
    key.rpartition(".")[2]
    for key in (*planned.TOOL, *planned.TOOLS_FILE, *planned.POLICIES_FILE, *planned.PROJECT_FILE)
)
"""Keys that do nothing yet; of one that works elsewhere this says no more than its rank."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ONE_WORD = re.compile(r"[\w*][\w.*-]*", re.ASCII)
_SWITCHED: Mapping[tuple[Any, bool], str] = {
    ("retry", False): "none",
    ("breaker", True): "{}",
    ("sandbox", True): "{}",
}
"""What stands for yes or no under keys that want a mapping."""
_COUNTED: Mapping[Any, str] = {"breaker": "{{failures: {}}}", "rate": "{}/1m"}
"""What stands for a number there."""
_MOST_ATTEMPTS = 10
_MOST_LISTED = 12
_ALIKE = 0.5
_SAME_START = 4
_SHORT_NAME = 3


def remedy(kind: str, path: Path, value: Any) -> str | None:
    """The hint for a `value` at `path` that was refused for a reason of pydantic's `kind`."""
    find = _REMEDIES.get(kind)
    right = find(path, value) if find else None
    return f"write `{right}`" if right else None


def asking(path: Path, value: Any) -> str | None:
    """The hint for a `default` of the rules that is to ask people; only rules ask."""
    if path != ("default",) or value != "ask":
        return None
    return 'write a rule that asks: `rules: [{id: ask, decide: ask, tools: ["*"]}]`'


def choice(value: Any, choices: Iterable[str]) -> str | None:
    """The choice that was meant, whatever its capitals."""
    if not isinstance(value, str):
        return None
    by_folded = {each.casefold(): each for each in choices}
    folded = value.casefold()
    close = folded if folded in by_folded else nearest(folded, by_folded, 0.6)
    return None if close is None else f"did you mean `{by_folded[close]}`?"


def key(name: str, known: Iterable[str]) -> str | None:
    """The key that was meant, or the known ones with those that look alike first."""
    names = sorted(known, key=_rank)
    if not names:
        return None
    close = meant(name, names) or _of_same_start(name, names)
    if close:
        return f"did you mean `{close}`?"
    alike = get_close_matches(name, names, n=_MOST_LISTED, cutoff=_ALIKE)
    listed = [*alike, *(each for each in names if each not in alike)]
    more = ", …" if len(listed) > _MOST_LISTED else ""
    return f"known here: {', '.join(listed[:_MOST_LISTED])}{more}"


def _rank(name: str) -> tuple[bool, int, str]:
    """What most people look for first, what does nothing yet last."""
    if name in _LIKELY:
        return False, _LIKELY.index(name), name
    return name in _IDLE, len(_LIKELY), name


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` surely is: close to it, or the same letters (`ulr` is `url`)."""
    names = list(known)
    letters = sorted(name)
    return nearest(name, names) or next((one for one in names if sorted(one) == letters), None)


def may_mean(name: str, right: str) -> bool:
    """Whether `name` may be a slip for `right`; of a short word, half of it is enough."""
    is_short = len(right) <= _SHORT_NAME
    return nearest(name, [right], 0.5 if is_short else 0.7) is not None or bool(
        meant(name, [right])
    )


def _of_same_start(name: str, known: list[str]) -> str | None:
    """`retries` is `retry`: the same beginning, and about as long."""
    close = nearest(name, known, 0.6)
    return close if close and close[:_SAME_START] == name[:_SAME_START] else None


def _mapping(path: Path, value: Any) -> str | None:
    last = path[-1] if path else None
    if isinstance(value, list):
        return _instead_of_list(last, value)
    if isinstance(value, bool):
        return _SWITCHED.get((last, value))
    if not isinstance(value, int) or value < 0:
        return None
    if last == "retry":
        return f"{{attempts: {min(max(value, 1), _MOST_ATTEMPTS)}}}"
    return _COUNTED[last].format(value) if value and last in _COUNTED else None


def _instead_of_list(last: Any, value: list[Any]) -> str | None:
    if last not in {"tools", "targets", "parameters"}:
        return None
    first = value[0] if value else None
    name = first.get("name") if isinstance(first, dict) else first
    shown = name if isinstance(name, str) and _NAME.fullmatch(name) else "name"
    return f"{last}: {{{shown}: {'string' if last == 'parameters' else '{…}'}}}"


def _listed(_path: Path, value: Any) -> str | None:
    """One name where a list of them is wanted."""
    if not isinstance(value, str) or not _ONE_WORD.fullmatch(value):
        return None
    return f'["{value}"]' if value.startswith("*") else f"[{value}]"


def _truth(_path: Path, value: Any) -> str | None:
    return _TRUTHS.get(value.casefold()) if isinstance(value, str) else None


def _duration(_path: Path, value: Any) -> str | None:
    return _with_unit(value, _UNITS, ("ms", "s", "m", "h", "d"))


def _size(_path: Path, value: Any) -> str | None:
    return _with_unit(value, _SIZES, ())


def _with_unit(value: Any, units: Mapping[str, str], right: Iterable[str]) -> str | None:
    match = None if isinstance(value, bool) else _NUMBER.fullmatch(str(value).strip())
    if match is None:
        return None
    unit = match[2].casefold()
    unit = unit if unit in right else units.get(unit, "")
    return f"{match[1]}{unit}" if unit else None


_REMEDIES: Mapping[str, Callable[[Path, Any], str | None]] = {
    "bool_type": _truth,
    "dict_type": _mapping,
    "invalid-duration": _duration,
    "invalid-size": _size,
    "list_type": _listed,
    "model_attributes_type": _mapping,
    "model_type": _mapping,
}
