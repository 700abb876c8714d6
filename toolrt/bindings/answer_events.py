"""A stream of server-sent events, once it has ended: one object an event.

Read as the HTML standard has it (section 9.2.6): an event that no empty line ends is dropped.
"""

import re
from collections.abc import Callable
from typing import Any

MOST_EVENTS = 100_000
_LINES = re.compile(r"\r\n|\n|\r")


def read_events(text: str, data_of: Callable[[str], Any]) -> list[dict[str, Any]]:
    """`{event, data, id}` of each event; `data_of` reads the data. Raises OverflowError."""
    events: list[dict[str, Any]] = []
    name, last_id = "", None
    lines: list[str] = []
    for line in _LINES.split(text.removeprefix("\ufeff")):
        if not line:
            if lines:
                data = data_of("\n".join(lines))
                events.append({"event": name or "message", "data": data, "id": last_id})
            if len(events) > MOST_EVENTS:
                raise OverflowError(f"there are more than {MOST_EVENTS:,} events")
            name, lines = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            lines.append(value)
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
    return events
