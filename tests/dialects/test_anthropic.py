"""Messages, held against the types of the official SDK, and its own rewriting of schemas."""

import base64
from typing import Any

import pytest
from anthropic.lib._parse._transform import transform_schema
from anthropic.types import Message, MessageParam, ToolParam
from vendor_sdk import fits
from vendor_tools import FORECAST, NOTE, PNG, TOOLS, TREE, Tool, bad, good, image, names_of, schema

from toolrt.core.binaries import Base64
from toolrt.dialects import anthropic
from toolrt.dialects.base import CUT_OFF, ParseError, document_of, export


def message(*blocks: Any, reason: str = "tool_use") -> Message:
    """A message as the SDK hands it over."""
    return Message.model_validate(
        {
            "id": "x", "type": "message", "role": "assistant", "model": "claude",
            "content": list(blocks), "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )  # fmt: skip


def used(id_: str = "c1", name: str = "weather_forecast", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def parsed(answer: Any) -> list[Any]:
    return anthropic.parse_calls(document_of(answer), names_of())


@pytest.mark.parametrize("strict", ["auto", "never"])
def test_what_goes_out_is_of_the_sdk_s_type(strict):
    for document in export(TOOLS, "anthropic", strict).documents:
        assert fits(document, ToolParam)


def test_the_whole_of_one_tool():
    (document,) = export([FORECAST], "anthropic").documents

    assert document["strict"]
    assert document["input_schema"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "(for example: Tokyo; minLength: 1)"},
            "days": {"type": "integer", "description": "(default: 3; minimum: 1; maximum: 14)"},
            "units": {"type": "string", "enum": ["metric", "imperial"],
                      "description": "(default: metric)"},
            "title": {"type": "string", "description": "A property that is called title."},
        },
    }  # fmt: skip


def test_the_sdk_s_own_rewriting_finds_nothing_left_to_take_out():
    (document,) = export([FORECAST], "anthropic").documents

    again = transform_schema(document["input_schema"])

    assert {name: each.get("description") for name, each in again["properties"].items()} == {
        name: each["description"] for name, each in document["input_schema"]["properties"].items()
    }


def test_what_holds_itself_is_not_strict_and_stays_as_it_is():
    made = export([TREE], "anthropic")

    assert "strict" not in made.documents[0]
    assert made.report[0].says == "not strict: it holds itself"
    assert made.documents[0]["input_schema"]["$defs"]["Tree"]["properties"]["twigs"]


def test_a_request_has_at_most_twenty_strict_tools_and_the_rest_is_told():
    tools = [
        Tool(f"t.t{n:02}", input_schema=schema(("a",), a={"type": "string"})) for n in range(25)
    ]

    made = export(tools, "anthropic")

    assert [bool(each.get("strict")) for each in made.documents] == [True] * 20 + [False] * 5
    assert [each.tool for each in made.report] == [f"t.t{n}" for n in range(20, 25)]


def test_optional_parameters_and_unions_of_a_request_are_counted():
    text, either = {"type": "string"}, {"type": ["string", "null"]}
    many = Tool("t.a", input_schema=schema(**{f"p{n}": text for n in range(20)}))
    few = Tool("t.b", input_schema=schema(**{f"p{n}": text for n in range(5)}))
    unions = Tool("t.c", input_schema=schema(tuple(f"p{n}" for n in range(17)),
                                             **{f"p{n}": either for n in range(17)}))  # fmt: skip

    made = export([many, few, unions], "anthropic")

    assert [bool(each.get("strict")) for each in made.documents] == [True, False, False]


def test_a_parameter_with_a_name_that_the_vendor_refuses_is_left_out_or_takes_its_tool_along():
    optional = Tool("t.a", input_schema=schema(größe={"type": "string"}))
    needed = Tool("t.b", input_schema=schema(("größe",), größe={"type": "string"}))

    for strict in ("auto", "never"):
        made = export([optional, needed], "anthropic", strict)
        assert [each["name"] for each in made.documents] == ["t_a"]
        assert made.documents[0]["input_schema"]["properties"] == {}
        assert {each.tool for each in made.report} == {"t.a", "t.b"}
        assert made.report[-1] == ("t.b", "", "the tool is left out")


def test_an_sdk_s_object_is_read_and_what_runs_at_anthropic_is_left_out():
    server = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    text = {"type": "text", "text": "I shall look.", "citations": None}

    calls = parsed(message(text, server, used(city="Oslo"), used("c2", "nope")))

    assert [(each.id, each.tool, each.arguments) for each in calls] == [
        ("c1", "weather.forecast", {"city": "Oslo"}),
        ("c2", "nope", {}),
    ]


def test_the_last_call_of_a_message_that_ran_out_of_tokens_is_cut_off():
    calls = parsed(message(used(city="Oslo"), used("c2", city="Ber"), reason="max_tokens"))

    assert [each.arguments for each in calls] == [{"city": "Oslo"}, CUT_OFF]


def test_calls_before_words_that_ran_out_of_tokens_are_whole():
    text = {"type": "text", "text": "And so", "citations": None}

    (call,) = parsed(message(used(city="Oslo"), text, reason="max_tokens"))

    assert call.arguments == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("answer", "at"),
    [({"content": 3}, "content"), ({"content": [3]}, "content[0]"), ({"type": "error"}, "error")],
)
def test_a_fault_of_a_message_is_told_with_its_place(answer, at):
    with pytest.raises(ParseError) as caught:
        parsed(answer)

    assert caught.value.details == {"dialect": "anthropic", "at": at}


def test_one_message_goes_back_and_is_of_the_sdk_s_type():
    calls = parsed(message(used(), used("c2"), used("c3"), used("c4")))
    pdf = good(Base64(base64.b64encode(b"%PDF-1.7").decode()), "application/pdf, 8 bytes")

    (made,) = anthropic.format_results(calls, [good({"t": 21}), image(), bad(), pdf], names_of())

    assert fits(made, MessageParam)
    value, shown, failed, document = made["content"]
    assert value == {"type": "tool_result", "tool_use_id": "c1", "content": '{"t":21}'}
    assert shown["content"][1]["source"] == {
        "type": "base64", "media_type": "image/png", "data": PNG,
    }  # fmt: skip
    assert failed["is_error"]
    assert document["content"][1]["type"] == "document"


def test_a_tool_that_cannot_be_strict_keeps_its_open_object():
    (document,) = export([NOTE], "anthropic").documents

    assert document["input_schema"]["properties"]["tags"] == {
        "type": "object",
        "additionalProperties": {"type": "string"},
    }
