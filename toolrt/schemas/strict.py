"""A tool's schema as a vendor takes it, with a report of each thing that is lost on the way.

What a vendor cannot check is checked by toolrt all the same when the call comes. Where a schema
cannot be said in a vendor's subset, the obstacles say why, and `loosened` is the way out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from toolrt.schemas.keywords import ROLES, WORKSPACE_PATH, Role
from toolrt.schemas.profiles import Profile
from toolrt.schemas.rewriting import AT_ROOT, MOST_NODES, Change, Rewriting, TooLargeError

_OUR_FORMATS = frozenset({"path", WORKSPACE_PATH})
_LONG_ENUM = 250
_FOR_CLIENTS = "x-mcp-header"
"""Where MCP clients repeat an argument."""
TITLES = frozenset(("$comment", "title"))
"""Words that say nothing to a model."""
_SAYS_NOTHING = TITLES | {"$anchor", "$dynamicAnchor", "$id", "$schema"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A schema for a vendor. With `obstacles` it is not what it should be; it is None where the
    vendor takes none of it.
    """

    schema: dict[str, Any] | None
    changes: tuple[Change, ...] = ()
    obstacles: tuple[Change, ...] = ()


def rewritten(schema: Mapping[str, Any], profile: Profile) -> Rewritten:
    """The schema of a tool's arguments in a vendor's subset."""
    work = Rewriting(schema, profile)
    try:
        made = work.whole()
    except TooLargeError:
        why = f"it has more than {MOST_NODES:,} parts once references are followed"
        return Rewritten(None, obstacles=(Change("", why),))
    obstacles = [*work.obstacles, *_beyond(made, profile)]
    return Rewritten(None if work.is_refused else made, _once(work.changes), _once(obstacles))


def loosened(schema: Mapping[str, Any], profile: Profile) -> Rewritten:
    """The schema for a request that holds the model to nothing: an object, without the words that
    a vendor takes in no schema, and without those that say nothing to a model.
    """
    changes: list[Change] = []
    whole = Rewriting(schema, profile).opened(schema)
    if whole is None:
        changes.append(Change("", "what its parts have in common cannot be told at the top"))
        whole = {word: each for word, each in schema.items() if word not in {"allOf", "$ref"}}
    changes += [
        Change("", f"`{word}` at the top is checked by toolrt alone")
        for word in AT_ROOT
        if word in whole
    ]
    rest = {word: each for word, each in whole.items() if word not in AT_ROOT}
    made = {"type": "object", "properties": {}, **_with_items(cleaned(rest))}
    wrong = _badly_named(made, profile)
    changes += [Change(each, "the vendor takes no such name of a parameter") for each in wrong]
    if not wrong.isdisjoint(made.get("required", ())):
        return Rewritten(None, _once(changes))
    kept = {name: each for name, each in made["properties"].items() if name not in wrong}
    return Rewritten({**made, "properties": kept}, _once(changes))


def cleaned(schema: Any, without: frozenset[str] = _SAYS_NOTHING) -> Any:
    """A schema without titles and other words that say nothing to a model, and those that nobody
    knows; a property may have any name, `title` too.
    """
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for word, value in schema.items():
        role = ROLES.get(word)
        if word in without or (word == "format" and value in _OUR_FORMATS):
            continue
        if role is None and word != _FOR_CLIENTS:
            continue
        made[word] = _inside(value, role, partial(cleaned, without=without))
    return made


def _with_items(schema: Any) -> Any:
    """A schema in which each list says something of its items, `{}` where they may be anything:
    OpenAI refuses a whole request for one that does not ("array schema missing items").
    """
    if not isinstance(schema, Mapping):
        return schema
    made = {word: _inside(value, ROLES.get(word), _with_items) for word, value in schema.items()}
    if "array" in made.get("type", ()) and made.get("items", True) is True:
        made["items"] = {}
    return made


def _inside(value: Any, role: Role | None, change: Callable[[Any], Any]) -> Any:
    """What stands under a word of that role, with each schema in it changed."""
    if role == "other":
        return value
    if isinstance(value, list):
        return [change(each) for each in value]
    if role == "named" and isinstance(value, Mapping):
        return {name: change(each) for name, each in value.items()}
    return change(value)


def _badly_named(schema: Mapping[str, Any], profile: Profile) -> frozenset[str]:
    if profile.names is None:
        return frozenset()
    return frozenset(each for each in schema["properties"] if not profile.names.fullmatch(each))


def _once(changes: list[Change]) -> tuple[Change, ...]:
    return tuple(dict.fromkeys(changes))


def _beyond(made: Mapping[str, Any], profile: Profile) -> Iterator[Change]:
    """The counts of a vendor that a schema is over."""
    size = _Size()
    size.add(made)
    levels = 0 if profile.most_levels is None else _levels(made, made.get("$defs", {}), {})
    for count, most, what in (
        (size.properties, profile.most_properties, "properties"),
        (size.options, profile.most_options, "values of enums"),
        (size.longest, profile.most_characters_of_long_enum, "characters in a long enum"),
        (size.characters, profile.most_characters, "characters of names and values"),
        (levels, profile.most_levels, "levels"),
    ):
        if most is not None and count > most:
            yield Change("", f"it has {count:,} {what}, and {profile.name} takes {most:,}")


class _Size:
    """What vendors count over a whole schema."""

    def __init__(self) -> None:
        self.properties = self.options = self.characters = self.longest = 0

    def add(self, schema: Any) -> None:
        if not isinstance(schema, Mapping):
            return
        options = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
        self.options += len(options)
        self.properties += len(schema.get("properties", ()))
        for word in ("properties", "$defs"):
            self.characters += sum(map(len, schema.get(word, ())))
            for inner in schema.get(word, {}).values():
                self.add(inner)
        length = sum(len(each) for each in options if isinstance(each, str))
        self.characters += length
        if len(options) > _LONG_ENUM:
            self.longest = max(self.longest, length)
        for inner in schema.get("anyOf", ()):
            self.add(inner)
        self.add(schema.get("items"))


def _levels(schema: Any, defs: Mapping[str, Any], known: dict[str, int]) -> int:
    """How deep objects and arrays stand in each other; what holds itself counts once."""
    if not isinstance(schema, Mapping):
        return 0
    ref = schema.get("$ref")
    if ref is not None:
        if ref not in known:
            known[ref] = 0
            known[ref] = _levels(defs.get(ref.rpartition("/")[2]), defs, known)
        return known[ref]
    inside = [*schema.get("properties", {}).values(), schema.get("items")]
    own = "properties" in schema or "items" in schema
    deepest = max(_levels(each, defs, known) for each in inside)
    beside = max((_levels(each, defs, known) for each in schema.get("anyOf", ())), default=0)
    return max(deepest + own, beside)
