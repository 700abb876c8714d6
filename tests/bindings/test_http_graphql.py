"""GraphQL: a constant operation, values in its variables, and errors that fail."""

import json

import pytest

from tests.http_tool import HttpTool, optional
from tests.loopback import json_reply, loopback, reply
from toolrt.core.errors import CallError
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

QUERY = "query ($id: ID!, $n: Int) { user(id: $id) { posts(first: $n) { title } } }"
VARIABLES = {"id": "{{ id }}", "n": "{{ n }}"}


async def asked(answer, arguments, options=None, parameters=None):
    async with loopback(answer) as server:
        graphql = {"query": QUERY, "variables": VARIABLES}
        tool = HttpTool(
            {"url": f"{server.url}/graphql", "graphql": graphql, **(options or {})},
            parameters or {"id": "string", "n": optional("integer")},
        )
        return await tool.call(**arguments), server.heard[0]


async def failure(answer, **more):
    with pytest.raises(CallError) as failed:
        await asked(answer, {"id": "a"}, **more)
    return failed.value


async def test_values_go_into_variables_and_data_is_the_result():
    answer, heard = await asked(json_reply('{"data": {"user": 1}}'), {"id": '"}) { x }', "n": 2})
    assert answer.value == {"user": 1}
    assert (heard.method, heard.headers["content-type"]) == ("POST", "application/json")
    assert json.loads(heard.body) == {"query": QUERY, "variables": {"id": '"}) { x }', "n": 2}}


async def test_a_variable_that_is_not_given_vanishes():
    _, heard = await asked(json_reply('{"data": {}}'), {"id": "a"})
    assert json.loads(heard.body)["variables"] == {"id": "a"}


async def test_arguments_are_swept_into_variables_and_written_ones_win():
    options = {
        "graphql": {"query": QUERY, "variables": {"id": "fixed"}},
        "args_in": "variables",
    }
    _, heard = await asked(
        json_reply('{"data": {}}'), {"n": 3, "id": "mine"}, options,
        {"n": "integer", "id": "string"},
    )  # fmt: skip
    assert json.loads(heard.body)["variables"] == {"n": 3, "id": "fixed"}


async def test_errors_fail_with_their_messages_and_keep_what_data_there_is():
    said = {
        "data": {"user": None},
        "errors": [
            {
                "message": "no such\nuser \u202e",
                "path": ["user", 0],
                "extensions": {"code": "NOT_FOUND", "stacktrace": ["at /srv/app.js"]},
            },
            {"message": "second"},
            "third",
            {"text": "fourth"},
        ],
    }
    error = await failure(json_reply(json.dumps(said)))
    assert error.code == "execution-failed"
    assert error.message == "no such user \\u202e; second; third; …"
    assert error.retryable is False
    assert error.details == {
        "errors": [
            {"message": "no such user \\u202e", "path": "user.0", "code": "NOT_FOUND"},
            {"message": "second"},
            {"message": "third"},
            {"message": "an error without a word"},
        ],
        "data": {"user": None},
    }


@pytest.mark.parametrize("errors", ['{"message": "x"}', '"x"', '["x"]'])
async def test_errors_of_any_shape_fail(errors):
    assert (await failure(json_reply(f'{{"data": 1, "errors": {errors}}}'))).message == "x"


@pytest.mark.parametrize("errors", ["null", "[]"])
async def test_no_errors_are_none(errors):
    answer, _ = await asked(json_reply(f'{{"data": 1, "errors": {errors}}}'), {"id": "a"})
    assert answer.value == 1


async def test_a_failing_status_tells_what_the_service_says():
    error = await failure(json_reply('{"errors": [{"message": "bad field"}]}', 400))
    assert (error.message, error.status) == ("bad field", 400)
    assert error.details["errors"] == [{"message": "bad field"}]
    error = await failure(json_reply('{"errors": [{"message": "who?"}]}', 401))
    assert error.code == "access-denied"


@pytest.mark.parametrize(
    "answer",
    [
        reply("<html>", content_type="text/html"),
        json_reply("[]"),
        json_reply('{"user": 1}'),
        json_reply("null"),
        reply(""),
    ],
)
async def test_d82_an_answer_that_is_none_of_graphql_is_a_bad_response(answer):
    assert (await failure(answer)).code == "bad-response"


async def test_an_answer_is_json_whatever_its_type():
    answer, _ = await asked(reply('{"data": 1}', content_type="text/plain"), {"id": "a"})
    assert answer.value == 1


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"graphql": {"query": "{ user(id: {{ id }}) }"}}, ("template-in-query", ("graphql", "query"))),
        ({"graphql": {"query": '{ user(id: "${env:X}") }'}}, ("template-in-query", ("graphql", "query"))),
        ({"graphql": {"query": "{ a }"}, "method": "GET"}, ("invalid-value", ("method",))),
        ({"graphql": {"query": "{ a }"}, "args_in": "json"}, ("one-body", ("args_in",))),
        ({"json": {}, "method": "POST", "args_in": "variables"}, ("one-body", ("args_in",))),
        ({"graphql": {"query": "a", "variables": {"x": "{{ y }}"}}}, ("unknown-name", ("graphql", "variables", "x"))),
    ],
)  # fmt: skip
def test_what_cannot_be_an_operation_is_a_fault(options, fault):
    tool = HttpTool({"url": "https://api.example.com/", **options}, {"id": optional("string")})
    assert fault in tool.faults


async def test_a_preview_shows_the_operation():
    graphql = {"query": QUERY, "variables": {"id": "{{ id }}", "key": "${env:KEY}"}}
    tool = HttpTool(
        {"url": "https://api.example.com/", "graphql": graphql},
        {"id": "string"},
        environ={"KEY": "s3cret-key"},
    )
    shown = tool.preview(id="a")
    assert shown["method"] == "POST"
    assert shown["body"] == {"query": QUERY, "variables": {"id": "a", "key": "${env:KEY}"}}


async def test_a_project_reads_errors_and_its_own_select():
    async with loopback(lambda heard: json_reply(_said(heard))) as server:
        files = {"tools.d/t.yaml": f"""
            tools:
              user:
                description: A user.
                parameters: {{id: string}}
                http: {{url: "{server.url}/graphql", graphql: {{query: "query ($id: ID!) {{ user(id: $id) {{ name }} }}"}}, args_in: variables}}
                effect: read
                result: {{select: user.name, error: "errors[0].extensions.why"}}
            """}  # fmt: skip
        async with open_files(files) as rt:
            assert (await rt.call("user", {"id": "1"})).data == "Ada"
            failed = await rt.call("user", {"id": "2"})
    assert (failed.error.code, failed.error.message) == ("execution-failed", "gone away")


def _said(heard):
    if json.loads(heard.body)["variables"]["id"] == "1":
        return '{"data": {"user": {"name": "Ada"}}}'
    return '{"errors": [{"message": "no", "extensions": {"why": "gone away"}}]}'
