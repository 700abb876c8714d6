"""PyYAML's C parser, and nothing else of PyYAML: text in, events out.

First step of a file's journey. Events carry start and end as character indexes; what libyaml
cannot parse leaves as a `ParseError`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

__all__ = [
    "EVENT_LIMIT",
    "AliasEvent",
    "DocumentStartEvent",
    "MappingEndEvent",
    "MappingStartEvent",
    "ParseError",
    "ScalarEvent",
    "SequenceEndEvent",
    "SequenceStartEvent",
    "StreamEndEvent",
    "events",
]

EVENT_LIMIT: Final = 150_000
"""About 1,500 tools; a file with more events is refused."""


@dataclass(eq=False)
class ParseError(Exception):
    """The text is no YAML: what libyaml was doing and since where, what it met and where."""

    problem: str
    start: int
    context: str = ""
    context_start: int | None = None


def events(source: bytes) -> Iterator[Any]:
    """The events of UTF-8 text without a byte order mark. Raises `ParseError`."""
    try:
        yield from iter(yaml.CBaseLoader(source).get_event, None)
    except yaml.MarkedYAMLError as error:
        raise _translated(error) from None
    except yaml.YAMLError as error:
        raise ParseError(str(error), 0) from None


def _translated(error: yaml.MarkedYAMLError) -> ParseError:
    before: Any = error.context_mark
    mark: Any = error.problem_mark or before
    return ParseError(
        error.problem or str(error),
        mark.index if mark else 0,
        error.context or "",
        before.index if before else None,
    )
