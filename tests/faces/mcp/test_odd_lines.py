"""Odd messages, over stdio and HTTP: each is answered or ignored, and the next one is heard."""

import asyncio
import json
import os
import signal

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client
from faces.mcp.serving import running_in, served
from faces.mcp.test_early import kept, started
from faces.mcp.test_stdio import _running
from until import until

from toolrt.faces.mcp import early
from toolrt.faces.mcp.early import Told
from toolrt.faces.mcp.messages import Wrong, read

pytestmark = pytest.mark.anyio
NO_IDS = pytest.mark.parametrize("id_", [[], {}, None, True, 1.5, ["x"]])
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}}
GOOD = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
ODD_FIRST = {
    "deep": "[" * 100_000,
    "deep objects": '{"a":' * 100_000,
    "deep params": GOOD.replace('"capabilities": {', '"capabilities": {"a":' + "[" * 80 + "]" * 80),
    "twice": GOOD.replace('"id": 1', '"id": 1, "id": 2'),
    "twice inside": GOOD.replace('"capabilities": {', '"capabilities": {"a": 1, "a": 2'),
    "nan": GOOD.replace('"capabilities": {', '"capabilities": {"x": NaN'),
    "infinite": GOOD.replace('"capabilities": {', '"capabilities": {"x": 1e999'),
    "half id": GOOD.replace('"id": 1', '"id": "\\ud800"'),
    "half key": GOOD.replace('"capabilities": {', '"capabilities": {"\\ud800": 1'),
    "long id": GOOD.replace('"id": 1', f'"id": "{"a" * 1000}"'),
    "long number": GOOD.replace('"id": 1', '"id": ' + "9" * 5000),
    "long line": GOOD.replace('"capabilities": {', f'"capabilities": {{"x": "{"y" * (5 << 20)}"'),
}


@pytest.mark.parametrize("line", ODD_FIRST.values(), ids=ODD_FIRST)
def test_an_odd_first_line_is_left_to_the_server(line):
    told = Told()

    assert early._answer(line.encode(), {"initialize": {}, "tools": {}}, told) is None
    assert told.params is None
    with pytest.raises(Wrong):
        read(line.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_first_line_in_another_encoding_is_left_to_the_server(encoding):
    assert early._answer(GOOD.encode(encoding), {"initialize": {}, "tools": {}}, Told()) is None


def test_a_first_line_that_is_right_is_answered_at_once():
    assert early._answer(GOOD.encode(), {"initialize": {}, "tools": {}}, Told()) is not None


async def test_a_deep_first_line_leaves_the_server_up(folder):
    await kept(folder)
    async with started(folder) as server:
        server.write(b"[" * 100_000)
        answer = await server.ask("ping", id_=9)
        status, _ = await server.ended()

    assert answer["result"] == {}
    assert status == 0


async def test_calling_off_what_is_no_id_calls_off_nothing_over_stdio(folder):
    async with started(project(folder)) as server:
        await server.greet()
        server.send("tools/call", {"name": "slow", "arguments": {"seconds": 0.3}}, 2)
        for id_ in ([], {}, None, True, 1.5, ["x"]):
            server.send("notifications/cancelled", {"requestId": id_})
        odd = json.dumps(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}}
        )
        ping = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping"})
        server.write(f"{odd}\n{ping}".encode())
        answer = await server.answer(7)
        server.process.stdin.write(odd.encode())  # no end of line
        status, rest = await server.ended()

    assert answer["result"] == {}
    assert (status, [each["id"] for each in rest if "id" in each]) == (0, [2])


@NO_IDS
async def test_calling_off_what_is_no_id_calls_off_nothing_over_http(folder, id_):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        running = asyncio.ensure_future(raw.call("slow", {"seconds": 0.1}))
        await until(lambda: running_in(site))
        status = await raw.tell("notifications/cancelled", {"requestId": id_})
        result = (await running).result

    assert status == 202
    assert result["content"][0]["text"] == "done"


@pytest.mark.parametrize("id_", ["1e999", "-1e999", "1E400"])
def test_an_id_without_end_is_refused(id_):
    with pytest.raises(Wrong) as refused:
        read(f'{{"jsonrpc":"2.0","id":{id_},"method":"ping"}}'.encode())

    assert json.loads(refused.value.written(getattr(refused.value, "id", None)), parse_constant=_no)


@pytest.mark.parametrize("value", ["1e999", "[1e999]", '{"a":-1e999}'])
def test_a_number_without_end_is_refused_wherever_it_stands(value):
    with pytest.raises(Wrong):
        read(f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{value}}}}}'.encode())


def test_a_text_that_names_such_a_number_is_none():
    body = b'{"jsonrpc":"2.0","id":"Infinity","method":"ping","params":{"x":"-Infinity NaN"}}'

    assert read(body).id == "Infinity"


def _no(constant):
    raise AssertionError(constant)


async def test_a_session_watches_so_many_resources_and_no_more(folder):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        long = await raw.ask("resources/subscribe", {"uri": "x" * 100_000})
        session = next(iter(site.endpoint.sessions._known.values()))
        session.watched.update(map(str, range(999)))
        last = await raw.ask("resources/subscribe", {"uri": "one"})
        again = await raw.ask("resources/subscribe", {"uri": "one"})
        more = await raw.ask("resources/subscribe", {"uri": "two"})
        count = len(session.watched)

    assert long.error["code"] == more.error["code"] == -32602
    assert last.result == again.result == {}
    assert count == 1000


@pytest.mark.parametrize("uris", [[1], [None], ["x" * 100_000], [["a"]], "abc", ["a"] * 1001])
async def test_what_a_client_listens_for_are_uris(folder, uris):
    async with served(project(folder)) as site, client(site.url) as raw:
        wanted = {"notifications": {"resourceSubscriptions": uris}}
        reply = await raw.ask("subscriptions/listen", wanted)

    assert reply.error["code"] == -32602


async def test_a_second_signal_leaves_no_child_behind(folder):
    seconds = f"42.{os.getpid()}"
    tools = f"""
    tools:
      stub:
        description: Heeds no signal.
        shell: {{script: "trap '' TERM; sleep {seconds} & wait; sleep {seconds}"}}
        effect: read
        timeout: 5m
    """
    async with started(project(folder, tools)) as server:
        await server.greet()
        server.send("tools/call", {"name": "stub"}, 2)
        await until(lambda: _running(seconds))
        for _ in range(3):
            server.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(server.process.wait(), 20)
        is_left = _running(seconds)

    assert not is_left


@pytest.mark.parametrize(
    "kind",
    [
        "application/jsonp",
        "application/json-seq",
        "application/json; charset=utf-16",
        "text/plain",
        "",
    ],
)
async def test_only_json_is_taken(folder, kind):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        reply = await raw.post(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', content_type=kind)

    assert reply.status_code == 415


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
    ],
)
async def test_json_is_taken_however_it_is_spelled(folder, kind):
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        reply = await raw.post(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', content_type=kind)

    assert reply.status_code == 200


async def test_a_session_that_has_ended_has_no_other_spelling(folder):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    async with served(project(folder)) as site, client(site.url, "handshake") as raw:
        id_ = raw.session["mcp-session-id"]
        await raw.http.delete(site.url, headers=raw.session)
        spellings = [id_, id_ + "=", id_ + "==", *(id_[:-1] + letter for letter in letters)]
        found = set()
        for each in spellings:
            raw.session["mcp-session-id"] = each
            found.add((await raw.ask("ping")).status)

    assert found == {404}
