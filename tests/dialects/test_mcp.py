"""MCP's tools and results, held against the types of the official SDK."""

from typing import Any

import pytest
from mcp_types import CallToolResult
from mcp_types import Tool as McpTool
from vendor_tools import FORECAST, TOOLS, Tool, bad, good, image, names_of, paused, schema

from toolrt.dialects import mcp
from toolrt.dialects.base import ParseError, export

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
        ("write", False, (False, False, False)),
        ("write", True, (False, False, True)),
        ("irreversible", False, (False, True, False)),
    ],
)
def test_annotations_come_of_the_effect(effect, is_idempotent, hints):
    tool = Tool("t.a", effect=effect, is_idempotent=is_idempotent)

    made = mcp.annotations(tool)

    assert tuple(made.values()) == hints
    assert list(made) == ["readOnlyHint", "destructiveHint", "idempotentHint"]


def test_a_tool_that_always_asks_says_so_beside_its_annotations():
    assert mcp.tool_document(FORECAST, names_of(), asks=True)["_meta"] == {"toolrt/asks": True}


def test_old_clients_get_an_object_around_what_is_none():
    old, new = mcp.output_schema(LIST, OLD), mcp.output_schema(LIST, NEW)

    assert old == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/N"}}},
        "required": ["result"],
        "$defs": {"N": {"type": "number"}},
    }
    assert new["type"] == "array"
    assert result(good([1]), OLD, LIST)["structuredContent"] == {"result": [1]}
    assert result(good([1]), NEW, LIST)["structuredContent"] == [1]
    assert mcp.output_schema(RECORD, OLD) == RECORD
    assert result(good({"t": 1}), OLD, RECORD)["structuredContent"] == {"t": 1}


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


def test_what_was_cut_is_an_error_to_those_that_check_a_schema():
    cut = good({"preview": "…", "spilled": "h"})._replace(status="partial")

    assert result(cut, of=RECORD)["isError"]
    assert not result(cut)["isError"]


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
