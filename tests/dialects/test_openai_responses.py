"""Responses, held against the types of the official SDK."""

from typing import Any

import pytest
from openai.types.responses import FunctionToolParam, Response
from openai.types.responses.response_input_param import FunctionCallOutput
from vendor_sdk import fits
from vendor_tools import FORECAST, PNG, TOOLS, bad, good, image, names_of, paused

from toolrt.dialects import openai, openai_responses
from toolrt.dialects.base import CUT_OFF, ParseError, document_of, export


def response(*items: Any, status: str = "completed") -> Any:
    """A response as the SDK hands it over."""
    return Response.model_validate(
        {
            "id": "x", "object": "response", "created_at": 1, "model": "gpt", "status": status,
            "output": list(items), "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        }
    )  # fmt: skip


def asked(arguments: str = "{}", call_id: str = "c1", **more: Any) -> dict[str, Any]:
    made = {"type": "function_call", "call_id": call_id, "name": "weather_forecast"}
    return {**made, "arguments": arguments, **more}


def parsed(answer: Any) -> list[Any]:
    return openai_responses.parse_calls(document_of(answer), names_of())


@pytest.mark.parametrize("strict", ["auto", "never"])
def test_what_goes_out_is_of_the_sdk_s_type(strict):
    for document in export(TOOLS, "openai_responses", strict).documents:
        assert fits(document, FunctionToolParam)


def test_the_schema_is_that_of_chat_completions_and_strict_is_always_said():
    (flat,) = export([FORECAST], "openai_responses").documents
    (deep,) = export([FORECAST], "openai").documents

    assert flat == {"type": "function", **deep["function"]}
    assert export([FORECAST], "openai_responses", "never").documents[0]["strict"] is False


def test_an_sdk_s_object_is_read_and_what_runs_at_openai_is_left_out():
    search = {"id": "w", "type": "web_search_call", "status": "completed",
              "action": {"type": "search", "query": "x"}}  # fmt: skip
    answer = response(search, asked('{"city": "Oslo"}'), asked(call_id="c2"))

    assert [(each.id, each.tool, each.arguments) for each in parsed(answer)] == [
        ("c1", "weather.forecast", '{"city": "Oslo"}'),
        ("c2", "weather.forecast", "{}"),
    ]


def test_the_output_alone_is_read_too():
    assert [each.id for each in parsed([asked()])] == ["c1"]


@pytest.mark.parametrize(
    ("item", "status", "arguments"),
    [
        (asked("", status="incomplete"), "completed", CUT_OFF),
        (asked(""), "incomplete", CUT_OFF),
        (asked(""), "completed", {}),
        (asked('{"city": "O'), "incomplete", '{"city": "O'),
    ],
)
def test_a_call_that_was_cut_off_is_told_from_one_without_arguments(item, status, arguments):
    assert parsed(response(item, status=status))[0].arguments == arguments


@pytest.mark.parametrize(
    ("answer", "at"),
    [({"output": 3}, "output"), ({"output": [3]}, "output[0]"), ({"status": "failed"}, "error")],
)
def test_a_fault_of_a_response_is_told_with_its_place(answer, at):
    with pytest.raises(ParseError) as caught:
        parsed(answer)

    assert caught.value.details == {"dialect": "openai_responses", "at": at}


def test_items_that_go_back_are_of_the_sdk_s_type():
    results = [good({"t": 21}), image(), bad(), paused()]
    calls = parsed([asked(call_id=f"c{n}") for n in range(4)])

    items = openai_responses.format_results(calls, results, names_of())

    assert all(fits(each, FunctionCallOutput) for each in items)
    assert items[0] == {"type": "function_call_output", "call_id": "c0", "output": '{"t":21}'}
    assert items[1]["output"][1]["image_url"] == f"data:image/png;base64,{PNG}"


def test_both_dialects_of_openai_say_the_same_in_words():
    calls = parsed([asked()])

    (item,) = openai_responses.format_results(calls, [bad()], names_of())
    (message,) = openai.format_results(calls, [bad()], names_of())

    assert item["output"] == message["content"]
