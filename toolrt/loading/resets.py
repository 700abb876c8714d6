"""`null` resets a key to what is built in; where there is no such key, it is a misspelt one.

Laying layers over each other takes such keys away, so they are looked for in the layers themselves.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from toolrt.core.faults import Fault, Path
from toolrt.loading.layers import Layered
from toolrt.loading.problems import field_names, unknown_key


def reset_faults(model: type[BaseModel], layered: Layered, key: str | None = None) -> list[Fault]:
    """Faults of the keys without a value that `model` does not have.

    `model` is that of the tool, or that of the options at `key` of it.
    """
    faults: list[Fault] = []
    for layer in layered.layers:
        written = layer.data if key is None else layer.data.get(key)
        if isinstance(written, dict):
            found = (_fault(model, path, layered) for path in _nulls(written))
            faults += [fault.under(*([key] if key else [])) for fault in found if fault]
    return faults


def _fault(model: type[BaseModel], path: Path, layered: Layered) -> Fault | None:
    name = str(path[-1])
    if path[:-1] == ("parameters",):
        is_reset = any(
            name in (layer.data.get("parameters") or {}) for layer in layered.layers[:-1]
        )
        message = "expected a type or a mapping, got nothing"
        return None if is_reset else Fault("wrong-type", message, path)
    known = field_names(model, path[:-1])
    return unknown_key(path, known) if known and name not in known else None


def _nulls(written: Mapping[str, Any]) -> Iterator[Path]:
    """The keys without a value, at the two levels where `null` resets."""
    for key, value in written.items():
        if value is None:
            yield (key,)
        elif isinstance(value, dict) and None in value.values():
            yield from ((key, inner) for inner, one in value.items() if one is None)
