"""What mapped tools send, byte for byte, by place and style of their parameters."""

import json

import pytest

from tests.loopback import json_reply, loopback
from tests.openapi_documents import document, opened, operation, parameter, with_body

TEXTS = {"type": "array", "items": {"type": "string"}}
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}


async def heard(data, arguments, tool="api.op", **files):
    async with loopback(json_reply("{}")) as server, opened(data, server.url, **files) as rt:
        result = await rt.call(tool, arguments)
        assert result.status == "success", result
        return server.heard[0]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("written", "value", "query"),
    [
        (parameter("q"), "a b&c=d", "q=a%20b%26c%3Dd"),
        (parameter("q", schema={"type": "boolean"}), True, "q=true"),
        (parameter("q", schema=TEXTS), ["a", "b"], "q=a&q=b"),
        (parameter("q", schema=TEXTS, explode=False), ["a", "b"], "q=a%2Cb"),
        (parameter("q", schema=TEXTS, explode=False, required=True), ["a", "b"], "q=a%2Cb"),
        (parameter("q", schema=TEXTS, style="spaceDelimited", explode=False), ["a", "b"], "q=a%20b"),
        (parameter("q", schema=TEXTS, style="pipeDelimited", explode=False), ["a", "b"], "q=a%7Cb"),
        (parameter("q", schema=TEXTS, style="pipeDelimited", explode=True), ["a", "b"], "q=a&q=b"),
        (parameter("q", schema=OBJECT, style="deepObject"), {"a": "x", "b": 1}, "q%5Ba%5D=x&q%5Bb%5D=1"),
        (parameter("q", schema=TEXTS, style="deepObject"), ["a", "b"], "q%5B%5D=a&q%5B%5D=b"),
        (
            {"name": "q", "in": "query", "content": {"application/json": {"schema": OBJECT}}},
            {"a": "x"},
            "q=%7B%22a%22%3A%22x%22%7D",
        ),
    ],
)  # fmt: skip
async def test_a_query_parameter_is_written_in_its_style(written, value, query):
    seen = await heard(operation(written), {"q": value})

    assert seen.target == f"/x?{query}"


@pytest.mark.anyio
@pytest.mark.parametrize("style", [{}, {"style": "pipeDelimited", "explode": False}])
async def test_a_parameter_that_is_not_given_is_not_sent(style):
    seen = await heard(operation(parameter("q", schema=TEXTS, **style)), {})

    assert seen.target == "/x"


@pytest.mark.anyio
async def test_an_object_spread_over_the_query_has_an_argument_for_each_property():
    seen = await heard(operation(parameter("q", schema=OBJECT)), {"a": "x", "b": 2})

    assert seen.target == "/x?a=x&b=2"


@pytest.mark.anyio
async def test_a_value_of_the_path_is_one_segment():
    data = operation(parameter("id", "path"), path="/pets/{id}/photos")
    seen = await heard(data, {"id": "a/../b c"})

    assert seen.target == "/pets/a%2F..%2Fb%20c/photos"


@pytest.mark.anyio
async def test_a_list_in_the_path_is_joined_by_commas():
    data = operation(parameter("ids", "path", TEXTS), path="/pets/{ids}")

    assert (await heard(data, {"ids": ["1", "2"]})).target == "/pets/1%2C2"


@pytest.mark.anyio
async def test_a_path_of_many_segments_keeps_its_slashes():
    data = operation(parameter("p", "path", **{"x-multi-segment": True}), path="/files/{p}")

    assert (await heard(data, {"p": "a b/c"})).target == "/files/a%20b/c"


@pytest.mark.anyio
async def test_headers_are_sent_as_they_are_named():
    data = operation(parameter("X-Trace-Id", "header"), parameter("X-Tags", "header", TEXTS))
    seen = await heard(data, {"X_Trace_Id": "t1", "X_Tags": ["a", "b"]})

    assert (seen.headers["x-trace-id"], seen.headers["x-tags"]) == ("t1", "a,b")


@pytest.mark.anyio
async def test_names_that_meet_in_several_places_each_go_to_their_own():
    data = operation(
        parameter("id", "path"),
        parameter("id"),
        parameter("id", "header"),
        method="post",
        path="/x/{id}",
        requestBody={
            "required": True,
            "content": {
                "application/json": {"schema": {"type": "object", "properties": {"id": {}}}}
            },
        },
    )
    seen = await heard(data, {"id": "1", "query_id": "2", "header_id": "3", "body_id": "4"})

    assert (seen.target, seen.headers["id"], json.loads(seen.body)) == (
        "/x/1?id=2",
        "3",
        {"id": "4"},
    )


@pytest.mark.anyio
async def test_properties_of_a_json_body_are_arguments_with_their_types():
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "n": {"type": "integer"},
            "tags": TEXTS,
            "owner": {"type": "object", "properties": {"x-y": {"type": "boolean"}}},
            "foo-bar": {"type": "string", "nullable": True},
        },
    }
    given = {"name": "x", "n": 1, "tags": ["a"], "owner": {"x-y": True}, "foo_bar": None}
    seen = await heard(with_body(schema), given)

    assert json.loads(seen.body) == {
        "name": "x", "n": 1, "tags": ["a"], "owner": {"x-y": True}, "foo-bar": None,
    }  # fmt: skip
    assert seen.headers["content-type"] == "application/json"


@pytest.mark.anyio
async def test_what_is_not_given_is_not_in_the_body_and_no_default_is_sent():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "private": {"default": False}},
    }
    seen = await heard(with_body(schema, method="patch"), {"a": "x"})

    assert (seen.method, json.loads(seen.body)) == ("PATCH", {"a": "x"})


@pytest.mark.anyio
@pytest.mark.parametrize("schema", [TEXTS, {"type": "object", "additionalProperties": True}])
async def test_any_other_json_body_is_one_argument(schema):
    body = ["a"] if schema is TEXTS else {"k": {"l": 1}}

    assert json.loads((await heard(with_body(schema), {"body": body})).body) == body


@pytest.mark.anyio
async def test_a_type_that_ends_in_json_is_sent_by_its_own_name():
    seen = await heard(with_body(OBJECT, "application/vnd.api+json"), {"a": "x"})

    assert seen.headers["content-type"] == "application/vnd.api+json"


@pytest.mark.anyio
async def test_a_form_writes_lists_and_objects_as_its_encoding_says():
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "plain": TEXTS,
            "expand": TEXTS,
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
            "lines": {"type": "array", "items": OBJECT},
        },
    }
    deep = {"style": "deepObject", "explode": True}
    media = {"encoding": {"expand": deep, "metadata": deep, "lines": deep}}
    seen = await heard(
        with_body(schema, "application/x-www-form-urlencoded", media=media),
        {
            "name": "a b",
            "plain": ["1", "2"],
            "expand": ["x"],
            "metadata": {"k": "v"},
            "lines": [{"a": "q"}],
        },
    )

    assert seen.body.decode() == (
        "name=a+b&plain=1&plain=2&expand%5B%5D=x&metadata%5Bk%5D=v&lines%5B0%5D%5Ba%5D=q"
    )


@pytest.mark.anyio
async def test_a_multipart_body_sends_a_file_of_its_folder():
    schema = {
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string", "format": "binary"}, "note": {"type": "string"}},
    }
    seen = await heard(
        with_body(schema, "multipart/form-data"),
        {"file": "a.txt", "note": "hello"},
        **{"uploads/a.txt": "content"},
    )

    assert (
        b'name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\ncontent\r\n' in seen.body
    )
    assert b'name="note"\r\n\r\nhello\r\n' in seen.body


@pytest.mark.anyio
async def test_a_file_outside_of_the_folder_for_uploads_is_not_sent():
    schema = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
    data = with_body(schema, "multipart/form-data")
    async with loopback(json_reply("{}")) as server, opened(data, server.url) as rt:
        result = await rt.call("api.op", {"file": "../api.json"})

    assert (result.error.code, server.heard) == ("invalid-arguments", [])


@pytest.mark.anyio
async def test_a_text_is_sent_as_its_type():
    seen = await heard(
        with_body({"type": "string"}, "text/markdown"), {"body": "# {{ x }} ${env:HOME}"}
    )

    assert (seen.body, seen.headers["content-type"]) == (b"# {{ x }} ${env:HOME}", "text/markdown")


@pytest.mark.anyio
async def test_the_path_of_the_base_url_stays():
    data = document({"/pets": {"get": {"operationId": "op", "responses": {}}}})
    async with loopback(json_reply("{}")) as server, opened(data, f"{server.url}/v2/") as rt:
        await rt.call("api.op", {})

    assert server.lines == ["GET /v2/pets"]
