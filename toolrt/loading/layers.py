"""Laying what was written in several places over each other, and finding each value's origin.

Lowest first: built-in < project defaults < file defaults < tool < settings. For a tool of a source,
what the source says stands in place of the tool, and what its file lays over that upon it. Mappings
merge, everything else replaces, `null` resets to the built-in.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolrt.core.faults import MISSING, Path, child
from toolrt.expressions.conditions import Condition
from toolrt.loading.diagnostics import Span
from toolrt.loading.reader import Document

OPAQUE = frozenset({"input_schema", "output_schema", "tests", "reject"})
"""Keys whose value is data: it replaces as a whole, and a `null` inside it stays."""
_DATA_DEPTH = 2
SETTINGS = "settings"
"""Name of the layers that operators lay over tools."""
SOURCE = "source"
"""Name of the layers that say what a source has; they stand in no file."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A mapping of tool keys in long form, and where it stands.

    `limits` are those of an operator's setting: how often a session may call the tool.
    """

    name: str
    document: Document
    prefix: Path
    data: Mapping[str, Any]
    limits: Mapping[str, Any] | None = None

    def place(self, path: Path) -> Path:
        """The path of a value in the document, where its key may stand in short form."""
        raw = self.document.data
        for step in (*self.prefix, *path[:1]):
            raw = child(raw, step)
        is_long = isinstance(child(self.data, path[0]), dict) if path else False
        is_short = len(path) > 1 and is_long and not isinstance(raw, dict) and raw is not MISSING
        return (*self.prefix, path[0], *path[2:]) if is_short else (*self.prefix, *path)


@dataclass(frozen=True, slots=True)
class Conditional:
    """A layer that counts for some callers only; it lies upon the first `below` of its tool."""

    layer: Layer
    below: int
    condition: Condition


class Layered:
    """The layers of one tool, lowest first; `merged` is what they come to: look, but do not change,
    for it shares what only one of them has.
    """

    __slots__ = ("layers", "merged")

    def __init__(self, layers: list[Layer]) -> None:
        self.layers = layers
        self.merged: dict[str, Any] = {}
        for layer in layers:
            self.merged = merge(self.merged, layer.data)

    def copy(self) -> "Layered":
        """The same layers, to lay more upon."""
        made = Layered([])
        made.layers, made.merged = list(self.layers), self.merged
        return made

    def lay(self, layer: Layer) -> None:
        """Put one more layer on top."""
        self.layers.append(layer)
        self.merged = merge(self.merged, layer.data)

    def under(self, conditional: Sequence[Conditional]) -> "Layered":
        """The layers for a caller to whom these apply; they are in order."""
        layers = list(self.layers)
        for each in reversed(conditional):
            layers.insert(each.below, each.layer)
        return Layered(layers)

    @property
    def own(self) -> Layer:
        """The layer of the tool itself; operators' settings may lie over it."""
        return next(layer for layer in reversed(self.layers) if layer.name != SETTINGS)

    @property
    def limits(self) -> Mapping[str, Any] | None:
        """The limits that operators' settings come to; None where there are none."""
        merged: dict[str, Any] = {}
        for layer in self.layers:
            merged = merge(merged, layer.limits or {})
        return merged or None

    def span(self, path: Path, *, on_key: bool = False, offset: int | None = None) -> Span:
        """Where the value at `path` of the merged tool was written."""
        layer = self.origin(path)
        return layer.document.span(layer.place(path), on_key=on_key, offset=offset)

    def origin(self, path: Path) -> Layer:
        """The highest layer that wrote the value at `path`, or as much of the path as any did."""
        for end in range(len(path), 0, -1):
            for layer in reversed(self.layers):
                if _has(layer.data, path[:end]):
                    return layer
        return self.layers[-1]

    def text(self, key: str) -> str | None:
        """The text under `key`; a number is taken as it was written."""
        value = self.merged.get(key)
        if isinstance(value, str):
            return value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return self.source_text((key,)) if is_number else None

    def source_text(self, path: Path) -> str | None:
        """The plain scalar at `path` exactly as written; None for anything else."""
        layer = self.origin(path)
        return layer.document.source_text(layer.place(path))


def merge(low: Mapping[str, Any], high: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """`high` over `low`; neither is changed, and what only `high` has is shared. `null` removes a
    key at the first two levels.
    """
    if not low and isinstance(high, dict) and not _removes(high, depth):
        return high
    merged = dict(low)
    for key, value in high.items():
        if value is None and depth < _DATA_DEPTH:
            merged.pop(key, None)
        elif isinstance(value, dict) and key not in OPAQUE:
            below = merged.get(key)
            merged[key] = merge(below if isinstance(below, dict) else {}, value, depth + 1)
        else:
            merged[key] = value
    return merged


def _removes(data: Mapping[str, Any], depth: int) -> bool:
    """Whether a `null` in it would remove a key."""
    return depth < _DATA_DEPTH and any(
        value is None
        or (isinstance(value, dict) and key not in OPAQUE and _removes(value, depth + 1))
        for key, value in data.items()
    )


def replaced(data: Any, path: Path, value: Any) -> Any:
    """`data` with `value` at `path`; what lies on the way is copied, the rest shared."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    copy: Any = list(data) if isinstance(data, list) else dict(data)
    copy[step] = replaced(data[step], rest, value)
    return copy


def without(data: Any, path: Path) -> Any:
    """`data` without what `path` leads to; a list on the way goes as a whole."""
    if not path or not isinstance(data, dict) or path[0] not in data:
        return data
    rest = {key: value for key, value in data.items() if key != path[0]}
    below = data[path[0]]
    if len(path) > 1 and isinstance(below, dict):
        rest[str(path[0])] = without(below, path[1:])
    return rest


def origins(layered: Layered, places: Callable[[Layer], str]) -> dict[str, str]:
    """Dotted path of each written leaf -> the place that it comes from."""
    return {
        ".".join(map(str, path)): places(layered.origin(path)) for path in _leaves(layered.merged)
    }


def _leaves(data: Mapping[str, Any], path: Path = ()) -> list[Path]:
    found: list[Path] = []
    for key, value in data.items():
        here = (*path, key)
        if isinstance(value, dict) and value and len(here) < _DATA_DEPTH + 1:
            found += _leaves(value, here)
        else:
            found.append(here)
    return found


def _has(data: Any, path: Path) -> bool:
    for step in path:
        data = child(data, step)
    return data is not MISSING
