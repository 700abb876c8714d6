import time
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field, FilePath, WithJsonSchema

from toolrt.schemas.check import schema_faults
from toolrt.schemas.functions import describe_function
from toolrt.schemas.path_places import path_places

PATH = {"type": "string", "format": "path"}
TEXT = {"type": "string"}
NULL = {"type": "null"}


def parameter(schema, **more):
    return {"type": "object", "properties": {"p": schema}, **more}


def array(items, **more):
    return {"type": "array", "items": items, **more}


def record(**properties):
    return {"type": "object", "properties": properties}


def found(schema):
    """The paths of places, as `p`, `p[]` (items), `p.*` (other members), with their roots."""
    assert schema_faults(schema) == []
    place, faults = path_places(schema)
    assert faults == []
    return dict(_walk(place, "", 6)) if place else {}


def _walk(place, at, depth):
    if place is None or not depth:
        return
    if place.root is not None:
        yield at, place.root
    for name, each in place.members.items():
        yield from _walk(each, f"{at}.{name}".lstrip("."), depth - 1)
    yield from _walk(place.others, f"{at}.*".lstrip("."), depth - 1)
    yield from _walk(place.items, f"{at}[]", depth - 1)


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        (parameter(PATH), {"p": "."}),
        (parameter({**PATH, "root": "d"}), {"p": "d"}),
        (parameter({"type": ["string", "null"], "format": "path"}), {"p": "."}),
        (parameter({"format": "path", "enum": ["a", "b"]}), {"p": "."}),
        (parameter(array(PATH)), {"p[]": "."}),
        (parameter(array(PATH, root="d")), {"p[]": "d"}),
        (parameter(array(array(array(PATH)))), {"p[][][]": "."}),
        (parameter(record(a=PATH, b=record(c=PATH))), {"p.a": ".", "p.b.c": "."}),
        (parameter(array(record(a=PATH))), {"p[].a": "."}),
        (parameter({"type": "object", "additionalProperties": PATH}), {"p.*": "."}),
        ({"type": "object", "additionalProperties": PATH}, {"*": "."}),
        (parameter({"anyOf": [PATH, NULL]}), {"p": "."}),
        (parameter({"oneOf": [PATH, {"type": "integer"}, NULL]}), {"p": "."}),
        (parameter({"anyOf": [PATH, array(PATH)]}), {"p": ".", "p[]": "."}),
        (parameter({"anyOf": [PATH, array(TEXT), False]}), {"p": "."}),
        (parameter({"anyOf": [record(a=PATH), TEXT]}), {"p.a": "."}),
        (parameter({**PATH, "anyOf": [{"pattern": "a"}, {"maxLength": 3}]}), {"p": "."}),
        (parameter({"allOf": [TEXT, {"format": "path", "root": "d"}]}), {"p": "d"}),
        (parameter({"type": "string", "allOf": [{"format": "path"}]}), {"p": "."}),
        (parameter({"$ref": "#/$defs/P"}, **{"$defs": {"P": PATH}}), {"p": "."}),
        (
            parameter({"$ref": "#/$defs/P"}, **{"$defs": {"P": {"$ref": "#/$defs/Q"}, "Q": PATH}}),
            {"p": "."},
        ),
        (parameter({"$ref": "#/x-types/P"}, **{"x-types": {"P": PATH}}), {"p": "."}),
        ({"type": "object", "allOf": [record(a=PATH), record(b=TEXT)]}, {"a": "."}),
        ({"type": "object", "allOf": [record(a=TEXT), record(a=PATH)]}, {"a": "."}),
        ({"$ref": "#/$defs/A", "type": "object", "$defs": {"A": record(a=PATH)}}, {"a": "."}),
        (parameter(TEXT, **{"$defs": {"unused": PATH}}), {}),
        (parameter(record(format=TEXT, path=TEXT)), {}),
        (parameter({"default": {"format": "path"}, "const": {"format": "path"}}), {}),
    ],
)  # fmt: skip
def test_f1_paths_are_found_wherever_a_value_leads_to_them(schema, places):
    assert found(schema) == places


def test_f1_a_recursive_schema_has_its_paths_at_every_depth():
    node = record(at=PATH, parts=array({"$ref": "#/$defs/node"}), note=record(text=TEXT))
    schema = parameter({"$ref": "#/$defs/node"}, **{"$defs": {"node": node}})
    place, faults = path_places(schema)
    assert faults == []
    one = place.members["p"]
    below = one.members["parts"].items
    assert below.members["parts"].items is below
    assert below.members["at"].root == "."
    assert one.members["at"].root == "."
    assert "note" not in one.members


def test_f1_a_written_member_is_none_of_the_others():
    schema = parameter({"type": "object", "properties": {"a": TEXT}, "additionalProperties": PATH})
    place, _ = path_places(schema)
    assert place.members["p"].member("a") is None
    assert place.members["p"].member("b").root == "."


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        (parameter({"if": TEXT, "then": PATH}), "p then format"),
        (parameter({"if": {"format": "path"}, "then": TEXT}), "p if format"),
        (parameter({"if": TEXT, "else": record(a=PATH)}), "p else properties a format"),
        (parameter({"not": PATH}), "p not format"),
        (parameter({"prefixItems": [TEXT, PATH]}), "p prefixItems 1 format"),
        (parameter(array(PATH, prefixItems=[TEXT])), "p items format"),
        (parameter({"type": "array", "contains": PATH}), "p contains format"),
        (parameter({"patternProperties": {"^a": PATH}}), "p patternProperties ^a format"),
        (parameter({"patternProperties": {"^a": TEXT}, "additionalProperties": PATH}), "p additionalProperties format"),
        (parameter({"dependentSchemas": {"a": record(b=PATH)}}), "p dependentSchemas a properties b format"),
        (parameter({"propertyNames": {"format": "path"}}), "p propertyNames format"),
        (parameter({"unevaluatedProperties": PATH}), "p unevaluatedProperties format"),
        (parameter({"unevaluatedItems": PATH}), "p unevaluatedItems format"),
        (parameter({"contentSchema": PATH}), "p contentSchema format"),
        (parameter({"anyOf": [PATH, TEXT]}), "p anyOf 0 format"),
        (parameter({"oneOf": [{"enum": ["all"]}, PATH]}), "p oneOf 1 format"),
        (parameter({"anyOf": [PATH, True]}), "p anyOf 0 format"),
        (parameter({"anyOf": [record(a=PATH), record(b=TEXT)]}), "p anyOf 0 properties a format"),
        (parameter({"anyOf": [{"format": "path"}, NULL]}), "p anyOf 0 format"),
        (parameter({"format": "path"}), "p format"),
        (parameter({"format": "path", "type": "array", "items": TEXT}), "p format"),
        (parameter({"format": "path", "type": ["string", "array"]}), "p format"),
        (parameter({"format": "path", "type": "integer"}), "p format"),
        (parameter({"allOf": [{**PATH, "root": "a"}, {**PATH, "root": "b"}]}), "p allOf 1 format"),
    ],
)  # fmt: skip
def test_f1_a_path_that_could_not_be_enforced_is_an_error_in_its_place(schema, where):
    assert schema_faults(schema) == []
    _, (fault,) = path_places(schema)
    path = ("properties", *(int(step) if step.isdigit() else step for step in where.split()))
    assert (fault.code, fault.path, fault.severity) == ("unenforced-path", path, "error")
    assert fault.hint


def test_f1_a_hidden_path_behind_a_reference_is_told_where_it_stands():
    schema = parameter({"if": True, "then": {"$ref": "#/$defs/P"}}, **{"$defs": {"P": PATH}})
    _, (fault,) = path_places(schema)
    assert fault.path == ("$defs", "P", "format")
    assert "below `then`" in fault.message


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"$ref": "#P", "$defs": {"P": {**PATH, "$anchor": "P"}}}, "$ref"),
        ({"$dynamicRef": "#P", "$defs": {"P": {**PATH, "$dynamicAnchor": "P"}}}, "$dynamicRef"),
    ],
)
def test_f1_references_by_anchors_do_not_go_with_paths(more, word):
    definitions = {"$defs": more.pop("$defs")}
    _, (fault,) = path_places(parameter(more, **definitions))
    assert (fault.code, fault.path) == ("unenforced-path", ("properties", "p", word))


def test_f1_where_ids_move_references_paths_are_refused():
    inner = {"$id": "urn:x", "$ref": "#/$defs/P", "$defs": {"P": PATH}}
    _, faults = path_places(parameter(inner, **{"$defs": {"P": TEXT}}))
    assert {fault.path for fault in faults} == {("properties", "p", "$id")}


def test_f1_old_drafts_ignore_what_stands_beside_a_reference():
    schema = parameter(
        {"$ref": "#/definitions/P", "type": "string"},
        definitions={"P": {"format": "path"}},
        **{"$schema": "http://json-schema.org/draft-07/schema#"},
    )
    _, faults = path_places(schema)
    assert ("properties", "p", "$ref") in {fault.path for fault in faults}


def test_f1_a_root_that_is_no_text_is_an_error_at_any_depth():
    _, (fault,) = path_places(parameter(record(a={**PATH, "root": 3})))
    assert (fault.code, fault.path) == (
        "wrong-type",
        ("properties", "p", "properties", "a", "root"),
    )


def test_a_long_chain_of_definitions_is_refused_and_not_followed_for_ever():
    links = {f"d{n}": record(next={"$ref": f"#/$defs/d{n + 1}"}) for n in range(1500)}
    definitions = {**links, "d1500": PATH}
    _, (fault,) = path_places(parameter({"$ref": "#/$defs/d0"}, **{"$defs": definitions}))
    assert fault.code == "schema-too-deep"


def test_a_schema_without_paths_costs_next_to_nothing():
    schema = record(**{f"p{n}": array(record(a=TEXT, b=TEXT)) for n in range(10)})
    started = time.process_time()
    for _ in range(1000):
        path_places(schema)
    assert time.process_time() - started < 2


def test_f1_a_signature_can_mark_its_paths_and_a_plain_path_is_any():
    marked = Field(json_schema_extra={"format": "path", "root": "d"})
    hidden = WithJsonSchema({"if": {"format": "path"}})

    def fn(
        a: Annotated[str, marked],
        b: Path,
        c: Annotated[Path, marked],
        d: list[Annotated[str, WithJsonSchema(PATH)]],
        e: FilePath | None,
    ):
        """Do."""

    def other(a: Annotated[dict[str, int], hidden]):
        """Do."""

    assert found(describe_function(fn).input_schema) == {"a": "d", "c": "d", "d[]": "."}
    _, (fault,) = path_places(describe_function(other).input_schema)
    assert fault.path == ("properties", "a", "if", "format")
