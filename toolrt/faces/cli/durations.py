"""Durations as people say them: `in 28 minutes`, `2 hours ago`; and those that they type."""

import time

import click

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_ENOUGH = 2
"""From so many of a unit on, that unit is used: 90 seconds are not yet minutes."""


def ahead(seconds: float) -> str:
    """When something will be, so many seconds from now."""
    return f"in {spoken(seconds)}" if seconds >= 1 else "now"


def ago(seconds: float) -> str:
    """When something was, so many seconds before now."""
    return f"{spoken(seconds)} ago" if seconds >= 1 else "just now"


def o_clock(wall: float) -> str:
    """When on the clock, to the second, and whose; with its date, where that is not today."""
    at = time.localtime(wall)
    is_today = at[:3] == time.localtime()[:3]
    return time.strftime("at %H:%M:%S %Z" if is_today else "on %Y-%m-%d at %H:%M:%S %Z", at)


def spoken(seconds: float) -> str:
    """`28 minutes`; rounded, since a person reads it."""
    whole = max(0, round(seconds))
    size, unit = next((each for each in _UNITS if whole >= each[0] * _ENOUGH), _UNITS[-1])
    number = round(whole / size)
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def seconds(value: float) -> str:
    """A duration as people write it in files: `250ms`, `10s`, `5m`, `2h`."""
    if value < 1:
        return f"{value * 1000:g}ms"
    for size, unit in ((3600, "h"), (60, "m")):
        if value >= size and value % size == 0:
            return f"{value / size:g}{unit}"
    return f"{value:g}s"


def duration(
    ctx: click.Context | None, param: click.Parameter | None, value: str | None
) -> float | None:
    """The callback of an option that takes `30s`, `5m` or `1h`: seconds."""
    if value is None:
        return None
    from pydantic_core import PydanticCustomError  # noqa: PLC0415 - `--help` needs it not

    from toolrt.manifest.scalars import duration_s  # noqa: PLC0415 - as above

    try:
        return duration_s(value)
    except PydanticCustomError as error:
        message = f"`{value}` is no duration such as 30s, 5m or 1h"
        raise click.BadParameter(message, ctx, param) from error
