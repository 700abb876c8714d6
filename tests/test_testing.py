"""What users import in their own tests."""

import httpx
import pytest

import toolrt
from toolrt.testing import ManualClock, open_files, stubbed

pytestmark = pytest.mark.anyio

WEATHER = {
    "tools.d/weather.yaml": """
        tools:
          forecast:
            description: Forecast for a city.
            parameters: {city: string, days: {type: integer, default: 3}}
            http: {url: "https://api.example.com/forecast/{{ city }}", query: {days: "{{ days }}"}}
        """
}


async def test_a_transport_of_httpx_answers_in_place_of_every_connection():
    seen = []

    def answer(request):
        seen.append(str(request.url))
        return httpx.Response(200, json={"temp": 21})

    async with open_files(WEATHER, transport=httpx.MockTransport(answer)) as rt:
        result = await rt.call("forecast", {"city": "São Paulo"})
    assert result.data == {"temp": 21}
    assert seen == ["https://api.example.com/forecast/S%C3%A3o%20Paulo?days=3"]


async def test_a_stub_gets_the_checked_arguments_and_is_gone_afterwards():
    async with open_files(WEATHER) as rt:
        before = rt.snapshot
        with stubbed(rt, {"forecast": lambda arguments: arguments["days"] * 2}) as calls:
            assert (await rt.call("forecast", {"city": "Tokyo"})).data == 6
            assert (await rt.call("forecast", {"town": "Tokyo"})).error.code == "invalid-arguments"
        assert rt.snapshot is before
    assert [(one.tool, dict(one.arguments)) for one in calls] == [
        ("forecast", {"city": "Tokyo", "days": 3})
    ]


async def test_a_stub_of_no_tool_and_an_answer_that_is_no_function_are_refused_at_once():
    async with open_files(WEATHER) as rt:
        with pytest.raises(KeyError, match="no tool `forcast`; did you mean `forecast`"):
            stubbed(rt, {"forcast": lambda _: 1}).__enter__()
        with pytest.raises(TypeError, match="`forecast` is called with the arguments"):
            stubbed(rt, {"forecast": 6}).__enter__()
        assert (await rt.call("forecast", {})).error.code == "missing-arguments"


async def test_a_stub_may_fail_as_a_tool_may():
    def fail(_):
        raise toolrt.ToolError("no such city", code="no-city", hint="try another")

    async with open_files(WEATHER) as rt:
        with stubbed(rt, {"forecast": fail}):
            result = await rt.call("forecast", {"city": "Atlantis"})
    assert (result.error.code, result.error.message, result.error.hint) == (
        "no-city",
        "no such city",
        "try another",
    )


async def test_a_stub_for_no_tool_is_an_error():
    async with open_files(WEATHER) as rt:
        with pytest.raises(KeyError), stubbed(rt, {"forcast": lambda _: 1}):
            pass


async def test_the_manual_clock_moves_when_it_is_told_or_slept_on():
    clock = ManualClock(wall=100.0)
    before = clock.monotonic()
    clock.advance(2)
    await clock.sleep(3)
    assert clock.monotonic() - before == 5
    assert clock.wall() == 105.0
    assert clock.slept == [3]
