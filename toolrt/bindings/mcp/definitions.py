"""What a server says of its tools, as plain values: bounded before anybody looks closer.

A definition is what a pin is made of: name, title, description, schemas, annotations. One that is
too large or no tool at all is kept by name with the reason, so that nothing vanishes unsaid.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from toolrt.schemas.canonical import canonical_json
from toolrt.schemas.plain import NotJsonError

MOST_TOOLS: Final = 2000
"""Tools of one server; what it lists beyond them is left out."""
MOST_BYTES: Final = 256 * 1024
"""The size of one definition as JSON."""
MOST_LISTED: Final = 16 * 1024**2
"""The size of all that one server has."""
MOST_DEPTH: Final = 48
_MOST_NAME: Final = 128
_LONGEST_SHOWN: Final = 40
_KEYS: Final = ("title", "description", "inputSchema", "outputSchema", "annotations")


@dataclass(frozen=True)
class Definition:
    """One tool as its server has it; nothing but its name where a `problem` keeps it from use.
    `size` is what it took to say it, in bytes of JSON.
    """

    name: str
    written: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None
    size: int = field(default=0, compare=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all of it; the same object is asked at each reload."""
        return sha256(canonical_json({"name": self.name, **self.written})).hexdigest()

    @property
    def description(self) -> str:
        return _text(self.written.get("description"))

    @property
    def title(self) -> str | None:
        said = self.written.get("title") or self.annotations.get("title")
        return said if isinstance(said, str) and said else None

    @property
    def input_schema(self) -> Mapping[str, Any]:
        return _mapping(self.written.get("inputSchema"))

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        return _mapping(self.written.get("outputSchema")) or None

    @property
    def annotations(self) -> Mapping[str, Any]:
        return _mapping(self.written.get("annotations"))


@dataclass(frozen=True, slots=True)
class Listing:
    """All tools of a server at one time; `left_out` counts those beyond the bound."""

    tools: tuple[Definition, ...] = ()
    left_out: int = 0


@dataclass(slots=True)
class Gathered:
    """What several pages of a list come to, within the bounds of one server."""

    tools: list[Definition] = field(default_factory=list)
    left_out: int = 0
    size: int = 0

    def take(self, page: Listing) -> None:
        """Add a page; what goes beyond the bounds is counted."""
        self.left_out += page.left_out
        for each in page.tools:
            if len(self.tools) >= MOST_TOOLS or self.size + each.size > MOST_LISTED:
                self.left_out += 1
                continue
            self.tools.append(each)
            self.size += each.size

    def listing(self) -> Listing:
        """All of it."""
        return Listing(tuple(self.tools), self.left_out)


def listing_of(raw: Iterable[Any]) -> Listing:
    """The tools among what a server listed; what is none is kept with what is wrong with it."""
    every = list(raw)
    return Listing(tuple(map(_definition, every[:MOST_TOOLS])), max(len(every) - MOST_TOOLS, 0))


def _definition(raw: Any) -> Definition:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str) or not raw["name"]:
        return Definition("?", problem="it has no name")
    name = raw["name"]
    if len(name) > _MOST_NAME:
        return Definition(f"{name[:_LONGEST_SHOWN]}…", problem="its name is too long")
    size, problem = _measured(raw)
    if problem is not None:
        return Definition(name, problem=problem)
    written = {key: raw[key] for key in _KEYS if raw.get(key) is not None}
    return Definition(name, written, size=size)


def _measured(raw: Mapping[str, Any]) -> tuple[int, str | None]:
    """The size of a definition, and what keeps it from use."""
    if is_deeper(raw, MOST_DEPTH):
        return 0, f"its definition is nested deeper than {MOST_DEPTH} levels"
    try:
        size = len(canonical_json(raw))
    except (NotJsonError, UnicodeEncodeError) as error:
        return 0, f"its definition is no JSON: {error}"
    if size > MOST_BYTES:
        return size, f"its definition is larger than {MOST_BYTES // 1024} KiB"
    if not isinstance(raw.get("inputSchema"), Mapping):
        return size, "its `inputSchema` is no JSON Schema"
    return size, None


def is_deeper(value: Any, most: int) -> bool:
    """Whether mappings and lists are nested deeper than that; without recursion."""
    level = [value]
    for _ in range(most + 1):
        level = [
            each
            for one in level
            for each in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(each, Mapping | list)
        ]
        if not level:
            return False
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
