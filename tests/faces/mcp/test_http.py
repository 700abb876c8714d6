"""MCP over HTTP, both eras: what a client that speaks plainly gets."""

import asyncio
import json

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client
from faces.mcp.serving import running_in, served
from until import is_running, until

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])


@ERAS
async def test_a_tool_is_listed_and_called_in_both_eras(folder, era):
    async with served(project(folder)) as site, client(site.url, era) as raw:
        listed = (await raw.ask("tools/list")).result
        called = await raw.call("add", {"a": 2, "b": 3})

    add = next(each for each in listed["tools"] if each["name"] == "add")
    assert add["description"] == "Add two numbers."
    assert add["inputSchema"]["required"] == ["a"]
    assert add["annotations"]["readOnlyHint"] is True
    assert called.result["content"] == [{"type": "text", "text": "5"}]
    assert called.result["isError"] is False
    assert called.headers["content-type"] == "application/json"


async def test_the_handshake_settles_on_a_version_that_both_speak(folder):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        old = await raw.initialize("2024-11-05")
        unknown = await raw.initialize("1999-01-01")

    assert old["protocolVersion"] == "2024-11-05"
    assert unknown["protocolVersion"] == "2025-11-25"
    assert unknown["serverInfo"]["name"] == "toolrt"
    assert "pay: Ask first." in unknown["instructions"]


async def test_discover_says_what_the_server_speaks(folder):
    async with served(project(folder)) as site, client(site.url) as raw:
        found = (await raw.ask("server/discover")).result

    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["capabilities"]["tools"] == {"listChanged": True}
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "toolrt"
    assert found["resultType"] == "complete"


async def test_structured_content_has_an_object_at_its_root_for_clients_of_old(folder):
    async with served(project(folder)) as site:
        async with client(site.url, "handshake") as old:
            listed = {each["name"]: each for each in (await old.ask("tools/list")).result["tools"]}
            of_old = (await old.call("add", {"a": 1})).result
            point = (await old.call("point", {"x": 1.5})).result
        async with client(site.url) as new:
            fresh = {each["name"]: each for each in (await new.ask("tools/list")).result["tools"]}
            of_new = (await new.call("add", {"a": 1})).result

    assert listed["add"]["outputSchema"]["properties"]["result"]["type"] == "integer"
    assert of_old["structuredContent"] == {"result": 2}
    assert point["structuredContent"] == {"x": 1.5, "y": 3.0}
    assert fresh["add"]["outputSchema"]["anyOf"][0]["type"] == "integer"
    assert of_new["structuredContent"] == 2


@ERAS
async def test_a_failure_is_a_result_that_says_what_to_do(folder, era):
    async with served(project(folder)) as site, client(site.url, era) as raw:
        failed = (await raw.call("fails")).result
        wrong = (await raw.call("add", {"a": "x"})).result

    assert failed["isError"] is True
    assert failed["content"][0]["text"] == "no such luck\ntry another day"
    assert wrong["isError"] is True
    assert "`a`" in wrong["content"][0]["text"]
    assert wrong["_meta"]["toolrt/code"] == "invalid-arguments"


@ERAS
async def test_no_trace_and_no_path_of_an_exception_gets_out(folder, era):
    async with served(project(folder)) as site, client(site.url, era) as raw:
        reply = await raw.call("breaks")

    assert reply.result["isError"] is True
    assert not {"/etc", "Traceback", "works.py"} & set(json.dumps(reply.message).split('"'))
    assert "/etc" not in json.dumps(reply.message)


@ERAS
async def test_a_bug_of_ours_is_one_answer_without_its_text(folder, era, monkeypatch):
    async with served(project(folder)) as site, client(site.url, era) as raw:
        monkeypatch.setattr(site.endpoint.protocol, "lists", None)
        monkeypatch.setattr(site.endpoint.protocol, "_of_now", None)
        reply = await raw.ask("tools/list")

    assert reply.error["code"] == -32603
    assert "NoneType" not in reply.error["message"]


@ERAS
async def test_a_tool_that_is_not_there_is_an_error_with_the_nearest_name(folder, era):
    async with served(project(folder)) as site, client(site.url, era) as raw:
        reply = await raw.call("ad", {"a": 1})

    assert reply.error["code"] == -32602
    assert "`add`" in reply.error["message"]


@ERAS
async def test_progress_and_log_come_before_the_answer(folder, era):
    async with served(project(folder)) as site, client(site.url, era) as raw:
        meta = {"progressToken": "p1", "io.modelcontextprotocol/logLevel": "warning"}
        reply = await raw.call("slow", {"seconds": 0.01}, _meta=meta)
        silent = await raw.call("slow", {"seconds": 0.01})

    told = [each["params"] for each in reply.before if each["method"] == "notifications/progress"]
    assert [(each["progressToken"], each["progress"], each["total"]) for each in told] == [
        ("p1", 0, 3),
        ("p1", 1, 3),
        ("p1", 2, 3),
    ]
    logged = [each["params"] for each in reply.before if each["method"] == "notifications/message"]
    assert [each["data"] for each in logged] == ["at 0", "at 1", "at 2"]
    assert {each["level"] for each in logged} == {"warning"}
    assert reply.result["content"][0]["text"] == "done"
    methods = {each["method"] for each in silent.before}
    assert methods == ({"notifications/message"} if era == "handshake" else set())


async def test_ping_and_the_level_of_the_log_in_the_handshake_era(folder):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        assert (await raw.ask("ping")).result == {}
        assert (await raw.ask("logging/setLevel", {"level": "error"})).result == {}
        assert (await raw.call("slow", {"seconds": 0.01})).before == []
        wrong = await raw.ask("logging/setLevel", {"level": "loud"})

    assert wrong.error["code"] == -32602


async def test_a_request_that_is_called_off_kills_what_it_started(folder):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        asked = asyncio.ensure_future(
            raw.ask("tools/call", {"name": "wait", "arguments": {"seconds": 30.25}}, id_=77)
        )
        await _started("30.25")
        assert await raw.tell("notifications/cancelled", {"requestId": 77}) == 202
        reply = await asyncio.wait_for(asked, 5)

    assert reply.error["code"] == -32800
    assert not _running("30.25")


async def test_a_modern_client_that_goes_ends_its_call(folder):
    async with served(project(folder)) as site, client(site.url) as raw:
        asked = asyncio.ensure_future(raw.call("wait", {"seconds": 30.5}))
        await _started("30.5")
        asked.cancel()
        await until(lambda: not _running("30.5"))


async def test_an_id_that_is_running_already_is_refused(folder):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        params = {"name": "slow", "arguments": {"seconds": 0.2}}
        first = asyncio.ensure_future(raw.ask("tools/call", params, id_="same"))
        await until(lambda: running_in(site))
        second = await raw.ask("tools/call", params, id_="same")

        assert second.error["code"] == -32600
        assert (await first).result["isError"] is False


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000, -32700),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
            + b"[" * 70
            + b"]" * 70
            + b"}}",
            -32600,
        ),
        (b"\xff\xfe", -32700),
    ],
)
async def test_what_is_no_message_is_an_error_and_nothing_else(folder, body, code):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        reply = await raw.post(body)

        assert reply.status_code == 400
        assert reply.json()["error"]["code"] == code
        assert (await raw.ask("ping")).result == {}


async def test_a_key_that_stands_twice_in_arguments_is_refused_with_its_id(folder):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        twice = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"\\u0061" :2}}}'
        reply = (await raw.post(twice)).json()

    assert reply["id"] == 9
    assert "twice" in reply["error"]["message"]


async def test_a_session_is_its_callers_alone(folder):
    from toolrt import Caller

    async with (
        served(project(folder), caller=Caller("ann")) as site,
        client(site.url, "handshake") as raw,
    ):
        site.app.caller = Caller("bob")
        stolen = await raw.ask("tools/list")
        site.app.caller = Caller("ann")
        own = await raw.ask("tools/list")
        ended = await raw.http.delete(site.url, headers=raw.session)
        over = await raw.ask("tools/list")

    assert stolen.status == 404
    assert own.status == 200
    assert ended.status_code == 200
    assert over.status == 404


async def test_another_process_with_the_same_key_knows_a_session(folder):
    key = lambda: b"k" * 32  # noqa: E731
    async with served(project(folder), key=key) as one, client(one.url, "handshake") as raw:
        async with served(folder, key=key) as other:
            raw.url = other.url
            assert (await raw.ask("tools/list")).status == 200
        async with served(folder) as stranger:
            raw.url = stranger.url
            assert (await raw.ask("tools/list")).status == 404


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"mcp-method": "tools/list"}, -32020),
        ({"mcp-name": "other"}, -32020),
        ({"mcp-protocol-version": "2025-11-25"}, -32020),
        ({"mcp-name": "=?base64?YWRk?="}, None),
    ],
)
async def test_headers_say_the_same_as_the_body(folder, headers, code):
    async with served(project(folder)) as site, client(site.url) as raw:
        params = {"name": "add", "arguments": {"a": 1}}
        reply = await raw.ask("tools/call", params, headers=headers)

    if code is None:
        assert reply.status == 200
    else:
        assert (reply.status, reply.error["code"]) == (400, code)


async def test_pages_of_a_list_end_when_the_list_changes(folder):
    async with served(project(folder), page=4) as site, client(site.url) as raw:
        first = (await raw.ask("tools/list")).result
        cursor, names = first["nextCursor"], [each["name"] for each in first["tools"]]
        while cursor:
            page = (await raw.ask("tools/list", {"cursor": cursor})).result
            names += [each["name"] for each in page["tools"]]
            cursor = page.get("nextCursor")
        assert names == sorted(site.runtime.snapshot.tools)
        (folder / "tools.d" / "more.yaml").write_text("tools: {x: {command: [true]}}")
        (folder / "tools.d" / "more.yaml").write_text(
            "tools: {x: {description: X., command: [/bin/true]}}"
        )
        await site.runtime.reload()
        stale = await raw.ask("tools/list", {"cursor": first["nextCursor"]})
        nonsense = await raw.ask("tools/list", {"cursor": "x"})

    assert stale.error["code"] == -32602
    assert nonsense.error["code"] == -32602


async def _started(word: str) -> None:
    await until(lambda: _running(word))


def _running(word: str) -> bool:
    return is_running("sleep", word)


async def test_a_read_that_asked_is_made_anew_where_it_does_not_wait(folder):
    key = lambda: b"k" * 32  # noqa: E731
    said = {"who": {"action": "accept", "content": {"name": "Ann"}}}
    async with served(project(folder), key=key) as one, client(one.url, elicitation={}) as raw:
        state = (await raw.call("hello")).result["requestState"]
    async with served(folder, key=key) as other, client(other.url, elicitation={}) as raw:
        done = await raw.call("hello", requestState=state, inputResponses=said)

    assert done.result["content"][0]["text"] == "hello Ann"


@pytest.mark.parametrize("responses", [None, 3, []])
async def test_responses_that_are_none_are_refused(folder, responses):
    async with served(project(folder)) as site, client(site.url, elicitation={}) as raw:
        reply = await raw.call("hello", inputResponses=responses)

    assert reply.error["code"] == -32602


async def test_a_client_that_cannot_be_asked_is_told_so(folder):
    async with served(project(folder)) as site:
        async with client(site.url) as raw:
            new = await raw.call("poem")
        async with client(site.url, "handshake") as raw:
            old = await raw.call("poem")

    assert (new.status, new.error["code"]) == (400, -32021)
    assert new.error["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert old.result["isError"] is True
    assert old.result["_meta"]["toolrt/code"] == "unsupported"


@ERAS
async def test_streams_of_clients_that_went_leave_nothing_behind(folder, era):
    async with served(project(folder)) as site:
        async with client(site.url, era) as raw:
            meta = {"progressToken": 1}
            params = {"name": "slow", "arguments": {"seconds": 0.3}, "_meta": meta}
            async with raw.stream("tools/call", params) as messages:
                await anext(messages)
        await until(lambda: not [t for t in asyncio.all_tasks() if "Exchange" in repr(t)])
