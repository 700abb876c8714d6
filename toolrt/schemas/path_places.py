"""Where in the arguments the values of `format: path` are: found once at load, walked per call.

A place is found wherever a value leads to it without doubt: `properties`, `additionalProperties`
and `items` at any depth, through `$ref`, `allOf`, and branches of which only one can be a text. A
path that stands anywhere else could not be held inside its root, so it is an error (F1).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.core.faults import Fault, Path
from toolrt.schemas.keywords import ROLES
from toolrt.schemas.refs import MOST_SCHEMAS
from toolrt.schemas.shapes import Shapes, resolve, unescaped

_HIDING = (
    "not", "if", "then", "else", "contains", "patternProperties", "prefixItems", "propertyNames",
    "dependentSchemas", "dependencies", "unevaluatedItems", "unevaluatedProperties",
    "additionalItems", "contentSchema",
)  # fmt: skip
"""Keywords below which no value can be told to be meant."""
_HOLDERS = frozenset({"string", "array", "object"})
_MOVING = ("$dynamicRef", "$recursiveRef", "$id", "id")
_BESIDE_REF = frozenset({"$ref", "title", "description", "default", "examples", "$comment"})
_CODE = "unenforced-path"
_HINT = (
    "write it at the value itself, below `properties` or `items`, as {type: string, format: path}"
)


@dataclass(slots=True, eq=False)
class Place:
    """What is inside one value: `root` when it is a path itself, else where its paths are.

    `members` are by name, `others` the members of any other name; a recursive schema comes back
    to the same place.
    """

    root: str | None = None
    members: dict[str, "Place | None"] = field(default_factory=dict)
    others: "Place | None" = None
    items: "Place | None" = None

    def member(self, name: str) -> "Place | None":
        return self.members.get(name, self.others)

    def parts(self) -> list["Place"]:
        """The places directly inside."""
        return [one for one in (*self.members.values(), self.others, self.items) if one]

    def roots(self) -> set[str]:
        """Every root in it."""
        return {one.root for one in _reached(self) if one.root is not None}


def path_places(schema: Any) -> tuple[Place | None, list[Fault]]:
    """The places of paths in values of `schema`, None when there are none; and what is at fault.

    `schema` is one that `schema_faults` finds nothing wrong with.
    """
    if "'path'" not in repr(schema):  # most have none, and this is four times as fast as a walk
        return None, []
    finding = _Finding(schema)
    try:
        if not finding.has_paths():
            return None, []
        finding.refuse_moving()
        place = finding.place([_Source(schema, (), ".")])
    except RecursionError:
        return None, [Fault("schema-too-deep", "the schema is nested too deeply to find its paths")]
    holding = _holding(finding.places)
    _prune(holding)
    return (place if place in holding else None), finding.faults


@dataclass(frozen=True, slots=True)
class _Source:
    """A schema that a value must fit, where it stands, and the root that paths in it have."""

    schema: Any
    path: Path
    root: str


class _Finding:
    """Follows every way from the root to a value; each set of schemas is worked out once."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.shapes = Shapes(root)
        self.faults: list[Fault] = []
        self._known: dict[tuple[Any, ...], Place] = {}
        self._mentioning: dict[int, bool] = {}
        self._told: set[Path] = set()
        draft = str(root.get("$schema", "")) if isinstance(root, Mapping) else ""
        self._ref_stands_alone = "draft-0" in draft

    @property
    def places(self) -> list[Place]:
        return list(self._known.values())

    def place(self, sources: list[_Source]) -> Place:
        """The place of a value that all of `sources` are about."""
        key = tuple(sorted({(id(one.schema), one.root) for one in sources}))
        if key in self._known:
            return self._known[key]
        made = self._known[key] = Place()
        if len(self._known) > MOST_SCHEMAS:
            raise RecursionError
        parts = [part for source in sources for part in self._in_place(source, set())]
        for part in parts:
            self._refuse_hidden(part)
        made.root = self._root(parts, sources)
        for name in {name: None for part in parts for name in _map(part, "properties")}:
            made.members[name] = self._below([_member(part, name) for part in parts])
        made.others = self._below([_inner(part, "additionalProperties") for part in parts])
        made.items = self._below([_item(part) for part in parts])
        return made

    def has_paths(self) -> bool:
        """Whether `format: path` stands anywhere, definitions included."""
        return any(one.get("format") == "path" for one, _ in self._everything(self.root, (), set()))

    def refuse_moving(self) -> None:
        """Report what leads to other places than a plain pointer would."""
        for schema, path in self._everything(self.root, (), set()):
            moving = [word for word in _MOVING if isinstance(schema.get(word), str) and path]
            if "$ref" in schema and resolve(self.root, schema["$ref"]) is None:
                moving.append("$ref")
            for word in moving:
                message = f"paths could not be enforced behind this `{word}`"
                hint = "refer to `#/$defs/NAME`, without ids and anchors"
                self._fault(message, (*path, word), hint)
            if self._ref_stands_alone and "$ref" in schema and not _BESIDE_REF.issuperset(schema):
                message = "paths could not be enforced: in this draft nothing beside `$ref` counts"
                self._fault(message, (*path, "$ref"), "leave `$schema` out")

    def _mentions(self, schema: Any) -> bool:
        """Whether `format: path` stands anywhere in `schema` or behind its references."""
        known = self._mentioning.get(id(schema))
        if known is None:
            known = any(True for _ in self._mentioned(schema, ()))
            self._mentioning[id(schema)] = known
        return known

    def _mentioned(self, schema: Any, path: Path) -> Iterator[Path]:
        """The places of each `format: path` in `schema` and behind its references."""
        for one, where in self._everything(schema, path, set(), {"$defs", "definitions"}):
            if one.get("format") == "path":
                yield (*where, "format")

    def _everything(
        self, schema: Any, path: Path, seen: set[int], without: Collection[str] = ()
    ) -> Iterator[tuple[Mapping[str, Any], Path]]:
        """`schema` and all schemas in it and behind its references, each once."""
        if not isinstance(schema, dict) or id(schema) in seen:
            return
        seen.add(id(schema))
        yield schema, path
        for inner, where in _schemas_in(schema, path, without):
            yield from self._everything(inner, where, seen, without)
        target = self._target(schema)
        if target is not None:
            yield from self._everything(*target, seen, without)

    def _target(self, schema: Mapping[str, Any]) -> tuple[Any, Path] | None:
        ref = schema.get("$ref")
        target = resolve(self.root, ref)
        if target is None:
            return None
        return target, tuple(unescaped(step) for step in str(ref)[2:].split("/") if step)

    def _below(self, sources: list[_Source | None]) -> Place | None:
        live = [one for one in sources if one is not None and isinstance(one.schema, dict)]
        return self.place(live) if any(self._mentions(one.schema) for one in live) else None

    def _in_place(self, source: _Source, seen: set[int]) -> Iterator[_Source]:
        """The schemas that are about the very value of `source`, itself first."""
        schema, path = source.schema, source.path
        if not isinstance(schema, dict) or id(schema) in seen:
            return
        seen.add(id(schema))
        yield source
        target = self._target(schema)
        inner = [target] if target is not None else []
        inner += [(one, (*path, "allOf", n)) for n, one in _numbered(schema, "allOf")]
        for word in ("anyOf", "oneOf"):
            self._check_branches(schema, path, word)
            inner += [(one, (*path, word, n)) for n, one in _numbered(schema, word)]
        root = _text(schema.get("root"), source.root)
        for one, where in inner:
            yield from self._in_place(_Source(one, where, root), seen)

    def _check_branches(self, schema: Mapping[str, Any], path: Path, word: str) -> None:
        """Of branches with paths, each must know by the type alone that a value is its own."""
        branches = [(n, self._types(one)) for n, one in _numbered(schema, word) if one is not False]
        for number, types in branches:
            branch = schema[word][number]
            if not self._mentions(branch):
                continue
            others = [more for n, more in branches if n != number]
            if any(types & more for more in others):
                where = next(self._mentioned(branch, (*path, word, number)))
                message = f"`format: path` in one of several branches of `{word}` that fit one type"
                hint = f"let only one branch be of that type, or write it beside `{word}`"
                self._fault(f"{message} could not be enforced", where, hint)

    def _types(self, schema: Any) -> frozenset[str]:
        types = self.shapes.of(schema).types
        return _HOLDERS if types is None else types & _HOLDERS

    def _root(self, parts: list[_Source], sources: list[_Source]) -> str | None:
        """The root of a value, if it is a path: the same in all that say so."""
        marked = [part for part in parts if part.schema.get("format") == "path"]
        roots = dict.fromkeys(self._root_of(part) for part in marked)
        around = [self.shapes.of(source.schema).types for source in sources]
        for part in marked:
            types = self.shapes.of(part.schema).types
            known = [each for each in (types, *around) if each is not None]
            common = frozenset.intersection(*known) if known else _HOLDERS
            if common & _HOLDERS != {"string"}:
                message = "`format: path` is for texts, and this value can be something else"
                hint = "write `type: string` beside it; paths in a list stand below `items`"
                self._fault(message, (*part.path, "format"), hint)
        if len(roots) > 1:
            message = f"one path cannot have two roots: {', '.join(f'`{one}`' for one in roots)}"
            self._fault(message, (*marked[-1].path, "format"), "keep one of them")
        return next(iter(roots), None)

    def _root_of(self, part: _Source) -> str:
        root = part.schema.get("root", part.root)
        if isinstance(root, str) and "\0" not in root:
            return root
        self.faults.append(Fault("wrong-type", "`root` is a folder", (*part.path, "root")))
        return part.root

    def _refuse_hidden(self, part: _Source) -> None:
        """Report the paths of which nobody could say which values they are."""
        schema, path = part.schema, part.path
        words = [word for word in _HIDING if word in schema]
        if isinstance(schema.get("items"), list):
            words.append("items")
        for word in words:
            self._hidden({word: schema[word]}, path, f"below `{word}`")
        if "prefixItems" in schema and "items" in schema:
            self._hidden({"items": schema["items"]}, path, "in `items` beside `prefixItems`")
        if "patternProperties" in schema and "additionalProperties" in schema:
            more = {"additionalProperties": schema["additionalProperties"]}
            self._hidden(more, path, "in `additionalProperties` beside `patternProperties`")

    def _hidden(self, schema: Mapping[str, Any], path: Path, where: str) -> None:
        for place in self._mentioned(schema, path):
            self._fault(f"`format: path` {where} could not be enforced", place, _HINT)

    def _fault(self, message: str, path: Path, hint: str) -> None:
        if path not in self._told:
            self._told.add(path)
            self.faults.append(Fault(_CODE, message, path, hint))


def _text(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise


def _map(part: _Source, word: str) -> Mapping[str, Any]:
    found = part.schema.get(word)
    return found if isinstance(found, dict) else {}


def _numbered(schema: Mapping[str, Any], word: str) -> list[tuple[int, Any]]:
    found = schema.get(word)
    return list(enumerate(found)) if isinstance(found, list) else []


def _member(part: _Source, name: str) -> _Source | None:
    properties = _map(part, "properties")
    if name in properties:
        return _Source(properties[name], (*part.path, "properties", name), ".")
    return _inner(part, "additionalProperties")


def _inner(part: _Source, word: str) -> _Source | None:
    return _Source(part.schema[word], (*part.path, word), ".") if word in part.schema else None


def _item(part: _Source) -> _Source | None:
    """The items of an array, whose own `root` is theirs too."""
    made = _inner(part, "items")
    return made and _Source(made.schema, made.path, _text(part.schema.get("root"), part.root))


def _schemas_in(
    schema: Mapping[str, Any], path: Path, without: Collection[str]
) -> Iterator[tuple[Any, Path]]:
    """Every schema directly inside `schema`, and where, but for those below some keywords."""
    for word, value in schema.items():
        role = ROLES.get(word)
        if role in {None, "other"} or word in without:
            continue
        if isinstance(value, list):
            yield from ((each, (*path, word, n)) for n, each in enumerate(value))
        elif role == "named" and isinstance(value, dict):
            yield from ((each, (*path, word, name)) for name, each in value.items())
        else:
            yield value, (*path, word)


def _reached(place: Place) -> set[Place]:
    reached, ahead = {place}, [place]
    while ahead:
        more = [one for one in ahead.pop().parts() if one not in reached]
        reached.update(more)
        ahead += more
    return reached


def _holding(places: list[Place]) -> set[Place]:
    """The places that are paths or lead to one."""
    holding = {place for place in places if place.root is not None}
    grows = True
    while grows:
        more = {one for one in places if one not in holding and not holding.isdisjoint(one.parts())}
        holding |= more
        grows = bool(more)
    return holding


def _prune(holding: set[Place]) -> None:
    """Take out the ways that lead to no path.

    A member that holds none keeps its name as long as the others hold some: it is none of them.
    """
    for one in holding:
        if one.others not in holding:
            one.others = None
        kept = {name: each if each in holding else None for name, each in one.members.items()}
        one.members = {n: each for n, each in kept.items() if each or one.others}
        one.items = one.items if one.items in holding else None
