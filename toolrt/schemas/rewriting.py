"""One walk that rewrites a schema into a vendor's subset, and notes what is lost on the way.

`strict` is the door to it. What a vendor cannot check is told in the description where words can.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolrt.schemas.alternatives import NULL, ONE_OF_MOST, by_type, nullable
from toolrt.schemas.keywords import ANNOTATIONS, ROLES, TYPE_OF
from toolrt.schemas.merging import merged
from toolrt.schemas.profiles import Profile
from toolrt.schemas.shapes import json_type, resolve
from toolrt.schemas.wording import IN_WORDS, described, is_silent, text_of

MOST_NODES = 10_000

_BUILT = frozenset(
    ("$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "items", "oneOf",
     "patternProperties", "prefixItems", "properties", "required", "type")
)  # fmt: skip
"""Words that are looked at one by one."""
AT_ROOT = ("anyOf", "oneOf", "not", "enum", "const", "if", "then", "else")
"""Words that no vendor takes at the top, where a tool's arguments are an object."""

Schema = Mapping[str, Any]


class Change(NamedTuple):
    """What is not in the rewritten schema, and the parameter that it was said of, such as
    `to.street` or `stops[]`; empty for all of them.
    """

    path: str
    says: str


class TooLargeError(Exception):
    """Following the references gives more than `MOST_NODES` schemas."""


class Rewriting:
    """One schema on its way into the subset of `profile`."""

    def __init__(self, root: Schema, profile: Profile) -> None:
        self._root = root
        self._profile = profile
        self._defs: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._open: list[str] = []
        self._followed: set[str] = set()
        self._told: frozenset[str] = frozenset()
        self._size = 0
        self.changes: list[Change] = []
        self.obstacles: list[Change] = []
        self.is_refused = False

    def whole(self) -> dict[str, Any]:
        """The rewritten schema of arguments. Raises TooLargeError."""
        schema = self.opened(self._root)
        if schema is None:
            self._general("", "what its parts have in common cannot be told at the top")
            schema = {word: value for word, value in self._root.items() if word != "allOf"}
        for word in AT_ROOT:
            if word in schema:
                self._change("", f"`{word}` at the top is checked by toolrt alone")
        rest = {word: value for word, value in schema.items() if word not in AT_ROOT}
        told: list[str] = []
        made = self._described(self._of_type("object", rest, "", told), rest, told)
        return {**made, "$defs": self._defs} if self._defs else made

    def opened(self, schema: Any) -> dict[str, Any] | None:
        """A schema with its own reference and `allOf` merged into it; None where that cannot be."""
        if not isinstance(schema, Mapping):
            return {} if schema is True else None
        rest = {word: value for word, value in schema.items() if word not in {"allOf", "$ref"}}
        parts: list[Any] = [rest]
        if "$ref" in schema:
            if schema["$ref"] in self._open:
                return None
            self._followed.add(schema["$ref"])
            parts.append(self._inside(schema["$ref"], resolve(self._root, schema["$ref"])))
        parts += [self.opened(each) for each in schema.get("allOf", ())]
        return merged(parts)

    def _inside(self, ref: str, target: Any) -> dict[str, Any] | None:
        self._open.append(ref)
        made = self.opened(target)
        self._open.pop()
        return made

    def _node(self, schema: Any, path: str) -> dict[str, Any]:
        self._size += 1
        if self._size > MOST_NODES:
            raise TooLargeError
        if not isinstance(schema, Mapping):
            return self._anything(path, "any value" if schema is not False else "no value")
        if "$ref" in schema and (schema.keys() & ROLES.keys()) - {"$ref"} <= ANNOTATIONS:
            return self._reference(schema, path)
        if "allOf" in schema or "$ref" in schema:
            return self._together(schema, path)
        return self._plain(schema, path)

    def _together(self, schema: Schema, path: str) -> dict[str, Any]:
        """A schema whose parts are told as one, where they are and where that comes to an end."""
        self._followed = set()
        made, followed = self.opened(schema), frozenset(self._followed)
        if made is None or not followed.isdisjoint(self._told):
            self._general(path, "what its parts have in common cannot be told")
            rest = {word: each for word, each in schema.items() if word not in {"allOf", "$ref"}}
            return self._plain(rest, path)
        before, self._told = self._told, self._told | followed
        node = self._plain(made, path)
        self._told = before
        return node

    def _plain(self, schema: Schema, path: str) -> dict[str, Any]:
        """A schema without a reference and `allOf` of its own."""
        told: list[str] = []
        if "anyOf" in schema or "oneOf" in schema:
            made = self._union(schema, path, told)
        else:
            made = self._value(schema, path, told)
        return self._described(made, schema, told)

    def _reference(self, schema: Schema, path: str) -> dict[str, Any]:
        ref = schema["$ref"]
        target = resolve(self._root, ref)
        if not isinstance(target, Mapping):
            return self._anything(path, "any value")
        if not self._profile.has_refs:
            return self._described(self._inlined(ref, target, path), schema, [])
        if ref in self._open and not self._profile.has_recursion:
            self._general(path, "it holds itself")
        made = {"$ref": f"#/$defs/{self._defined(ref, target)}"}
        return self._described(made, schema, [])

    def _inlined(self, ref: str, target: Schema, path: str) -> dict[str, Any]:
        if self._open.count(ref) > 1:
            self._general(path, "what holds itself is told two levels deep")
            kind = target.get("type", "object")
            return self._of_type(kind, {}, path, []) if isinstance(kind, str) else {}
        self._open.append(ref)
        made = self._node(target, path)
        self._open.pop()
        return made

    def _defined(self, ref: str, target: Schema) -> str:
        """The name in `$defs` of what a reference leads to, which is made once."""
        if ref not in self._names:
            plain = re.sub(r"[^A-Za-z0-9_]", "_", ref.rpartition("/")[2]).strip("_") or "root"
            taken = {*self._names.values()}
            name = next(
                each
                for each in (plain, *(f"{plain}_{n}" for n in range(2, MOST_NODES)))
                if each not in taken
            )
            self._names[ref] = name
            self._defs[name] = {}  # it keeps its place while it is made
            self._open.append(ref)
            self._defs[name] = self._node(target, name)
            self._open.pop()
        return self._names[ref]

    def _union(self, schema: Schema, path: str, told: list[str]) -> dict[str, Any]:
        word = "anyOf" if "anyOf" in schema else "oneOf"
        rest = {each: value for each, value in schema.items() if each not in {"anyOf", "oneOf"}}
        branches = schema[word]
        if _checks(rest) or {"anyOf", "oneOf"} <= schema.keys():
            if "type" in rest or "oneOf" in schema:
                self._change(path, f"`{word}` is checked by toolrt alone")
                return self._value(rest, path, told)
            branches = [{"allOf": [branch, _checks(rest)]} for branch in branches]
        if word == "oneOf":
            self._change(path, "that just one alternative holds is checked by toolrt alone")
        parts = [self._node(each, path) for each in branches]
        unique = [each for at, each in enumerate(parts) if each not in parts[:at]]
        others = [each for each in unique if each != NULL]
        if len(others) == 1:
            return others[0] if len(unique) == 1 else nullable(others[0], self._profile)
        return {"anyOf": unique}

    def _value(self, schema: Schema, path: str, told: list[str]) -> dict[str, Any]:
        if "const" in schema or "enum" in schema:
            return self._options(schema, path, told)
        kinds = _types(schema)
        if not kinds:
            return self._anything(path, "any value")
        parts = [self._of_type(each, schema, path, told) for each in kinds if each != "null"]
        if not parts:
            return dict(NULL)
        made = parts[0] if len(parts) == 1 else {"anyOf": parts}
        return nullable(made, self._profile) if "null" in kinds else made

    def _options(self, schema: Schema, path: str, told: list[str]) -> dict[str, Any]:
        options = [schema["const"]] if "const" in schema else schema["enum"]
        wanted = _types(schema)
        if wanted and None in options and "null" not in wanted:
            options = [each for each in options if each is not None]
        plain = [each for each in options if each is not None]
        if not plain and None in options:
            return dict(NULL)
        if not self._profile.takes_options(plain):
            self._lose("one of" if "enum" in schema else "just", options, path, told)
            kinds = wanted or list(dict.fromkeys(json_type(each) for each in options))
            rest = {word: each for word, each in schema.items() if word not in {"const", "enum"}}
            return self._value({**rest, "type": kinds}, path, told)
        made = by_type(plain, has_const="const" in schema and self._profile.has_const)
        return nullable(made, self._profile) if None in options else made

    def _of_type(self, kind: str, schema: Schema, path: str, told: list[str]) -> dict[str, Any]:
        made: dict[str, Any] = {"type": kind}
        about = "number" if kind == "integer" else kind
        for word, value in schema.items():
            if word in _BUILT or word in ANNOTATIONS or word not in ROLES:
                continue
            if TYPE_OF.get(word, about) != about or is_silent(word, value):
                continue
            if self._profile.takes(word, value):
                made[word] = value
            else:
                self._lose(word, value, path, told)
        if kind == "object":
            self._members(schema, made, path)
        elif kind == "array":
            self._items(schema, made, path)
        return made

    def _members(self, schema: Schema, made: dict[str, Any], path: str) -> None:
        made["properties"] = properties = dict(self._properties(schema, path))
        required = schema.get("required", ())
        if self._profile.all_required:
            for name in [each for each in properties if each not in required]:
                properties[name] = self._optional(name, properties[name], schema, path)
        every = self._profile.all_required
        made["required"] = [name for name in properties if every or name in required]
        for name in required:
            if name not in schema.get("properties", {}):
                self._general(path, f"it requires `{name}`, of which nothing is said")
        if self._profile.is_strict:
            self._close(schema, made, path)
        else:
            self._leave_open(schema, made, path)

    def _optional(
        self, name: str, inner: dict[str, Any], schema: Schema, path: str
    ) -> dict[str, Any]:
        """A member that may be left out: null stands for that."""
        made = nullable(inner, self._profile)
        written = schema["properties"][name]
        default = written.get("default") if isinstance(written, Mapping) else None
        if made is inner and default is not None:
            says = "it cannot be left out, for null is a value of its own here"
            self._change(f"{path}.{name}".lstrip("."), says)
        return made

    def _close(self, schema: Schema, made: dict[str, Any], path: str) -> None:
        others = schema.get("additionalProperties")
        is_map = others not in (None, False) or "patternProperties" in schema
        if is_map or (others is None and not made["properties"]):
            self._general(path, "it takes names that are not known beforehand")
        elif others is None:
            self._change(path, "it takes no names but these")
        made["additionalProperties"] = False

    def _leave_open(self, schema: Schema, made: dict[str, Any], path: str) -> None:
        for word in ("properties", "required"):
            if path and not made[word]:
                del made[word]
        others = schema.get("additionalProperties")
        if others is False:
            made["additionalProperties"] = False
        elif isinstance(others, Mapping):
            made["additionalProperties"] = self._node(others, f"{path}.*".lstrip("."))

    def _properties(self, schema: Schema, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        names, required = self._profile.names, schema.get("required", ())
        for name, inner in schema.get("properties", {}).items():
            place = f"{path}.{name}" if path else name
            if names is not None and not names.fullmatch(name):
                self._change(place, "the vendor takes no such name of a parameter")
                self.is_refused |= name in required
            elif inner is not False:
                yield name, self._node(inner, place)

    def _items(self, schema: Schema, made: dict[str, Any], path: str) -> None:
        place, items = f"{path}[]", schema.get("items", True)
        first = schema.get("prefixItems", items if isinstance(items, list) else ())
        if first:
            self._change(place, "which item stands where is checked by toolrt alone")
            rest = [] if isinstance(items, list | bool) else [items]
            items = {"anyOf": [*first, *rest]}
        made["items"] = inner = self._node(items, place)
        if not self._profile.has_any_items and inner.keys() <= {"description"}:
            self._change(place, "its items are told as texts, numbers, truth values or objects")
            made["items"] = {**ONE_OF_MOST, **inner}

    def _anything(self, path: str, takes: str) -> dict[str, Any]:
        if self._profile.is_strict:
            self._general(path, f"it takes {takes}")
        return {}

    def _described(self, made: dict[str, Any], schema: Schema, told: list[str]) -> dict[str, Any]:
        """With the description, and in it what is told nowhere else."""
        said = schema if "description" in schema else {**schema, **made}
        text = described(said, told)
        if text and "$ref" in made:  # nothing may stand beside a reference
            made = {"anyOf": [made]}
        return {**made, "description": text} if text else made

    def _lose(self, word: str, value: Any, path: str, told: list[str]) -> None:
        is_told = word in IN_WORDS or word not in ROLES
        if is_told:
            told.append(f"{word}: {text_of(value)}")
        where = "told in the description" if is_told else "checked by toolrt alone"
        self._change(path, f"`{word}` is {where}")

    def _general(self, path: str, says: str) -> None:
        """Something that cannot be said in the subset."""
        found = self.obstacles if self._profile.is_strict else self.changes
        found.append(Change(path, says))

    def _change(self, path: str, says: str) -> None:
        self.changes.append(Change(path, says))


def _checks(schema: Schema) -> dict[str, Any]:
    return {word: schema[word] for word in schema if word in ROLES and word not in ANNOTATIONS}


def _types(schema: Schema) -> list[str]:
    """The types that a schema names, or that its words give away."""
    written = schema.get("type")
    if written is not None:
        return [written] if isinstance(written, str) else list(written)
    if "properties" in schema:
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else []
