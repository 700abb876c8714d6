"""No schema that leaves for a vendor holds a node that the vendor refuses, whatever was written.

The tables below are the vendors' own pages, written down a second time: what `schemas/profiles`
says is held against them.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from vendor_schemas import arguments_schemas, fitting_schemas, values

from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.profiles import ANTHROPIC, GOOGLE, OPENAI, Profile
from toolrt.schemas.strict import loosened, rewritten
from toolrt.schemas.validators import compile_validator

COMMON = {"description", "enum", "anyOf", "$ref", "$defs"}
OF_OBJECTS = {"properties", "required", "additionalProperties"}

RULES: dict[str, dict[str, Any]] = {
    # OpenAI, Structured outputs: "Supported schemas"
    "openai": {
        "words": {
            "object": OF_OBJECTS,
            "array": {"items", "minItems", "maxItems"},
            "string": {"pattern", "format", "const"},
            "number": {"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
                       "const"},
            "boolean": {"const"},
            "null": set(),
        },
        "formats": {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6",
                    "uuid"},
        "all_required": True, "closed": True, "typed": True, "recursion": True,
        "type_lists": True, "options": (str, int, float, bool, type(None)), "names": ".*",
        "levels": 10,
    },
    # Anthropic, Structured outputs: "JSON Schema limitations"; tool names and properties: API reference
    "anthropic": {
        "words": {
            "object": OF_OBJECTS,
            "array": {"items", "minItems"},
            "string": {"format", "const"},
            "number": {"const"},
            "boolean": {"const"},
            "null": set(),
        },
        "formats": {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4",
                    "ipv6", "uuid"},
        "all_required": False, "closed": True, "typed": True, "recursion": False,
        "type_lists": False, "options": (str, int, float, bool, type(None)),
        "names": r"[a-zA-Z0-9_.-]{1,64}", "least_items": {0, 1}, "levels": 99,
    },
    # Google, Structured output: "JSON Schema support"; FunctionDeclaration
    "google": {
        "words": {
            "object": OF_OBJECTS,
            "array": {"items", "prefixItems", "minItems", "maxItems"},
            "string": {"format"},
            "number": {"maximum", "minimum"},
            "boolean": set(),
            "null": set(),
        },
        "formats": {"date-time", "date", "time"},
        "all_required": False, "closed": False, "typed": False, "recursion": False,
        "type_lists": True, "options": (str, int, float), "names": r"[a-zA-Z_][a-zA-Z0-9_]{0,63}",
        "levels": 99,
    },
}  # fmt: skip
PROFILES = {"openai": OPENAI, "anthropic": ANTHROPIC, "google": GOOGLE}


def refused(schema: dict[str, Any], rules: dict[str, Any]) -> list[str]:
    """What a vendor would refuse of the schema of a tool's arguments."""
    found = list(nodes_refused(schema, schema, rules, "#", ()))
    if schema.get("type") != "object" or "anyOf" in schema or "$ref" in schema:
        found.append("#: the top is no plain object")
    return found


def nodes_refused(node: Any, root: Any, rules: Any, at: str, open_: tuple) -> Iterator[str]:
    if not isinstance(node, dict) or len(open_) > 60:
        yield f"{at}: {node!r} is no schema, or stands too deep"
        return
    yield from words_refused(node, rules, at)
    yield from values_refused(node, rules, at)
    if "$ref" in node:
        yield from ref_refused(node, root, rules, at, open_)
    if "object" in kinds_of(node):
        yield from object_refused(node, rules, at)
    for place, inner in parts_of(node):
        yield from nodes_refused(inner, root, rules, f"{at}/{place}", (*open_, ""))
    if at == "#":
        for name, inner in node.get("$defs", {}).items():
            yield from nodes_refused(inner, root, rules, f"#/$defs/{name}", (f"#/$defs/{name}",))


def kinds_of(node: Any) -> list[str]:
    kinds = node.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def parts_of(node: Any) -> Iterator[tuple[str, Any]]:
    yield from node.get("properties", {}).items()
    yield from (
        (w, node[w]) for w in ("items", "additionalProperties") if type(node.get(w)) is dict
    )
    yield from (("anyOf", each) for each in node.get("anyOf", ()))


def words_refused(node: Any, rules: Any, at: str) -> Iterator[str]:
    kinds = kinds_of(node)
    if isinstance(node.get("type"), list) and (not rules["type_lists"] or len(kinds) > 2):
        yield f"{at}: a list of types"
    known = COMMON | {"type"}
    for kind in kinds:
        known = known | rules["words"]["number" if kind == "integer" else kind]
    yield from (f"{at}: {word}" for word in node.keys() - known)
    if "$defs" in node and at != "#":
        yield f"{at}: definitions below the top"
    if rules["typed"] and not kinds and node.keys().isdisjoint({"anyOf", "$ref"}):
        yield f"{at}: no type"
    if "array" in kinds and rules["typed"] and "items" not in node:
        yield f"{at}: no items"


def ref_refused(node: Any, root: Any, rules: Any, at: str, open_: tuple) -> Iterator[str]:
    ref = node["$ref"]
    if len(node) > 1:
        yield f"{at}: something beside a reference"
    if not ref.startswith("#/$defs/") or ref[8:] not in root.get("$defs", {}):
        yield f"{at}: the reference {ref} leads nowhere"
    elif not rules["recursion"]:
        if ref in open_:
            yield f"{at}: it holds itself"
        else:
            inner = root["$defs"][ref[8:]]
            yield from nodes_refused(inner, root, rules, at + "+", (*open_, ref))


def values_refused(node: Any, rules: Any, at: str) -> Iterator[str]:
    if not all(type(each) in rules["options"] for each in node.get("enum", ())):
        yield f"{at}: values of enum"
    if node.get("enum") == []:
        yield f"{at}: an empty enum"
    if "format" in node and node["format"] not in rules["formats"]:
        yield f"{at}: format {node['format']}"
    if node.get("minItems", 0) not in rules.get("least_items", range(1000)):
        yield f"{at}: minItems"


def object_refused(node: Any, rules: Any, at: str) -> Iterator[str]:
    properties = node.get("properties", {})
    if rules["closed"] and node.get("additionalProperties") is not False:
        yield f"{at}: it is open"
    if rules["all_required"] and list(node.get("required", ())) != list(properties):
        yield f"{at}: not all are required"
    if not set(node.get("required", ())) <= properties.keys():
        yield f"{at}: it requires what is no property"
    yield from (f"{at}: {name}" for name in properties if not re.fullmatch(rules["names"], name))


MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("vendor", RULES)
@MANY
@given(schema=arguments_schemas())
def test_no_rewritten_schema_holds_a_node_that_the_vendor_refuses(vendor, schema):
    made = rewritten(schema, PROFILES[vendor])

    if made.schema is None or made.obstacles:
        assert made.changes or made.obstacles
        return
    assert refused(made.schema, RULES[vendor]) == []


@pytest.mark.parametrize("vendor", RULES)
@MANY
@given(data=st.data(), schema=fitting_schemas())
def test_arguments_that_fit_fit_the_rewritten_schema_too(vendor, data, schema):
    made = rewritten(schema, PROFILES[vendor])
    arguments = data.draw(values(schema, schema))
    assume(compile_validator(schema).is_valid(arguments))
    sent = with_nulls(arguments, schema, schema) if vendor == "openai" else arguments

    assert made.obstacles == ()
    assert refused(made.schema, RULES[vendor]) == []
    assert compile_validator(made.schema).is_valid(sent), json.dumps([made.schema, sent])


@MANY
@given(data=st.data(), schema=fitting_schemas())
def test_nulls_for_what_is_left_out_are_taken_as_left_out(data, schema):
    arguments = data.draw(values(schema, schema))
    checker = ArgumentChecker(schema)
    assume(compile_validator(schema).is_valid(arguments))
    sent = with_nulls(arguments, schema, schema)
    assume(not any(gives_null(schema["properties"][name]) for name in sent.keys() - arguments))

    assert checker.check(sent).keys() >= arguments.keys()


def gives_null(schema: Any) -> bool:
    """Whether null is a value of its own there, or may be inside."""
    return "null" in json.dumps(schema) or "None" in repr(schema)


def with_nulls(value: Any, schema: Any, root: Any) -> Any:
    """What a model sends that leaves nothing out: null for what it would not give."""
    while "allOf" in schema or "$ref" in schema:
        schema = schema["allOf"][0] if "allOf" in schema else root["$defs"]["Point"]
    if isinstance(value, list):
        return [with_nulls(each, schema["items"], root) for each in value]
    if not isinstance(value, dict):
        return value
    members = schema["properties"]
    return {n: with_nulls(value[n], s, root) if n in value else None for n, s in members.items()}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@MANY
@given(schema=arguments_schemas())
def test_a_loose_schema_is_an_object_without_alternatives_and_titles(profile: Profile, schema):
    made = loosened(schema, profile)

    if made.schema is None:
        assert made.changes
        return
    assert made.schema["type"] == "object"
    assert made.schema.keys().isdisjoint({"anyOf", "oneOf", "allOf", "not", "enum", "if", "title"})
    assert '"title": "A title"' not in json.dumps(made.schema)


@MANY
@given(schema=arguments_schemas())
def test_rewriting_is_the_same_each_time_and_leaves_what_it_reads(schema):
    before = json.dumps(schema)

    first = rewritten(schema, OPENAI)

    assert first == rewritten(schema, OPENAI)
    assert json.dumps(schema) == before
