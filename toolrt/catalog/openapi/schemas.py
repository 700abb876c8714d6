"""Schemas of a document to JSON Schema 2020-12 that the catalogue takes without a fault.

Every reference becomes one into `$defs`, so that recursive schemas stay what they are; each schema
of the document is converted once, and shared by the tools that need it. A word that would check
nothing, or that means something to toolrt alone, does not come through: documents are foreign.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.catalog.openapi.refs import Document, Steps, why_not
from toolrt.catalog.openapi.report import NotMappedError
from toolrt.catalog.openapi.texts import argument_text
from toolrt.catalog.openapi.words import ANSWER, ARGUMENT, Words, finished

MOST_PARTS = 3_000
"""The most schemas in the arguments of one tool; what lies deeper takes anything."""
_MOST_COST = 10_000
_LONGEST_CHAIN = 100
_DEPTH = 24
"""Schemas in one another; each may be two levels in a file of YAML, which has 64."""
_MOST_BRANCHES = 1000
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_ONE = frozenset({"schema", "mapping"})
_STUB: Mapping[str, Any] = {"description": "Not described here: the service says what it takes."}


@dataclass(slots=True)
class Unit:
    """A converted schema: the names in `$defs` that it refers to, and how many schemas it has.

    `same` are the references that are about the very same value, as those of `allOf`.
    """

    schema: Any = None
    refs: dict[str, None] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    parts: int = 0


class Schemas:
    """The schemas of one document, as arguments (`ARGUMENT`) or as answers (`ANSWER`)."""

    def __init__(self, document: Document, words: Words) -> None:
        self._document = document
        self.words = words
        self._names: dict[str, str] = {}
        self._found: dict[str, tuple[Any, Steps]] = {}
        self._units: dict[str, Unit] = {}
        self._costs: dict[str, int] = {}

    def unit(self, value: Any, steps: Steps) -> Unit:
        """The schema that stands at `steps`."""
        unit = Unit()
        unit.schema = _Conversion(self, unit).schema(value, _At(steps, _DEPTH, is_same=True))
        return unit

    def definitions(self, units: Iterable[Unit], steps: Steps) -> dict[str, Any]:
        """The `$defs` for all of `units`: nearest first, and nothing past `MOST_PARTS`.

        Raises NotMappedError when the units themselves are larger than that.
        """
        units = list(units)
        size = sum(unit.parts for unit in units)
        if size > MOST_PARTS or any(self._is_too_costly(unit) for unit in units):
            raise NotMappedError(steps, "its schema is too large")
        made: dict[str, Any] = {}
        waiting = list(dict.fromkeys(name for unit in units for name in unit.refs))
        known = {*waiting}
        for name in waiting:  # grows on the way
            unit = self._unit_of(name)
            if size + unit.parts > MOST_PARTS or self._cost(name) > _MOST_COST:
                made[name] = dict(_STUB)
                self.note(self._found[name][1], "too large or endless: taken as anything")
                continue
            size += unit.parts
            made[name] = unit.schema
            waiting += [each for each in unit.refs if each not in known]
            known |= unit.refs.keys()
        return made

    def small_definitions(self, unit: Unit, most: int) -> dict[str, Any] | None:
        """All `$defs` for a unit; None when it is endless, or larger than `most` with them."""
        size, made, waiting = unit.parts, dict[str, Any](), list(unit.refs)
        while waiting and size <= most:
            name = waiting.pop()
            if name in made:
                continue
            found = self._unit_of(name)
            size += found.parts
            made[name] = found.schema
            waiting += found.refs
        is_endless = any(self._cost(name) > _MOST_COST for name in (*unit.same, *made))
        return None if size > most or is_endless else made

    def name_of(self, ref: str) -> str | None:
        """The name in `$defs` for a reference; None when it leads nowhere."""
        if ref not in self._names:
            found = self._document.find(ref)
            if found is None:
                return None
            self._names[ref] = self._free_name(ref)
            self._found[self._names[ref]] = found
        return self._names[ref]

    def note(self, steps: Steps, reason: str) -> None:
        if self.words is ARGUMENT:  # what an answer looks like decides nothing
            self._document.notes.add("schema", steps, reason)

    def _free_name(self, ref: str) -> str:
        wanted = _NOT_IN_NAME.sub("_", ref.rpartition("/")[2]).strip("_")[:80] or "schema"
        name, number = wanted, 2
        while name in self._found:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def _is_too_costly(self, unit: Unit) -> bool:
        """Whether a value meets too many schemas, those left out that take anything by now."""
        costs = [self._cost(name) for name in unit.same]
        return unit.parts + sum(cost for cost in costs if cost <= _MOST_COST) > _MOST_COST

    def _unit_of(self, name: str) -> Unit:
        if name not in self._units:
            self._units[name] = self.unit(*self._found[name])
        return self._units[name]

    def _cost(self, name: str, open_: tuple[str, ...] = ()) -> int:
        """How many schemas one value meets that `name` is about; too many where it never ends."""
        if name in open_ or len(open_) > _LONGEST_CHAIN:
            return _MOST_COST + 1
        if name not in self._costs:
            unit = self._unit_of(name)
            below = (*open_, name)
            cost = unit.parts
            for each in unit.same:
                cost += self._cost(each, below)
                if cost > _MOST_COST:
                    break
            self._costs[name] = cost
        return self._costs[name]


@dataclass(frozen=True, slots=True)
class _At:
    """A place in a unit: its steps, how much deeper it may go, and whether it is still about the
    value that the unit is about.
    """

    steps: Steps
    depth: int
    is_same: bool

    def into(self, step: str | int, *, is_same: bool) -> "_At":
        return _At((*self.steps, step), self.depth, self.is_same and is_same)

    def deeper(self) -> "_At":
        return _At(self.steps, self.depth - 1, self.is_same)


class _Conversion:
    """One unit on its way: what it refers to is collected."""

    def __init__(self, schemas: Schemas, unit: Unit) -> None:
        self._schemas = schemas
        self._words = schemas.words
        self._unit = unit

    def schema(self, value: Any, at: _At) -> Any:
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict):
            self._schemas.note(at.steps, "it is no schema: taken as anything")
            return {}
        self._unit.parts += 1
        if at.depth <= 0:
            self._schemas.note(at.steps, f"nested deeper than {_DEPTH}: taken as anything")
            return {}
        ref = value.get("$ref")
        if isinstance(ref, str):
            return self._reference(value, ref, at)
        made = self._words.plain(value, lambda why, word: self._tell(why, at.steps, word))
        for word, written in value.items():
            if word in self._words.holding:
                self._hold(made, word, written, at.deeper())
        text = argument_text(_text(value), value.get("default"))
        if text:
            made["description"] = text
        return finished(made, value)

    def _tell(self, why: str, steps: Steps, word: str) -> None:
        self._schemas.note((*steps, word), why)

    def _reference(self, value: Mapping[str, Any], ref: str, at: _At) -> Any:
        name = self._schemas.name_of(ref)
        if name is None:
            self._schemas.note(at.steps, f"{why_not(ref)}: taken as anything")
            return {}
        self._unit.refs[name] = None
        if at.is_same:
            self._unit.same.append(name)
        made = {"$ref": f"#/$defs/{name}"}
        if _text(value):
            made["description"] = argument_text(_text(value))
        return finished(made, value)

    def _hold(self, made: dict[str, Any], word: str, written: Any, at: _At) -> None:
        """What is below a word that holds schemas."""
        role, is_same = self._words.holding[word]
        into, below = self._words.renamed.get(word, word), at.into(word, is_same=is_same)
        if isinstance(written, dict) and role == "named":
            made[into] = dict(self._named(word, written, below))
        elif isinstance(written, dict if role == "mapping" else (dict, bool)) and role in _ONE:
            made[into] = self.schema(written, below)
        elif isinstance(written, list) and role == "schemas" and written:
            branches = enumerate(written[:_MOST_BRANCHES])
            all_ = [self.schema(each, below.into(index, is_same=True)) for index, each in branches]
            made[into] = [*made.get(into, ()), *all_]

    def _named(self, word: str, written: Mapping[str, Any], at: _At) -> Iterator[tuple[str, Any]]:
        for name, each in written.items():
            if self._words.is_name(word, name, each):
                yield name, self.schema(each, at.into(name, is_same=False))


def _text(value: Mapping[str, Any]) -> str:
    found = value.get("description")
    return found if isinstance(found, str) else ""


def argument_schemas(document: Document) -> Schemas:
    return Schemas(document, ARGUMENT)


def answer_schemas(document: Document) -> Schemas:
    return Schemas(document, ANSWER)
