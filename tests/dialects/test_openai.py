"""Chat completions, held against the types of the official SDK."""

import json
from typing import Any

import pytest
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionFunctionToolParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from vendor_sdk import fits
from vendor_tools import FORECAST, PNG, TOOLS, TREE, Tool, good, image, names_of, schema

from toolrt.dialects import openai
from toolrt.dialects.base import CUT_OFF, ParseError, document_of, export


def completion(*calls: Any, reason: str = "tool_calls", content: str | None = None) -> Any:
    """A completion as the SDK hands it over."""
    return ChatCompletion.model_validate(
        {
            "id": "x", "object": "chat.completion", "created": 1, "model": "gpt",
            "choices": [{"index": 0, "finish_reason": reason, "logprobs": None, "message": {
                "role": "assistant", "content": content, "refusal": None,
                "tool_calls": list(calls) or None}}],
        }
    )  # fmt: skip


def asked(name: str = "weather_forecast", arguments: Any = "{}", id_: str | None = "c1") -> Any:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def parsed(answer: Any) -> list[Any]:
    return openai.parse_calls(document_of(answer), names_of())


@pytest.mark.parametrize("strict", ["auto", "never"])
def test_what_goes_out_is_of_the_sdk_s_type(strict):
    for document in export(TOOLS, "openai", strict).documents:
        assert fits(document, ChatCompletionFunctionToolParam)


def test_m2_d5_the_whole_of_one_tool():
    (document,) = export([FORECAST], "openai").documents

    assert document == {
        "type": "function",
        "function": {
            "name": "weather_forecast",
            "description": "Forecast for a city. For the past there is `weather.history`.",
            "strict": True,
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "required": ["city", "days", "units", "title"],
                "properties": {
                    "city": {"type": "string", "description": "(for example: Tokyo; minLength: 1)"},
                    "days": {"type": ["integer", "null"], "minimum": 1, "maximum": 14,
                             "description": "(default: 3)"},
                    "units": {"type": ["string", "null"], "enum": ["metric", "imperial", None],
                              "description": "(default: metric)"},
                    "title": {"type": ["string", "null"],
                              "description": "A property that is called title."},
                },
            },
        },
    }  # fmt: skip


def test_r13_what_is_lost_is_told_with_its_place():
    (told,) = export([FORECAST], "openai").report

    assert told.document() == {
        "tool": "weather.forecast",
        "path": "city",
        "says": "`minLength` is told in the description",
    }


def test_what_holds_itself_stays_a_reference():
    (document,) = export([TREE], "openai").documents

    parameters = document["function"]["parameters"]
    assert document["function"]["strict"]
    assert parameters["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert parameters["$defs"]["Tree"]["required"] == ["leaf", "twigs"]


def test_ten_levels_are_strict_and_eleven_are_not():
    def nested(levels: int) -> Tool:
        inner: Any = {"type": "string"}
        for _ in range(levels - 1):
            inner = schema(("a",), a=inner)
        return Tool("t.deep", input_schema=schema(("a",), a=inner))

    ten, eleven = (export([nested(n)], "openai") for n in (10, 11))

    assert ten.documents[0]["function"]["strict"]
    assert not eleven.documents[0]["function"]["strict"]
    assert eleven.report[0].says == "not strict: it has 11 levels, and openai takes 10"


def test_an_sdk_s_object_is_read():
    calls = parsed(completion(asked(arguments='{"city": "Oslo"}'), asked("nope", id_="c2")))

    assert [(each.id, each.tool, each.arguments) for each in calls] == [
        ("c1", "weather.forecast", '{"city": "Oslo"}'),
        ("c2", "nope", "{}"),
    ]


@pytest.mark.parametrize("form", ["dict", "text", "bytes", "message", "choice"])
def test_all_forms_of_an_answer_are_read(form):
    whole = completion(asked()).model_dump()
    answer = {
        "dict": whole,
        "text": json.dumps(whole),
        "bytes": json.dumps(whole).encode(),
        "message": whole["choices"][0]["message"],
        "choice": whole["choices"][0],
    }[form]

    assert [each.tool for each in parsed(answer)] == ["weather.forecast"]


def test_an_answer_in_words_has_no_calls():
    assert parsed(completion(reason="stop", content="Sunny.")) == []


def test_m6_a_missing_id_is_made_and_a_missing_name_names_no_tool():
    calls = parsed({"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}, {}]})

    assert [(each.id, each.tool, each.has_id) for each in calls] == [
        ("call_1", "", False),
        ("call_2", "", False),
    ]


@pytest.mark.parametrize("arguments", ["[]", "3", '"x"', "null", [], 3, False])
def test_m6_what_is_no_object_is_never_taken_for_no_arguments(arguments):
    (call,) = parsed({"role": "assistant", "tool_calls": [asked(arguments=arguments)]})

    assert call.arguments == arguments


@pytest.mark.parametrize("arguments", ["", None])
def test_arguments_that_were_not_sent_are_none(arguments):
    (call,) = parsed({"role": "assistant", "tool_calls": [asked(arguments=arguments)]})

    assert call.arguments == {}


def test_where_the_answer_ran_out_of_tokens_missing_arguments_are_cut_off():
    calls = parsed(completion(asked(arguments=""), asked(arguments=""), reason="length"))

    assert [each.arguments for each in calls] == [{}, CUT_OFF]


def test_whole_arguments_at_the_end_of_the_tokens_are_whole():
    calls = parsed(completion(asked(arguments='{"city": "Oslo"}'), reason="length"))

    assert calls[0].arguments == '{"city": "Oslo"}'


@pytest.mark.parametrize(
    ("answer", "at", "says"),
    [
        ({"choices": []}, "choices", "the answer has no choices"),
        ({"choices": [{}, {}]}, "choices", "the answer has 2 choices"),
        ({"choices": [{}]}, "choices[0].message", "there is no message"),
        ({"object": "chat.completion.chunk", "choices": []}, "object", "one chunk of a stream"),
        ({"role": "assistant", "tool_calls": {"a": 1}}, "tool_calls", "no list of calls"),
        ({"role": "assistant", "tool_calls": [3]}, "tool_calls", "no list of calls"),
    ],
    ids=str,
)
def test_a_fault_of_an_answer_is_told_with_its_place(answer, at, says):
    with pytest.raises(ParseError, match=says) as caught:
        parsed(answer)

    assert caught.value.details == {"dialect": "openai", "at": at}


def test_m33_messages_are_of_the_sdk_s_types():
    calls = parsed(completion(asked(), asked(id_="c2")))

    said, shown, user = openai.format_results(calls, [good({"t": 21}), image()], names_of())

    assert fits(said, ChatCompletionToolMessageParam)
    assert fits(shown, ChatCompletionToolMessageParam)
    assert fits(user, ChatCompletionUserMessageParam)
    assert said == {"role": "tool", "tool_call_id": "c1", "content": '{"t":21}'}
    assert user["content"][1]["image_url"]["url"] == f"data:image/png;base64,{PNG}"


def test_half_characters_of_names_and_ids_do_not_come_back():
    (call,) = parsed({"role": "assistant", "tool_calls": [asked("a\ud800b", id_="c\udfff")]})

    json.dumps([call.id, call.name], ensure_ascii=False).encode()
    assert (call.id, call.tool) != ("c\udfff", "a\ud800b")


def test_a_custom_tool_call_is_read_and_its_input_is_no_object():
    custom = {"id": "c1", "type": "custom", "custom": {"name": "weather_forecast", "input": "Oslo"}}

    (call,) = parsed(completion(custom))

    assert (call.tool, call.arguments) == ("weather.forecast", "Oslo")
