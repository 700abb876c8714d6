"""Schemas of arguments as people write them, drawn at random, and arguments that fit them."""

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["title", "city", "days", "type", "properties", "a_b", "$ref", "x-y", "ü"])
DEFS = ("Point", "Tree", "Loop")
REFS = st.sampled_from([*(f"#/$defs/{name}" for name in DEFS), "#"])
_SCALARS: dict[str, Any] = {
    "string": st.text(max_size=4),
    "integer": st.integers(-5, 20),
    "number": st.floats(-5, 20, allow_nan=False),
    "boolean": st.booleans(),
    "null": st.none(),
}


def _some(words: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=words)


SAID = _some(
    {
        "title": st.just("A title"),
        "description": st.sampled_from(["Where it is.", "It says `t.add` (so)."]),
        "default": st.sampled_from([None, 3, "x"]),
        "examples": st.just(["x", 1]),
        "deprecated": st.booleans(),
        "x-ours": st.just({"type": "?"}),
        "sensitive": st.booleans(),
        "$comment": st.just("for us"),
    }
)
TEXT = _some(
    {
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(3, 9),
        "pattern": st.just("^[a-z]*$"),
        "format": st.sampled_from(["date", "email", "uri", "path", "regex", "uuid"]),
    }
)
NUMBER = _some(
    {
        "minimum": st.integers(-3, 2),
        "exclusiveMaximum": st.integers(9, 12),
        "multipleOf": st.sampled_from([1, 0.5]),
    }
)
LIST = _some(
    {
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(3, 5),
        "uniqueItems": st.booleans(),
        "contains": st.just({"type": "integer"}),
    }
)
OBJECT = _some(
    {
        "minProperties": st.just(1),
        "propertyNames": st.just({"maxLength": 20}),
        "dependentRequired": st.just({"city": ["days"]}),
        "unevaluatedProperties": st.just(False),
    }
)
LOGIC = _some(
    {
        "not": st.just({"required": ["nowhere"]}),
        "if": st.just({"required": ["city"]}),
        "then": st.just({"required": ["days"]}),
    }
)


def _joined(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(
        lambda found: {key: v for each in found for key, v in each.items()}
    )


def _leaf() -> st.SearchStrategy[Any]:
    text = _joined(st.just({"type": "string"}), TEXT, SAID)
    number = _joined(st.sampled_from([{"type": "number"}, {"type": "integer"}]), NUMBER, SAID)
    choice = st.lists(
        st.sampled_from(["a", "b", 1, 2.5, True, None]), min_size=1, max_size=4, unique_by=repr
    )
    return st.one_of(
        text,
        number,
        _joined(st.just({"type": "boolean"}), SAID),
        _joined(st.builds(lambda some: {"enum": some}, choice), SAID),
        _joined(st.just({"enum": [{"a": 1}, [2]]}), SAID),
        _joined(st.just({"const": "x"}), SAID),
        _joined(st.just({"type": ["string", "null"]}), TEXT, SAID),
        _joined(st.just({"type": ["integer", "string", "null"]}), SAID),
        _joined(REFS.map(lambda ref: {"$ref": ref}), SAID),
        st.sampled_from([{}, True, {"type": "object"}, {"type": "array"}, {"type": "null"}]),
    )


def _object(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def drawn(draw: Any) -> dict[str, Any]:
        properties = draw(st.dictionaries(NAMES, inner, max_size=3))
        required = [name for name in properties if draw(st.booleans())]
        made = {"type": "object", "properties": properties, "required": required}
        others = draw(st.sampled_from([None, False, False, True, {"type": "string"}]))
        if others is not None:
            made["additionalProperties"] = others
        if draw(st.integers(0, 9)) == 0:
            made["patternProperties"] = {"^z": {"type": "string"}}
        return {**made, **draw(OBJECT), **draw(LOGIC), **draw(SAID)}

    return drawn()


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        _object(inner),
        _joined(inner.map(lambda each: {"type": "array", "items": each}), LIST, SAID),
        _joined(
            some.map(lambda each: {"type": "array", "prefixItems": each, "items": False}), SAID
        ),
        _joined(some.map(lambda each: {"anyOf": each}), SAID),
        _joined(some.map(lambda each: {"oneOf": each}), SAID),
        _joined(some.map(lambda each: {"allOf": each}), SAID),
        _joined(st.just({"type": "string"}), some.map(lambda each: {"anyOf": each})),
    )


SCHEMAS = st.recursive(_leaf(), _deeper, max_leaves=6)


@st.composite
def arguments_schemas(draw: Any) -> dict[str, Any]:
    """The schema of the arguments of a tool, with definitions that hold themselves among them."""
    made = draw(_object(SCHEMAS))
    defs = {
        "Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "Tree": {
            "title": "Tree",
            "type": "object",
            "properties": {"leaf": {"type": "string"}, "next": {"$ref": "#/$defs/Tree"}},
        },
        "Loop": {"type": "array", "items": {"$ref": "#/$defs/Loop"}},
    }
    return {**made, "$defs": defs, **draw(st.sampled_from([{}, {"anyOf": [{"required": []}]}]))}


_NOTED = SAID.map(lambda said: {word: said[word] for word in said if word != "default"})
"""What may be said anywhere: a default has to fit its schema."""


def _closed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def drawn(draw: Any) -> dict[str, Any]:
        names = st.sampled_from(["title", "city", "days", "a_b"])
        properties = draw(st.dictionaries(names, inner, min_size=1, max_size=3))
        required = [name for name in properties if draw(st.booleans())]
        made = {"type": "object", "properties": properties, "required": required}
        return {**made, "additionalProperties": False, **draw(_NOTED)}

    return drawn()


_LEAVES = st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "null"}])
FITTING = st.recursive(
    st.one_of(
        _joined(st.just({"type": "string"}), _some({"maxLength": st.just(4)}), _NOTED),
        _joined(st.just({"type": "integer"}), _some({"minimum": st.just(-5)}), _NOTED),
        st.sampled_from([{"type": "number"}, {"type": "boolean"}, {"$ref": "#/$defs/Point"}]),
        st.sampled_from([{"enum": ["a", 1, None]}, {"const": "x"}, {"type": ["string", "null"]}]),
        st.just({"type": ["integer", "string", "null"]}),
    ),
    lambda inner: st.one_of(
        _closed(inner),
        inner.map(lambda each: {"type": "array", "items": each}),
        inner.map(lambda each: {"allOf": [each]}),
        st.lists(_LEAVES, min_size=1, max_size=3).map(lambda some: {"anyOf": some}),
    ),
    max_leaves=5,
)


@st.composite
def fitting_schemas(draw: Any) -> dict[str, Any]:
    """The schema of arguments that every vendor can be told."""
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    made = draw(_closed(FITTING))
    return {**made, "$defs": {"Point": {**point, "additionalProperties": False}}}


def values(schema: Any, root: Any, depth: int = 3) -> st.SearchStrategy[Any]:
    """Values that may fit a schema; most do."""
    if not isinstance(schema, dict) or depth == 0:
        return st.one_of(*_SCALARS.values())
    if "$ref" in schema:
        inner = root if schema["$ref"] == "#" else root["$defs"][schema["$ref"].split("/")[-1]]
        return values(inner, root, depth - 1)
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return st.one_of(*(values(each, root, depth - 1) for each in schema[word]))
    kinds = schema.get("type", "string")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return st.one_of(*(_of_type(each, schema, root, depth) for each in kinds))


def _of_type(kind: str, schema: Any, root: Any, depth: int) -> st.SearchStrategy[Any]:
    if kind == "object":
        members = {n: values(s, root, depth - 1) for n, s in schema.get("properties", {}).items()}
        required = {n: each for n, each in members.items() if n in schema.get("required", ())}
        rest = {n: each for n, each in members.items() if n not in required}
        return st.fixed_dictionaries(required, optional=rest)
    if kind == "array":
        first = schema.get("prefixItems", [])
        if first:
            return st.tuples(*(values(each, root, depth - 1) for each in first)).map(list)
        return st.lists(values(schema.get("items", True), root, depth - 1), max_size=4)
    return _SCALARS[kind]
