"""Names: of operations to those of tools, of parameters to those of arguments.

The same document always gives the same names, and what one operation is called does not depend on
others, but where two would meet.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count

from toolrt.catalog.openapi.report import Notes
from toolrt.manifest.parameters import LONGEST_NAME, RESERVED

MOST_OF_TOOL = 100

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_NOT_IN_ARGUMENT = re.compile(r"[^A-Za-z0-9_]+")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_WORDS_OF_TEMPLATES = frozenset(
    ("and", "as", "do", "else", "false", "for", "if", "import", "in", "include", "is", "loop",
     "macro", "none", "not", "or", "raw", "recursive", "self", "set", "true", "varargs", "with")
)  # fmt: skip

Spelling = Callable[[str], str]


def kept_spelling(name: str) -> str:
    """A name as the document has it, with `_` for what no name of a tool has."""
    return _NOT_IN_NAME.sub("_", name).strip("_-")[:MOST_OF_TOOL]


def own_spelling(name: str) -> str:
    """A name as own tools have them: `listPets` is `list_pets`."""
    apart = _HUMPS.sub("_", name)
    made = re.sub(r"_+", "_", _NOT_IN_ARGUMENT.sub("_", apart)).strip("_").lower()
    made = made if not made[:1].isdigit() else f"n{made}"
    return made[:MOST_OF_TOOL].rstrip("_")


def place_name(method: str, path: str) -> str:
    """What an operation without an id is called: `get_pets_by_id` for GET /pets/{id}."""
    parts = [_PLACEHOLDER.sub(r"by_\1", part) for part in path.split("/") if part]
    return "_".join((method, *parts)) if parts else f"{method}_root"


class ToolNames:
    """The names of one document's tools; no two that only capitals tell apart."""

    def __init__(self, spelling: Spelling, notes: Notes) -> None:
        self._spelling = spelling
        self._notes = notes
        self._taken: dict[str, str] = {}

    def of(self, operation_id: str, method: str, path: str) -> str:
        """The name of an operation; where its id is taken, that of its place, and so on."""
        by_place = self._spelling(place_name(method, path)) or method
        wanted = self._spelling(operation_id) or by_place
        operation = f"{method.upper()} {path}"
        name = next(each for each in _tried(wanted, by_place) if _look(each) not in self._taken)
        if name != wanted:
            other = self._taken[_look(wanted)]
            reason = f"called `{name}`: {other} has the name `{wanted}`"
            self._notes.add("name", ("paths", path, method, "operationId"), reason)
        self._taken[_look(name)] = operation
        return name


def _tried(wanted: str, by_place: str) -> Iterator[str]:
    yield from (wanted, by_place)
    yield from (f"{by_place[: MOST_OF_TOOL - 6]}_{number}" for number in count(2))


def _look(name: str) -> str:
    return name.casefold().replace("-", "_")


class ArgumentNames:
    """The names of one tool's arguments: names that templates can say, each once."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, str]] = {}

    def of(self, name: str, place: str) -> str:
        """The name for the parameter `name` in `place`; a second of that name gets its place."""
        wanted = argument_name(name)
        tried = (wanted, argument_name(f"{place}_{name}"))
        numbered = (f"{wanted[: LONGEST_NAME - 6]}_{number}" for number in count(2))
        made = next(each for each in chain(tried, numbered) if each not in self._taken)
        self._taken[made] = (place, name)
        return made

    @property
    def origins(self) -> Mapping[str, tuple[str, str]]:
        """Argument -> the place and the name that it stands for."""
        return self._taken


def argument_name(name: str) -> str:
    """A name that templates can say, at most 64 characters."""
    made = _NOT_IN_ARGUMENT.sub("_", name).strip("_")
    if not made or made[:1].isdigit():
        made = f"p_{made}".rstrip("_")
    made = made[:LONGEST_NAME]
    is_taken = made in RESERVED or made.lower() in _WORDS_OF_TEMPLATES
    return f"{made}_" if is_taken else made
