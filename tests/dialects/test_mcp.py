"""MCP's tools and results, held against the types of the official SDK."""

from typing import Any

import jsonschema
import pytest
from mcp_types import CallToolResult
from mcp_types import Tool as McpTool
from vendor_tools import FORECAST, TOOLS, Tool, bad, good, image, names_of, paused, schema

from toolrt.dialects import mcp
from toolrt.dialects.base import ParseError, export

NOTICED = {"toolrt/notice": {"type": "string"}}
OLD, NEW = "2025-11-25", "2026-07-28"
LIST = {"type": "array", "title": "All", "items": {"$ref": "#/$defs/N"},
        "$defs": {"N": {"type": "number"}}}  # fmt: skip
RECORD = {"type": "object", "properties": {"t": {"type": "number"}}}


def result(given: Any, revision: str = NEW, of: Any = None) -> dict[str, Any]:
    return mcp.result_document(given, names_of(), revision, of)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_goes_out_is_of_the_sdk_s_type(tool):
    document = mcp.tool_document(tool, names_of())

    read = McpTool.model_validate(document)
    assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == document


def test_the_whole_of_one_tool():
    document = mcp.tool_document(FORECAST, names_of())

    city = {"type": "string", "minLength": 1, "examples": ["Tokyo"]}
    assert document.keys() == {"name", "title", "description", "inputSchema", "annotations"}
    assert (document["name"], document["title"]) == ("weather_forecast", "Forecast")
    assert document["inputSchema"]["properties"]["city"] == city
    assert document["inputSchema"]["properties"]["title"]["type"] == "string"


def test_where_clients_repeat_an_argument_stays():
    city = {"type": "string", "title": "C", "x-mcp-header": "X-City", "x-ours": 1}

    document = mcp.tool_document(Tool("t.a", input_schema=schema(city=city)), names_of())

    assert document["inputSchema"]["properties"]["city"] == {
        "type": "string",
        "x-mcp-header": "X-City",
    }


@pytest.mark.parametrize(
    ("effect", "is_idempotent", "hints"),
    [
        ("read", False, (True, False, True)),
        ("write", False, (False, True, False)),
        ("write", True, (False, True, True)),
        ("irreversible", False, (False, True, False)),
    ],
)
def test_annotations_come_of_the_effect(effect, is_idempotent, hints):
    tool = Tool("t.a", effect=effect, is_idempotent=is_idempotent)

    made = mcp.annotations(tool)

    assert tuple(made.values()) == hints
    assert list(made) == ["readOnlyHint", "destructiveHint", "idempotentHint"]


@pytest.mark.parametrize("kind", ["http", "mcp"])
def test_what_speaks_to_services_reaches_an_open_world(kind):
    assert mcp.annotations(Tool("t.a", kind=kind))["openWorldHint"] is True


def test_schemas_keep_what_they_say_of_themselves():
    city = {"type": "string", "$anchor": "city"}
    written = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema(city=city)}

    document = mcp.tool_document(Tool("t.a", input_schema=written), names_of())

    assert document["inputSchema"] == written


def test_a_tool_that_always_asks_says_so_beside_its_annotations():
    assert mcp.tool_document(FORECAST, names_of(), asks=True)["_meta"] == {"toolrt/asks": True}


def test_old_clients_get_an_object_around_what_is_none():
    old, new = mcp.output_schema(LIST, OLD), mcp.output_schema(LIST, NEW)

    assert old == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/N"}}, **NOTICED},
        "anyOf": [{"required": ["result"]}, {"required": ["toolrt/notice"]}],
        "$defs": {"N": {"type": "number"}},
    }
    assert new["anyOf"][0]["type"] == "array"
    assert result(good([1]), OLD, LIST)["structuredContent"] == {"result": [1]}
    assert result(good([1]), NEW, LIST)["structuredContent"] == [1]
    assert result(good({"t": 1}), OLD, RECORD)["structuredContent"] == {"t": 1}


@pytest.mark.parametrize("revision", [OLD, NEW])
@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (RECORD, {"t": 1}, {"t": "x"}),
        ({"type": "object"}, {}, []),
        ({"type": "object", "required": ["a"], "additionalProperties": False,
          "properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 1, "b": 2}),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
          "minProperties": 2, "$defs": {"n": {"type": "integer"}},
          "patternProperties": {"^n": {"$ref": "#/$defs/n"}}}, {"n": 1, "m": 2}, {"n": 1}),
        (LIST, [1], ["x"]),
        ({"$ref": "#/$defs/N", "$defs": {"N": {"enum": [1, None]}}}, None, 2),
    ],
)  # fmt: skip
def test_an_output_schema_takes_a_notice_and_nothing_else_that_it_did_not(
    schema, right, wrong, revision
):
    offered = mcp.output_schema(schema, revision)
    validator = jsonschema.validators.validator_for(offered)(offered)

    def written(data):
        return mcp.structured(data, schema, revision)

    assert revision == NEW or offered["type"] == "object"
    assert validator.is_valid({"toolrt/notice": "it was cut"})
    assert validator.is_valid(written(right))
    assert not validator.is_valid(written(wrong))


def test_an_answer_that_was_cut_is_no_failure():
    cut = good({"preview": "x"})._replace(status="partial")

    document = result(cut, NEW, RECORD)

    assert document["isError"] is False
    assert list(document["structuredContent"]) == ["toolrt/notice"]


@pytest.mark.parametrize("revision", [OLD, NEW])
@pytest.mark.parametrize("of", [None, RECORD], ids=["free", "schema"])
@pytest.mark.parametrize(
    "given", [good({"t": 21}), good("hi"), good(None, "nothing"), image(), bad(), paused()]
)
def test_every_result_is_of_the_sdk_s_type(given, of, revision):
    document = result(given, revision, of)

    read = CallToolResult.model_validate(document)
    told = read.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert {key: told[key] for key in document if document[key] is not None} == {
        key: each for key, each in document.items() if each is not None
    }


def test_a_value_is_told_as_text_and_as_an_object_too():
    document = result(good({"t": 21}))

    assert document == {
        "content": [{"type": "text", "text": '{"t":21}'}],
        "isError": False,
        "structuredContent": {"t": 21},
        "_meta": {"toolrt/call_id": "call-1", "toolrt/status": "success"},
    }


def test_an_image_has_its_description_before_it():
    text, shown = result(image())["content"]

    assert text == {"type": "text", "text": "image/png, 16 bytes"}
    assert (shown["type"], shown["mimeType"]) == ("image", "image/png")


@pytest.mark.parametrize("given", [bad(), paused()])
def test_what_has_no_value_is_an_error_without_structure(given):
    document = result(given, of=RECORD)

    assert document["isError"]
    assert "structuredContent" not in document


@pytest.mark.parametrize(
    "given",
    [
        {"name": "weather_forecast", "arguments": {"city": "Oslo"}},
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call",
         "params": {"name": "weather_forecast", "arguments": {"city": "Oslo"}}},
    ],
)  # fmt: skip
def test_a_request_and_its_params_are_read(given):
    (call,) = mcp.parse_calls(given, names_of())

    assert (call.tool, call.arguments) == ("weather.forecast", {"city": "Oslo"})
    assert call.id == ("7" if "id" in given else "call_1")


def test_other_requests_are_no_calls():
    with pytest.raises(ParseError):
        mcp.parse_calls({"method": "tools/list"}, names_of())


def test_a_request_without_params_is_told():
    with pytest.raises(ParseError, match="has no params"):
        mcp.parse_calls({"method": "tools/call"}, names_of())


def test_two_tools_that_would_meet_cannot_be_loaded_so_every_name_comes_back():
    tools = [Tool(f"a.{'b' * 200}{n}", input_schema=schema()) for n in range(3)]

    wires = [each["name"] for each in export(tools, "mcp").documents]

    assert len(set(wires)) == 3
    assert {len(each) for each in wires} == {128}
