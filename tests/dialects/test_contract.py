"""What every dialect keeps, whoever's it is."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from vendor_tools import FORECAST, HISTORY, NOTE, TOOLS, bad, good, image, names_of, paused

import toolrt.dialects
from toolrt.core.errors import RefusedError
from toolrt.dialects.base import DIALECTS, ParseError, dialect_named, export, recognised
from toolrt.faces.cli import dialect as face

VENDORS = ("openai", "openai_responses", "anthropic", "google", "mcp", "python")

ANSWERS: dict[str, Any] = {
    "openai": {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "weather_forecast", "arguments": '{"city": "Tōkyō"}'}}]}}]},
    "openai_responses": {"output": [
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "weather_forecast",
         "arguments": '{"city": "Tōkyō"}'}]},
    "anthropic": {"role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "I shall look."},
        {"type": "tool_use", "id": "c1", "name": "weather_forecast", "input": {"city": "Tōkyō"}}]},
    "google": {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"functionCall": {"id": "c1", "name": "weather_forecast", "args": {"city": "Tōkyō"}}}]}}]},
    "mcp": {"jsonrpc": "2.0", "id": "c1", "method": "tools/call",
            "params": {"name": "weather_forecast", "arguments": {"city": "Tōkyō"}}},
    "python": 'c1 = weather_forecast(city="Tōkyō")',
}  # fmt: skip
"""The same call, asked for in each dialect."""


_MANY: dict[str, Any] = {
    "openai": {"role": "assistant", "tool_calls": [{"function": {"name": "a"}}] * 1001},
    "openai_responses": {"output": [{"type": "function_call", "name": "a"}] * 1001},
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "name": "a"}] * 1001},
    "google": {"candidates": [{"content": {"parts": [{"functionCall": {"name": "a"}}] * 1001}}]},
    "python": "a()\n" * 1001,
}  # fmt: skip


@pytest.mark.parametrize("name", _MANY)
def test_more_than_a_thousand_calls_in_one_answer_are_refused(name):
    with pytest.raises(ParseError, match="more than 1,000 calls") as caught:
        dialect_named(name).parse_calls(_MANY[name], names_of())

    assert caught.value.hint


def test_the_table_equals_the_folder():
    folder = Path(toolrt.dialects.__file__).parent
    shared = {"__init__", "base", "content", "names", "wires"}

    assert {path.stem for path in folder.glob("*.py")} - shared == set(DIALECTS) == set(VENDORS)
    assert tuple(DIALECTS) == face.NAMES


@pytest.mark.parametrize("name", VENDORS)
def test_a_dialect_has_its_name_and_its_members(name):
    vendor = dialect_named(name)

    assert (vendor.NAME, vendor.LONGEST_NAME >= 64) == (name, True)


def test_an_unknown_dialect_is_told_with_the_nearest():
    with pytest.raises(RefusedError, match="`opnai`") as caught:
        dialect_named("opnai")

    assert caught.value.hint == "did you mean `openai`?"


@pytest.mark.parametrize("name", VENDORS)
def test_tools_come_in_the_order_of_their_names_and_the_fingerprint_stays(name):
    one, other = export(TOOLS, name), export(TOOLS[::-1], name)

    assert one == other
    assert [each.get("name") or each["function"]["name"] for each in one.documents] == [
        "notes_put", "trees_put", "weather_forecast", "weather_history",
    ]  # fmt: skip


@pytest.mark.parametrize("name", VENDORS)
def test_another_tool_or_another_word_is_another_fingerprint(name):
    fingerprint = export(TOOLS, name).fingerprint

    assert export(TOOLS[1:], name).fingerprint != fingerprint
    assert len(fingerprint) == 64


@pytest.mark.parametrize("name", VENDORS)
def test_a_description_names_tools_as_the_model_knows_them(name):
    written = json.dumps(export([FORECAST, HISTORY], name).documents)

    assert "`weather_history`" in written
    assert "weather.history" not in written


@pytest.mark.parametrize("name", VENDORS)
def test_a_tool_that_is_to_go_says_what_to_use_instead(name):
    old = replace(HISTORY, deprecated="use `weather.forecast`")

    written = json.dumps(export([old, FORECAST], name).documents)

    assert "Deprecated: use `weather_forecast`" in written


@pytest.mark.parametrize("name", VENDORS)
def test_titles_are_left_out_and_a_property_called_title_stays(name):
    written = json.dumps(export([FORECAST], name).documents)

    assert '"City"' not in written
    assert "A property that is called title." in written


@pytest.mark.parametrize("name", VENDORS)
def test_the_call_of_an_answer_is_read(name):
    (call,) = dialect_named(name).parse_calls(ANSWERS[name], names_of())

    arguments = call.arguments
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert (call.id, call.tool, call.name) == ("c1", "weather.forecast", "weather_forecast")
    assert arguments == {"city": "Tōkyō"}


@pytest.mark.parametrize("name", [each for each in VENDORS if each != "python"])
def test_an_answer_shows_whose_it_is(name):
    assert name == recognised(ANSWERS[name]).NAME


@pytest.mark.parametrize("answer", [None, 3, {}, [], "text", {"a": 1}], ids=str)
def test_an_answer_of_nobody_is_told(answer):
    with pytest.raises(ParseError, match="no dialect knows this answer"):
        recognised(answer)


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("junk", [None, 3, {}, [3], {"choices": [], "output": {}, "content": 3,
                                                     "candidates": 0, "params": 1}], ids=str)  # fmt: skip
def test_junk_is_no_answer_and_breaks_nothing(name, junk):
    with pytest.raises(ParseError) as caught:
        dialect_named(name).parse_calls(junk, names_of())

    assert caught.value.details["dialect"] == name
    assert caught.value.hint


@pytest.mark.parametrize("name", VENDORS)
def test_no_result_tells_a_model_who_may_say_yes(name):
    vendor, names = dialect_named(name), names_of()
    calls = vendor.parse_calls(ANSWERS[name], names)

    written = json.dumps(vendor.format_results(calls, [paused()], names))

    assert "a1b2c3" in written
    assert "https://tools.example/approve/a1b2c3" in written
    assert "2027-01-15T08:00:00Z" in written
    assert "finance" not in written
    assert "boss-anna" not in written


@pytest.mark.parametrize("name", VENDORS)
def test_an_error_has_its_code_and_what_to_do_in_names_that_the_model_knows(name):
    vendor, names = dialect_named(name), names_of()
    calls = vendor.parse_calls(ANSWERS[name], names)

    written = json.dumps(vendor.format_results(calls, [bad()], names))

    assert "denied" in written
    assert "ask for `weather_history` instead" in written
    assert "weather.forecast" not in written


@pytest.mark.parametrize("name", VENDORS)
def test_a_value_is_told_in_utf_8_as_it_is(name):
    vendor, names = dialect_named(name), names_of()
    calls = vendor.parse_calls(ANSWERS[name], names)

    messages = vendor.format_results(calls, [good({"city": "Tōkyō"})], names)

    assert "Tōkyō" in repr(messages)


@pytest.mark.parametrize("name", ["openai", "openai_responses", "anthropic", "google", "mcp"])
def test_an_image_is_an_image(name):
    vendor, names = dialect_named(name), names_of()
    calls = vendor.parse_calls(ANSWERS[name], names)

    written = json.dumps(vendor.format_results(calls, [image()], names))

    assert "image/png, 16 bytes" in written
    assert image().data in written


@pytest.mark.parametrize("name", VENDORS)
def test_an_answer_without_calls_gives_no_messages(name):
    vendor, names = dialect_named(name), names_of()

    assert vendor.format_results([], [], names) == []


@pytest.mark.parametrize("name", ["openai", "openai_responses", "anthropic"])
def test_strict_always_refuses_the_tool_that_cannot_be(name):
    with pytest.raises(
        RefusedError, match=r"`notes.put` cannot be strict for .* at `tags`: it takes"
    ):
        export([NOTE], name, "always")


@pytest.mark.parametrize("name", ["openai", "openai_responses", "anthropic"])
def test_strict_auto_leaves_such_a_tool_as_it_is_and_says_so(name):
    made = export([NOTE], name)

    assert '"strict": true' not in json.dumps(made.documents)
    assert made.report[0].says.startswith("not strict: it takes names")
    assert json.dumps(made.documents).count("additionalProperties") == 2


@pytest.mark.parametrize("name", ["openai", "openai_responses", "anthropic"])
def test_strict_never_is_none(name):
    assert '"strict": true' not in json.dumps(export(TOOLS, name, "never").documents)
