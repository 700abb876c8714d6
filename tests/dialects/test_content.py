"""What a model is told of a result, whatever the dialect."""

import json

import pytest
from vendor_tools import PNG, bad, good, image, names_of, paused

from toolrt.core.binaries import Binary
from toolrt.core.results import Failure
from toolrt.dialects import mcp
from toolrt.dialects.base import DIALECTS, ToolCall, dialect_named
from toolrt.dialects.content import Blob, blobs, is_failed, said, shown

NAMES = names_of()
BLOCK = {"type": "image", "mimeType": "image/png", "data": PNG}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (good("hello"), "hello"),
        (good(""), '""'),
        (good(None, "t completed with no output."), "t completed with no output."),
        (good({"a": [1, "é"]}), '{"a":[1,"é"]}'),
        (good({"a": 1}, "one"), "one"),
        (good(3), "3"),
        (good([]), "[]"),
        (image(), "image/png, 16 bytes"),
        (good(BLOCK), "image/png, 16 bytes"),
        (good([{"type": "text", "text": "Look:"}, BLOCK, {"n": 1}]),
         'Look:\nimage/png, 16 bytes\n{"n":1}'),
        (good(Binary(base64="AAAA", media_type="audio/wav")), "audio/wav, 3 bytes"),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_is_its_text_or_its_json_and_bytes_are_described(result, text):
    assert said(result, NAMES) == text


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (image().data, [Blob("image/png", PNG)]),
        (Binary(base64="AA==", media_type="x/y"), [Blob("x/y", "AA==")]),
        ({"base64": "AA==", "media_type": "x/y"}, [Blob("x/y", "AA==")]),
        ([BLOCK, 3, "text"], [Blob("image/png", PNG)]),
        ({"type": "text", "mimeType": "a", "data": "b"}, []),
        ({"base64": "AA=="}, []),
        (PNG, []),
        (None, []),
    ],
    ids=str,
)
def test_bytes_are_found_where_they_are_the_value_or_items_of_it(data, found):
    assert blobs(good(data)) == found


def test_a_failure_says_whether_it_may_go_well_later():
    late = bad()._replace(error=Failure("timeout", "no answer in time", None, retryable=True))

    assert (
        said(late, NAMES) == "Error (timeout): no answer in time\nThe same call may succeed later."
    )


def test_a_call_that_waits_says_what_a_person_fills_in():
    result = paused()
    asked = result._replace(pause=type(result.pause)(
        "a1", "input", 1800000000.0, "waits", ("code", "day"),
    ))  # fmt: skip

    assert said(asked, NAMES).splitlines()[1:] == [
        "It waits until 2027-01-15T08:00:00Z.",
        "The person fills in: code, day.",
    ]


NOTED = {"notes": ("the arguments were edited by ann", "`weather.forecast` was sent late")}
NOTES = ["Note: the arguments were edited by ann.", "Note: `weather_forecast` was sent late."]


@pytest.mark.parametrize("result", [good({"a": 1}), good("x"), bad(), image()])
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_a13_a_model_reads_the_notes_of_a_call_in_every_dialect(dialect, result):
    vendor, call = dialect_named(dialect), ToolCall("c", "weather.forecast", {}, "weather_forecast")
    written = json.dumps(vendor.format_results([call], [result._replace(context=NOTED)], NAMES))

    assert all(json.dumps(each)[1:-1] in written for each in NOTES)


def test_a13_notes_stand_beside_a_value_that_is_data():
    result = good({"a": 1})._replace(context=NOTED)

    parts = mcp.content(result, NAMES)

    assert [each["text"] for each in parts] == ['{"a":1}', *NOTES]
    assert said(result, NAMES) == "\n".join(['{"a":1}', *NOTES])


def test_what_is_shown_of_a_pause_names_no_people_and_the_rest_stays():
    document = shown(paused())

    assert "needs" not in document["pause"]
    assert document["pause"].keys() == paused().document()["pause"].keys() - {"needs"}
    assert shown(good("x")) == good("x").document()


def test_failures_and_pauses_are_no_values():
    assert [is_failed(each) for each in (good(1), bad(), paused())] == [False, True, True]
