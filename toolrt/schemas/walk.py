"""One walk over a schema that somebody wrote: unknown words, wrong names, sizes, patterns.

`check` takes what it collects further: references, and values that may not fit.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean, nearest
from toolrt.schemas.fitting import is_of_type
from toolrt.schemas.keywords import (
    FORMATS,
    OTHER_TYPE_NAMES,
    OTHER_WORDS,
    OWN_WORDS,
    PATH_WORDS,
    ROLES,
    SILENT_FORMATS,
    WORKSPACE_PATH,
)
from toolrt.schemas.phrases import describe, shown, visible, with_article
from toolrt.schemas.plain import MAX_DEPTH, NotJsonError, plain
from toolrt.schemas.refs import MOST_SCHEMAS, Place
from toolrt.schemas.shapes import TYPES
from toolrt.schemas.validators import DRAFTS, is_pattern, pattern_fault

MOST_BRANCHES = 1000
_LARGE = 1 << 64

_HELD = frozenset({"path", WORKSPACE_PATH})
"""Formats that keep a caller inside a folder."""
_BACK_REFERENCE = re.compile(r"\\[1-9]|\\k<")
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")

Schema = Mapping[str, Any]


class StopError(Exception):
    """The schema is too large or too deep to look at further."""


class Walk:
    """What one walk finds: `faults`, and what is to be looked at after it.

    `refs` are the schemas with a `$ref`; `values` those that stand under `default` and `examples`,
    with their place and the schema that they belong to; `is_json` says that a validator can take
    the whole.
    """

    __slots__ = ("faults", "has_ids", "is_json", "refs", "size", "values")

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.refs: list[Place] = []
        self.values: list[tuple[Path, Schema, Any]] = []
        self.has_ids = False
        self.is_json = True
        self.size = 0

    def schema(self, schema: Any, path: Path, depth: int = MAX_DEPTH) -> None:
        """Look at `schema`, at `path`, and everything in it. Raises StopError."""
        if not isinstance(schema, dict):
            self.leaf(schema, path)
            return
        self._grow(1, path, depth)
        for word, value in schema.items():
            role = ROLES.get(word)
            if role == "other":
                self._other(schema, word, value, path)
            elif role is None:
                self._unknown(schema, word, value, path)
            elif isinstance(value, dict) and role == "named":
                self._named(word, value, path, depth)
            elif isinstance(value, list):
                self._branches(word, value, path, depth)
            else:
                self.schema(value, (*path, word), depth - 1)

    def leaf(self, value: Any, path: Path) -> None:
        """Look at a value that is no schema."""
        kind = type(value)
        if (kind is str and value.isascii()) or kind is bool:
            return
        if kind is int and abs(value) < _LARGE:
            return
        try:
            plain(value)
        except NotJsonError as error:
            self.is_json = False
            message = f"the value {error.reason}"
            self.faults.append(Fault("bad-schema", message, (*path, *error.path)))
        if kind is list or kind is dict:
            self._grow(len(value), path, 1)

    def fault(self, code: str, message: str, *path: str | int, **more: Any) -> None:
        self.faults.append(Fault(code, message, path, **more))

    def _grow(self, by: int, path: Path, depth: int) -> None:
        self.size += by
        if self.size > MOST_SCHEMAS:
            self.fault(
                "schema-too-large", f"the schema has more than {MOST_SCHEMAS:,} parts", *path
            )
            raise StopError
        if depth <= 0:
            self.fault("schema-too-deep", f"the schema is nested deeper than {MAX_DEPTH}", *path)
            raise StopError

    def _named(self, word: str, schemas: Schema, path: Path, depth: int) -> None:
        for name, schema in schemas.items():
            if type(name) is not str or not name.isascii():
                self._name(name, (*path, word))
            if word == "patternProperties":
                self.pattern(name, (*path, word, name), on_key=True)
            self.schema(schema, (*path, word, name), depth - 1)

    def _name(self, name: Any, path: Path) -> None:
        try:
            plain({name: None})
        except NotJsonError as error:
            self.is_json = False
            self.fault("bad-schema", f"the value {error.reason}", *path)

    def _branches(self, word: str, schemas: list[Any], path: Path, depth: int) -> None:
        if len(schemas) > MOST_BRANCHES:
            message = f"`{word}` has more than {MOST_BRANCHES:,} branches"
            self.fault("schema-too-large", message, *path, word)
            raise StopError
        for index, schema in enumerate(schemas):
            self.schema(schema, (*path, word, index), depth - 1)

    def _unknown(self, schema: Schema, word: Any, value: Any, path: Path) -> None:
        if not isinstance(word, str):
            self._name(word, path)
            return
        self.leaf(value, (*path, word))
        ours = _own_words(schema, path)
        if word.startswith("x-") or word in ours:
            return
        hint = OTHER_WORDS.get(word) or did_you_mean(word, (*ROLES, *ours))
        self.fault(
            "unknown-keyword",
            f"unknown word `{visible(word)}`: it checks nothing",
            *path,
            word,
            hint=hint,
            severity="error" if hint else "warning",
            on_key=True,
        )

    def _other(self, schema: Schema, word: str, value: Any, path: Path) -> None:
        look = _LOOKS.get(word)
        if look is None and type(value) is str and value.isascii():
            return
        path = (*path, word)
        self.leaf(value, path)
        if look is not None:
            look(self, schema, value, path)

    def pattern(self, text: Any, path: Path, *, on_key: bool = False) -> None:
        """A regular expression must be one, and one that runs in linear time."""
        if not isinstance(text, str) or not self.is_json or is_pattern(text):
            return
        if _BACK_REFERENCE.search(text):
            why, hint = "back-references are not supported: patterns run in linear time", None
        elif _LOOK_AROUND.search(text):
            why, hint = "look-around is not supported: patterns run in linear time", None
        else:
            why, hint = pattern_fault(text), None
        self.fault("bad-pattern", f"`{visible(text)}`: {why}", *path, hint=hint, on_key=on_key)


def _own_words(schema: Schema, path: Path) -> frozenset[str]:
    """The words of toolrt's that mean something in the schema at `path`."""
    if path[:1] == ("properties",) and len(path) == 2:  # noqa: PLR2004 - a property of the root
        return OWN_WORDS
    return PATH_WORDS if schema.get("format") == "path" else frozenset({"sensitive"})


def _type(walk: Walk, _schema: Schema, value: Any, path: Path) -> None:
    names = value if isinstance(value, list) else [value]
    for number, name in enumerate(names):
        if not isinstance(name, str) or name in TYPES:
            continue
        place = (*path, number) if names is value else path
        other = OTHER_TYPE_NAMES.get(name)
        hint = f"write `{other}`" if other else did_you_mean(name, TYPES)
        known = ", ".join(TYPES)
        message = f"unknown type `{visible(name)}`; one of {known}"
        walk.fault("unknown-type", message, *place, hint=hint)


def _format(walk: Walk, _schema: Schema, value: Any, path: Path) -> None:
    if value == WORKSPACE_PATH and path[:1] + path[2:] != ("properties", "format"):
        message = f"`format: {WORKSPACE_PATH}` is for a parameter itself; here it is not checked"
        walk.fault("unenforced-path", message, *path)
    if not isinstance(value, str) or value in FORMATS or value in SILENT_FORMATS:
        return
    message = f"unknown format `{visible(value)}`: it checks nothing"
    meant = nearest(value, {*FORMATS, *_HELD})
    walk.fault(
        "unknown-format",
        message,
        *path,
        hint=f"did you mean `{meant}`?" if meant else None,
        severity="error" if meant in _HELD else "warning",  # it would hold nobody inside a root
    )


def _pattern(walk: Walk, _schema: Schema, value: Any, path: Path) -> None:
    walk.pattern(value, path)


def _ref(walk: Walk, schema: Schema, value: Any, path: Path) -> None:
    if isinstance(value, str):
        walk.refs.append((path[:-1], schema))


def _id(walk: Walk, _schema: Schema, _value: Any, _path: Path) -> None:
    walk.has_ids = True


def _draft(walk: Walk, _schema: Schema, value: Any, path: Path) -> None:
    if isinstance(value, str) and value.rstrip("#") not in DRAFTS:
        message = f"unknown draft `{visible(value)}`"
        hint = f"leave `$schema` out, or write one of {', '.join(DRAFTS)}"
        walk.fault("unknown-draft", message, *path, hint=hint)
        walk.is_json = False


_COMPOSING = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "patternProperties"))


def _required(walk: Walk, schema: Schema, value: Any, path: Path) -> None:
    known = schema.get("properties")
    if not isinstance(value, list) or not isinstance(known, dict):
        return
    if not _COMPOSING.isdisjoint(schema):
        return
    for index, name in enumerate(value):
        if isinstance(name, str) and name not in known:
            is_closed = schema.get("additionalProperties") is False
            walk.fault(
                "unknown-required",
                f"`{visible(name)}` is required, but is no property",
                *path,
                index,
                hint=did_you_mean(name, known),
                severity="error" if is_closed else "warning",
            )


def _default(walk: Walk, schema: Schema, value: Any, path: Path) -> None:
    walk.values.append((path, schema, value))


def _examples(walk: Walk, schema: Schema, value: Any, path: Path) -> None:
    if isinstance(value, list):
        walk.values += [((*path, index), schema, example) for index, example in enumerate(value)]


def _enum(walk: Walk, schema: Schema, value: Any, path: Path) -> None:
    if isinstance(value, list):
        for index, option in enumerate(value):
            _option(walk, schema, option, (*path, index))


def _option(walk: Walk, schema: Schema, value: Any, path: Path) -> None:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list) or any(name not in TYPES for name in names):
        return
    if is_of_type(names, value):
        return
    hint = f'write it in quotes: "{value}"' if wanted == "string" else None
    needed = with_article(describe({"type": wanted}, True))
    walk.fault("bad-option", f"{shown(value)} is not {needed}", *path, hint=hint)


_LOOKS: Mapping[str, Callable[[Walk, Schema, Any, Path], None]] = {
    "$anchor": _id,
    "$dynamicAnchor": _id,
    "$id": _id,
    "$ref": _ref,
    "$schema": _draft,
    "const": _option,
    "default": _default,
    "enum": _enum,
    "examples": _examples,
    "format": _format,
    "pattern": _pattern,
    "required": _required,
    "type": _type,
}
"""Keyword -> what to look at."""
