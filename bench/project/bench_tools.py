"""The callables behind the python tools of the bench project."""

from typing import Any


async def quote(city: str, days: int = 1, units: str = "metric") -> dict[str, Any]:
    """An answer of four fields, from the event loop."""
    return {"city": city, "days": days, "units": units, "price": 12.5}


def quote_sync(city: str, days: int = 1, units: str = "metric") -> dict[str, Any]:
    """The same answer, from a thread."""
    return {"city": city, "days": days, "units": units, "price": 12.5}
