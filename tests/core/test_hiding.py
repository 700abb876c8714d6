"""Given values are taken out of texts and JSON."""

import pytest

from toolrt.core.hiding import hiding, leaves

LONG = "kid-pin-4411"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"it is {LONG}.", "it is ***."),
        ({LONG: [LONG, 1]}, {"***": ["***", 1]}),
        ("42 is not 421", "*** is not 421"),
        ([42, 421, 42.5, True, None], ["***", 421, 42.5, True, None]),
        ("", ""),
    ],
)
def test_values_are_masked_wherever_they_stand(value, shown):
    assert hiding([LONG, 42, ""])(value) == shown


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\x00", "\x1b[0m"])
def test_nothing_unseen_keeps_a_value_from_being_masked(unseen):
    masked = hiding(["4711", "longer than that"])

    assert masked(f"is 47{unseen}11") == "is ***"
    assert masked([f"or longer{unseen} than that."]) == ["or ***."]
    assert masked(f"{unseen}4712") == f"{unseen}4712"


def test_nothing_is_masked_where_there_is_nothing_to_hide():
    assert hiding([])({"a": ["b", 1, True]}) == {"a": ["b", 1, True]}


def test_leaves_are_the_texts_and_numbers_of_a_value():
    assert list(leaves({"a": [1, {"b": "x"}], "c": [True, None, 2.5]})) == [1, "x", 2.5]
