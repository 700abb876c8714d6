"""Durations and sizes as people write them: `500ms`, `10s`, `5m`, `2h`, `7d`; `50KB`, `5MiB`."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 10_000 * 86400.0
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(B|KB|MB|GB|KiB|MiB|GiB)")
_BYTES = {
    "B": 1,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}
_LARGEST = 10**15


def duration_s(value: Any) -> float:
    """Seconds of a duration such as `500ms`. Raises a pydantic error for anything else."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError(
            "invalid-duration", "expected a duration such as 500ms, 10s, 5m or 2h"
        )
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST_S:
        raise PydanticCustomError("invalid-duration", "expected a duration of at most 10000d")
    return seconds


def size_bytes(value: Any) -> int:
    """Bytes of a size such as `50KB` (1000s) or `5MiB` (1024s)."""
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError("invalid-size", "expected a size such as 50KB or 5MiB")
    size = float(match[1]) * _BYTES[match[2]]
    if size > _LARGEST:
        raise PydanticCustomError("invalid-size", "expected a size of at most 1000000GB")
    return int(size)


Duration = Annotated[
    float,
    BeforeValidator(duration_s),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$"}),
]
Size = Annotated[
    int,
    BeforeValidator(size_bytes),
    WithJsonSchema({"type": "string", "pattern": f"^{_SIZE.pattern}$"}),
]
