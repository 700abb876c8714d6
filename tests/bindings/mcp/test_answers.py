"""What comes of the results of servers."""

import pytest

from toolrt.bindings.mcp.answers import answer_of, tidied
from toolrt.core.errors import BindingError

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def value(raw, *, has_schema=False):
    return answer_of(tidied(raw), has_schema=has_schema).value


def test_texts_are_one_text():
    assert value({"content": [TEXT, TEXT]}) == "hello\nhello"


def test_u65_images_and_resources_go_on_in_the_form_of_mcp():
    resource = {"type": "resource", "resource": {"uri": "file:///a", "text": "a"}}
    link = {"type": "resource_link", "uri": "file:///b", "name": "b"}

    assert value({"content": [TEXT, IMAGE, resource, link]}) == [TEXT, IMAGE, resource, link]


def test_what_is_about_display_alone_is_left_out():
    assert value({"content": [{**IMAGE, "annotations": {"priority": 1}}]}) == [IMAGE]


def test_structured_content_is_the_value():
    assert value({"content": [TEXT], "structuredContent": {"a": 1}}) == {"a": 1}


def test_structured_content_beside_an_image_loses_neither():
    found = value({"content": [IMAGE], "structuredContent": {"a": 1}})

    assert found == [IMAGE, {"type": "text", "text": '{"a":1}'}]


@pytest.mark.parametrize("block", [{"type": "hologram"}, 7, None, {"type": "image"}, {"type": []}])
def test_content_that_nobody_knows_is_marked(block):
    said = value({"content": [block]})

    assert said.startswith("[")
    assert said.endswith("]")


def test_u65_a_result_that_says_is_error_is_an_error_in_the_servers_words():
    with pytest.raises(BindingError, match="no such book") as caught:
        value({"content": [{"type": "text", "text": "no such book"}], "isError": True})

    assert caught.value.code == "execution-failed"


def test_an_error_without_words_says_so():
    with pytest.raises(BindingError, match="did not say why"):
        value({"content": [IMAGE], "isError": True})


def test_a_server_that_wants_to_be_told_more_is_not_taken_for_an_answer():
    with pytest.raises(BindingError) as caught:
        value({"content": [], "resultType": "input_required"})

    assert caught.value.code == "unsupported"


def test_an_endless_error_is_cut():
    with pytest.raises(BindingError) as caught:
        value({"content": [{"type": "text", "text": "x" * 100_000}], "isError": True})

    assert len(caught.value.message) < 3000
