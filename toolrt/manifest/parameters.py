"""`parameters` in short form to one JSON Schema, and the words that are toolrt's own.

A parameter is JSON Schema plus `required: bool`, `from`, `default_from`, `sensitive`, `root` and
`allow_dash`. A bound one (`from`) is filled from the caller and hidden from the model.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean, nearest

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_SCALAR_TYPES = ("string", "integer", "number", "boolean")
RESERVED = frozenset({"caller", "call", "vars", "result", "steps", "item"})
SOURCES = ("caller.principal", "caller.tenant", "caller.session")
OWN_WORDS = frozenset({"from", "default_from", "root", "allow_dash", "sensitive"})
LONGEST_NAME = 64
NAME = "[A-Za-z_][A-Za-z0-9_]{0,63}"
_NAME = re.compile(NAME)
_OTHER_TYPE_NAMES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
_FORMATS: Mapping[str, str] = {
    "date": "date", "date-time": "date-time", "datetime": "date-time", "timestamp": "date-time",
    "time": "time", "duration": "duration", "email": "email", "e-mail": "email",
    "hostname": "hostname", "host": "hostname", "ipv4": "ipv4", "ipv6": "ipv6", "uri": "uri",
    "url": "uri", "uuid": "uuid", "guid": "uuid", "path": "path", "file": "path", "regex": "regex",
}  # fmt: skip
"""What people write as a type -> the format that it is."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The arguments of a tool.

    `schema` is the JSON Schema of everything that the binding gets; `bound` and `defaults_from`
    map a name to what of the caller fills it (`caller.tenant`); `asked` are filled by a person.
    """

    schema: dict[str, Any]
    bound: Mapping[str, str] = field(default_factory=dict)
    defaults_from: Mapping[str, str] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()

    @property
    def hidden(self) -> frozenset[str]:
        """Names that a model does not see and may not send."""
        return self.asked | self.bound.keys()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.schema.get("properties", {}))

    @property
    def visible(self) -> frozenset[str]:
        """Names that a model may send."""
        return self.names - self.hidden

    @property
    def optional(self) -> frozenset[str]:
        """Names that may be absent from a checked call: not required and without default."""
        properties = self.schema.get("properties", {})
        required = self.schema.get("required", ())
        return frozenset(
            name
            for name, schema in properties.items()
            if name not in required and not (isinstance(schema, dict) and "default" in schema)
        )

    @property
    def scalars(self) -> frozenset[str]:
        """Names of texts, numbers and booleans: nothing is inside them."""
        properties = self.schema.get("properties", {})
        return frozenset(
            name
            for name, schema in properties.items()
            if isinstance(schema, dict) and schema.get("type") in _SCALAR_TYPES
        )

    def visible_schema(self) -> dict[str, Any]:
        """What a model is shown and checked against: without what others fill."""
        hidden = self.hidden
        if not hidden:
            return self.schema
        properties = {k: v for k, v in self.schema["properties"].items() if k not in hidden}
        required = [name for name in self.schema.get("required", ()) if name not in hidden]
        return {**self.schema, "properties": properties, "required": required}

    def asked_schema(self) -> dict[str, Any]:
        """The schema of what a person fills."""
        properties = {k: v for k, v in self.schema["properties"].items() if k in self.asked}
        required = [name for name in self.schema.get("required", ()) if name in self.asked]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def bound_schema(self) -> dict[str, Any]:
        """The schema of the bound parameters alone."""
        properties = {k: v for k, v in self.schema["properties"].items() if k in self.bound}
        required = [name for name in self.schema.get("required", ()) if name in self.bound]
        return {"type": "object", "properties": properties, "required": required}


def for_model(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as a model sees it: without the words that are toolrt's own."""
    properties = {name: _bare(one) for name, one in schema.get("properties", {}).items()}
    made: dict[str, Any] = _rootless({**schema, "properties": properties})
    return made


def _bare(schema: Any) -> Any:
    """The schema of one parameter without our words, at the items of an array too."""
    if not isinstance(schema, dict):
        return schema
    bare = {word: value for word, value in schema.items() if word not in OWN_WORDS}
    items = bare.get("items")
    if isinstance(items, dict) and not OWN_WORDS.isdisjoint(items):
        bare["items"] = _bare(items)
    return bare


def _rootless(value: Any) -> Any:
    """`value` where no path inside says which folder holds it: a model has no use for that."""
    if isinstance(value, list):
        return [_rootless(each) for each in value]
    if not isinstance(value, dict):
        return value
    ours = OWN_WORDS if value.get("format") == "path" else ()
    return {word: _rootless(each) for word, each in value.items() if word not in ours}


def parameters_of(written: Mapping[str, Any], faults: list[Fault]) -> Parameters:
    """Read `parameters:`; what is wrong is added to `faults`, at paths below `parameters`."""
    if written.get("type") == "object" and isinstance(written.get("properties"), dict):
        faults.append(
            Fault(
                "schema-under-parameters",
                "`parameters` maps names to types; this is a whole JSON Schema",
                ("parameters",),
                "write it under `input_schema` instead",
                on_key=True,
            )
        )
        return Parameters({"type": "object", "properties": {}, "additionalProperties": False})
    reading = _Reading(faults)
    for name, raw in written.items():
        reading.parameter(str(name), raw)
    return reading.parameters()


def own_words(
    properties: Mapping[str, Any], faults: list[Fault], path: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """What fills parameters from the caller: those with `from`, and those with `default_from`.

    `properties` are schemas by name, at `path`; what is wrong with words of ours is added to
    `faults`.
    """
    bound: dict[str, str] = {}
    defaults_from: dict[str, str] = {}
    for name, schema in properties.items():
        if not isinstance(schema, dict):
            continue
        items = schema.get("items")
        if isinstance(items, dict) and not OWN_WORDS.isdisjoint(items):
            faults += [fault.under(*path, name, "items") for fault in _misused_items(items)]
        if OWN_WORDS.isdisjoint(schema):
            continue
        found = list(_misused(schema))
        faults += [fault.under(*path, name) for fault in found]
        wrong = {fault.path[0] for fault in found}
        for word, into in (("from", bound), ("default_from", defaults_from)):
            if word in schema and word not in wrong:
                into[name] = schema[word]
    return bound, defaults_from


def _misused(schema: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with toolrt's own words in the schema of one parameter."""
    yield from _misused_flags(schema)
    for word in ("from", "default_from"):
        if word in schema and not _is_source(schema[word]):
            known = ", ".join((*SOURCES, "caller.claims.NAME"))
            hint = did_you_mean(str(schema[word]), SOURCES)
            yield Fault("unknown-source", f"`{word}` is one of {known}", (word,), hint)
    if "from" in schema and "default_from" in schema:
        message = "`from` fills this parameter already, so `default_from` does nothing"
        yield Fault("no-effect", message, ("default_from",), "keep one of the two", on_key=True)
    if "root" in schema:
        yield from _misused_root(schema)


def _misused_items(schema: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with our words at the items of an array; others than these mean nothing."""
    yield from _misused_flags(schema)
    if schema.get("format") == "path" and not isinstance(schema.get("root", ""), str):
        yield Fault("wrong-type", "`root` is a folder", ("root",))


def _misused_flags(schema: Mapping[str, Any]) -> Iterator[Fault]:
    for word in ("sensitive", "allow_dash"):
        if not isinstance(schema.get(word, False), bool):
            yield Fault("wrong-type", f"`{word}` is true or false", (word,))


def _misused_root(schema: Mapping[str, Any]) -> Iterator[Fault]:
    items = schema.get("items")
    inner = items if isinstance(items, dict) else schema
    formats = (schema.get("format"), inner.get("format"))
    if not isinstance(schema["root"], str):
        yield Fault("wrong-type", "`root` is a folder", ("root",))
    elif "\0" in schema["root"]:
        yield Fault("invalid-folder", "`root` holds a NUL, and no folder has one", ("root",))
    elif not (_has_misspelt_format(inner) or any(map(_may_be_path, formats))):
        message = "`root` holds paths only, and this parameter is none"
        yield Fault("no-effect", message, ("root",), "add `format: path`", on_key=True)


def _may_be_path(written: Any) -> bool:
    """Whether a `format` says that its value is a path, or is told to be wrong anyway."""
    return written == "path" or not isinstance(written, str | None)


def _has_misspelt_format(schema: Mapping[str, Any]) -> bool:
    return any(nearest(str(word), ("format",)) for word in schema.keys() - {"format"})


def _is_source(source: Any) -> bool:
    is_claim = isinstance(source, str) and source.startswith("caller.claims.")
    return is_claim or source in SOURCES


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


def _name_rule(name: str) -> str:
    """What a name that is none breaks."""
    if len(name) > LONGEST_NAME:
        return f"at most {LONGEST_NAME} characters"
    if name[:1].isdecimal() and _NAME.fullmatch(f"_{name}"[:LONGEST_NAME]):
        return "it must not begin with a digit"
    return "letters a-z, digits and _ only"


def _instead_of(kind: str) -> str | None:
    """What to write for a type that is none."""
    bare = kind.removesuffix("?")
    if bare != kind:
        right = _OTHER_TYPE_NAMES.get(bare, bare)
        known = right if right in TYPES else "string"
        return f"write `{{type: {known}, required: false}}`"
    meant = _FORMATS.get(kind.casefold().replace("_", "-"))
    return f"write `{{type: string, format: {meant}}}`" if meant else did_you_mean(kind, TYPES)


class _Reading:
    """Collects the properties of one tool."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []

    def parameters(self) -> Parameters:
        schema: dict[str, Any] = {"type": "object", "properties": self.properties}
        if self.required:
            schema["required"] = self.required
        schema["additionalProperties"] = False
        return Parameters(schema, *own_words(self.properties, self.faults, ("parameters",)))

    def parameter(self, name: str, raw: Any) -> None:
        self._name(name)
        long = {"type": raw} if isinstance(raw, str) else raw
        if not isinstance(long, dict):
            self._fault("wrong-type", "expected a type or a mapping", name)
        long = dict(long) if isinstance(long, dict) else {}
        self._type(long, name, short=isinstance(raw, str))
        required = long.get("required")
        if isinstance(required, bool):
            del long["required"]
        elif required is not None and long.get("type") != "object":
            self._fault("wrong-type", "`required` is true or false", name, "required")
        self.properties[name] = long
        if long.keys().isdisjoint({"default", "default_from"}):
            if required is not False:
                self.required.append(name)
        elif required is True:
            message = "a parameter with a default may be left out, so `required: true` does nothing"
            self._fault("no-effect", message, name, "required", on_key=True, severity="warning")

    def _name(self, name: str) -> None:
        if name in RESERVED:
            self._fault(
                "reserved-name",
                f"a parameter may not be named `{name}`: templates use that name",
                name,
                hint="choose another name",
                on_key=True,
            )
        elif not _NAME.fullmatch(name):
            self._fault(
                "bad-name",
                f"`{name}` is no parameter name: {_name_rule(name)}",
                name,
                hint="a schema with other names can be written under `input_schema`",
                on_key=True,
            )

    def _type(self, long: dict[str, Any], name: str, *, short: bool) -> None:
        kind = long.get("type")
        if not isinstance(kind, str) or kind in TYPES:
            return
        right = _OTHER_TYPE_NAMES.get(kind)
        hint = f"write `{right}`" if right else _instead_of(kind)
        where = () if short else ("type",)
        known = ", ".join(TYPES)
        self._fault(
            "unknown-type", f"unknown type `{_cut(kind)}`; one of {known}", name, *where, hint=hint
        )
        if right:
            long["type"] = right
        else:
            del long["type"]

    def _fault(self, code: str, message: str, *path: str, **more: Any) -> None:
        self.faults.append(Fault(code, message, ("parameters", *path), **more))
