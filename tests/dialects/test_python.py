"""Stubs that are Python, and code that is read and never run."""

import ast
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from vendor_schemas import arguments_schemas
from vendor_tools import FORECAST, TREE, Tool, bad, good, names_of, schema

from toolrt.dialects import python
from toolrt.dialects.base import ParseError, export


def stub(tool: Tool) -> str:
    (document,) = export([tool], "python").documents
    return document["code"]


def parsed(code: str) -> list[Any]:
    return python.parse_calls(code, names_of())


def test_r18_the_whole_of_one_stub():
    assert stub(FORECAST) == (
        "def weather_forecast(*, city: str, days: int = 3, "
        "units: Literal['metric', 'imperial'] = 'metric', title: str | None = None) -> Any:\n"
        '    """Forecast for a city. For the past there is `weather.history`.\n'
        "\n"
        "    Args:\n"
        "        city: (for example: Tokyo; minLength: 1)\n"
        "        days: (maximum: 14; minimum: 1)\n"
        "        title: A property that is called title.\n"
        '    """\n'
        "    ..."
    )


def test_what_a_tool_gives_back_is_its_annotation():
    tool = Tool("t.a", output_schema={"type": "array", "items": {"type": "number"}})

    assert stub(tool).startswith("def t_a() -> list[float]:")


def test_what_holds_itself_comes_to_an_end():
    assert "tree: dict[str, Any]" in stub(TREE)


def test_a_description_does_not_end_its_docstring():
    tool = Tool("t.a", 'He said """no""" and \\n left "so"')

    (made,) = ast.parse(stub(tool)).body

    assert ast.get_docstring(made) == tool.description


def test_names_that_python_cannot_write_are_taken_as_others():
    tool = Tool("t.a", input_schema=schema(("x-y",), **{"x-y": {"type": "string"}, "class": {}}))

    assert "def t_a(**others: Any) -> Any:" in stub(tool)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=arguments_schemas())
def test_every_stub_is_python(schema):
    ast.parse(stub(Tool("t.a", input_schema=schema)))


def test_calls_are_read_with_the_names_that_they_are_assigned_to():
    calls = parsed("now = weather_forecast(city='Oslo', days=2)\nawait weather.history()\n")

    assert [(each.id, each.tool, each.arguments) for each in calls] == [
        ("now", "weather.forecast", {"city": "Oslo", "days": 2}),
        ("call_2", "weather.history", {}),
    ]


def test_code_in_fenced_blocks_is_read_and_the_words_around_it_are_not():
    text = (
        "I shall look.\n```python\nweather_history()\n```\nAnd then\n```\nnotes_put(tags={})\n```"
    )

    assert [each.tool for each in parsed(text)] == ["weather.history", "notes.put"]


def test_other_names_of_parameters_come_as_a_literal_mapping():
    (call,) = parsed('notes_put(**{"x-y": 1}, tags={"a": [1, None, True]})')

    assert call.arguments == {"x-y": 1, "tags": {"a": [1, None, True]}}


@pytest.mark.parametrize(
    ("code", "at", "says"),
    [
        ("notes_put(tags={}", "line 1", "the code ends too early"),
        ("if True: pass", "line 1", "this is no call"),
        ("\nimport os", "line 2", "this is no call"),
        ("notes_put('x')", "line 1", "an argument has no name"),
        ("notes_put(tags=open('x'))", "line 1", "no literal"),
        ("notes_put(tags=b'x')", "line 1", "no literal"),
        ("notes_put(tags={1, 2})", "line 1", "no literal"),
        ("notes_put(**x)", "line 1", "no literal"),
        ("notes_put(a=1, **{'a': 2})", "line 1", "no literal"),
        ("a = = b", "line 1", "this is no Python"),
        ("\0", "line 1", "this is no Python"),
    ],
)
def test_a_fault_of_code_is_told_with_its_line(code, at, says):
    with pytest.raises(ParseError, match=says) as caught:
        parsed(code)

    assert caught.value.details == {"dialect": "python", "at": at}


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("notes_put()\n" * 1001, "more than 1,000 calls"),
        ("notes_put();" * 5000, "more than 1,000 calls"),
        (f"notes_put(text='{'x' * (64 * 1024)}')", "longer than 65,536 characters"),
        (f"```\nnotes_put()\n```{' ' * (64 * 1024)}", "longer than 65,536 characters"),
    ],
)
def test_code_that_would_take_long_to_read_is_refused(code, says):
    with pytest.raises(ParseError, match=says) as caught:
        parsed(code)

    assert caught.value.hint


def test_a_thousand_calls_are_read():
    assert len(parsed("notes_put()\n" * 1000)) == 1000


def test_nested_beyond_reason_is_refused():
    with pytest.raises(ParseError):
        parsed(f"notes_put(tags={'[' * 5000}{']' * 5000})")


def test_results_come_under_the_names_of_their_calls():
    calls = parsed("now = weather_forecast(city='Oslo')\nweather_history()")

    first, second = python.format_results(calls, [good({"t": 21}), bad()], names_of())

    assert first == {"id": "now", "name": "weather_forecast", "output": '{"t":21}', "failed": False}
    assert second["failed"]
