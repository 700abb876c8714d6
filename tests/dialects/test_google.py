"""Gemini, held against the types of the official SDK."""

import json
from typing import Any

import pytest
from google.genai import types
from vendor_tools import (
    FORECAST,
    HISTORY,
    NOTE,
    PNG,
    TOOLS,
    TREE,
    Tool,
    bad,
    good,
    image,
    names_of,
    paused,
    schema,
)

from toolrt.dialects import google
from toolrt.dialects.base import CUT_OFF, ParseError, document_of, export

IS_KNOWN = "parameters_json_schema" in types.FunctionDeclaration.model_fields
"""Whether the SDK is of those that know JSON Schema; older ones know its place by no name."""


def answer(*parts: Any, reason: str = "STOP") -> Any:
    """An answer as the SDK hands it over."""
    content = {"role": "model", "parts": list(parts)}
    made = {"candidates": [{"content": content, "finishReason": reason}]}
    return types.GenerateContentResponse.model_validate(made)


def called(name: str = "weather_forecast", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **more}}


def parsed(given: Any) -> list[Any]:
    return google.parse_calls(document_of(given), names_of())


def test_what_goes_out_is_of_the_sdk_s_type():
    for document in export(TOOLS, "google").documents:
        known = dict(document)
        if not IS_KNOWN:
            assert known.pop("parametersJsonSchema", {"type": "object"})["type"] == "object"
        read = types.FunctionDeclaration.model_validate(known)
        assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == known


def test_the_whole_of_one_tool():
    (document,) = export([FORECAST], "google").documents

    assert document["parametersJsonSchema"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "(for example: Tokyo; minLength: 1)"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "description": "(default: 3)"},
            "units": {"type": "string", "enum": ["metric", "imperial"],
                      "description": "(default: metric)"},
            "title": {"type": "string", "description": "A property that is called title."},
        },
    }  # fmt: skip


def test_a_tool_without_parameters_has_none():
    assert "parametersJsonSchema" not in export([HISTORY], "google").documents[0]


def test_references_are_told_where_they_stand_and_what_holds_itself_ends():
    made = export([TREE], "google")
    (document,) = made.documents

    assert "$ref" not in json.dumps(document)
    tree = document["parametersJsonSchema"]["properties"]["tree"]
    assert tree["properties"]["twigs"]["items"]["properties"]["twigs"]["items"] == {
        "type": "object"
    }
    assert [(each.path, each.says) for each in made.report] == [
        ("tree.twigs[].twigs[]", "what holds itself is told two levels deep")
    ]


def test_an_open_object_stays_open():
    (document,) = export([NOTE], "google").documents

    tags = document["parametersJsonSchema"]["properties"]["tags"]
    assert tags["additionalProperties"] == {"type": "string"}


def test_enums_of_other_than_text_and_numbers_are_told():
    flag = Tool("t.a", input_schema=schema(on={"enum": [True]}, one={"const": 1}))

    made = export([flag], "google")
    properties = made.documents[0]["parametersJsonSchema"]["properties"]

    assert properties == {
        "on": {"type": "boolean", "description": "(one of: true)"},
        "one": {"type": "integer", "enum": [1]},
    }
    assert [each.says for each in made.report] == ["`one of` is told in the description"]


def test_an_sdk_s_object_is_read():
    text = {"text": "I shall look."}
    given = answer(text, called(args={"city": "Oslo"}, id="c1"), called("nope"))

    assert [(each.id, each.tool, each.arguments, each.has_id) for each in parsed(given)] == [
        ("c1", "weather.forecast", {"city": "Oslo"}, True),
        ("call_2", "nope", {}, False),
    ]


def test_plain_data_in_both_spellings_and_the_content_alone_are_read():
    whole = answer(called())
    camel = whole.model_dump(mode="json", by_alias=True, exclude_none=True)
    snake = whole.model_dump(mode="json", exclude_none=True)

    forms = (camel, snake, camel["candidates"][0]["content"], json.dumps(camel))
    assert [[each.tool for each in parsed(form)] for form in forms] == [["weather.forecast"]] * 4


def test_an_answer_in_words_or_without_any_has_no_calls():
    assert parsed(answer({"text": "Sunny."})) == []
    assert parsed({"candidates": [{"finishReason": "SAFETY"}]}) == []


def test_the_last_call_of_an_answer_that_ran_out_of_tokens_is_cut_off():
    given = answer(called(args={"city": "Oslo"}), called(args={"city": "B"}), reason="MAX_TOKENS")

    assert [each.arguments for each in parsed(given)] == [{"city": "Oslo"}, CUT_OFF]


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ({"candidates": []}, "candidates"),
        ({"candidates": [{}, {}]}, "candidates"),
        ({"candidates": [{"content": {"parts": 3}}]}, "candidates[0].content.parts"),
        ({"parts": [3]}, "parts"),
        ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]},
         "candidates[0].finishReason"),
    ],
)  # fmt: skip
def test_a_fault_of_an_answer_is_told_with_its_place(given, at):
    with pytest.raises(ParseError) as caught:
        parsed(given)

    assert caught.value.details == {"dialect": "google", "at": at}


def test_one_content_goes_back_and_is_of_the_sdk_s_type():
    calls = parsed(answer(called(id="c1"), called(id="c2"), called(), called()))
    results = [good({"t": 21}), image(), bad(), paused()]

    (content,) = google.format_results(calls, results, names_of())

    read = types.Content.model_validate(content)
    assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == content
    first, second, third, fourth, beside = content["parts"]
    assert first == {
        "functionResponse": {"id": "c1", "name": "weather_forecast",
                             "response": {"output": {"t": 21}}}
    }  # fmt: skip
    assert second["functionResponse"]["response"] == {"output": "image/png, 16 bytes"}
    assert "id" not in third["functionResponse"]
    assert third["functionResponse"]["response"]["error"].startswith("Error (denied)")
    assert "a1b2c3" in fourth["functionResponse"]["response"]["error"] or "waits" in str(fourth)
    assert beside == {"inlineData": {"mimeType": "image/png", "data": PNG}}
