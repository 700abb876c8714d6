"""What a tool may ask of its client: how questions are written, and which answers count."""

import pytest

from toolrt.core import client
from toolrt.core.client import CLIENT, ClientLacksError, is_answer


def test_a_form_asks_for_fields_and_needs_those_without_a_default():
    fields = {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}}

    asked = client.form("who", "Who?", fields)

    assert asked.method == "elicitation/create"
    assert asked.params["requestedSchema"]["required"] == ["name"]
    assert client.form("k", "m", asked.params["requestedSchema"]).params == {
        **asked.params,
        "message": "m",
    }


def test_a_prompt_is_a_message_of_the_user():
    asked = client.sample("k", "a poem", 20, {"systemPrompt": "rhyme"})

    assert asked.params["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "a poem"}}
    ]
    assert (asked.params["maxTokens"], asked.params["systemPrompt"]) == (20, "rhyme")


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (client.form("k", "m", {}), {"action": "decline"}, {"action": "perhaps"}),
        (client.form("k", "m", {}), {"action": "accept", "content": {}}, 12345),
        (
            client.sample("k", "p", 1, {}),
            {"content": {"type": "text", "text": "x"}},
            {"content": 1},
        ),
        (client.roots("k"), {"roots": []}, {"roots": {}}),
    ],
)
def test_an_answer_has_the_shape_that_was_asked_for(question, right, wrong):
    assert is_answer(question, right)
    assert not is_answer(question, wrong)


def test_the_texts_of_a_message_of_many_parts_are_one_text():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]

    assert client.sampled({"content": parts}).text == "a\nb"


def test_who_lacks_something_is_told_what():
    error = ClientLacksError("t", "roots")

    assert error.code == "unsupported"
    assert error.details == {"required_capabilities": {"roots": {}}}
    assert CLIENT.get() is None
