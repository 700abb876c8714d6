"""Workers of one port: whatever belongs to one of them is answered, whichever is asked."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp
import pytest
from faces.http.test_pages import field
from faces.http.test_serve import serving
from faces.mcp.projects import project as mcp_project
from faces.mcp.raw import Raw, client
from faces.mcp.test_tasks import TASKS, named
from served import START_KEY

import toolrt
from toolrt.core.calls import Caller
from toolrt.faces.http.access import Access, Starting
from toolrt.faces.http.mates import Mates, besides
from toolrt.faces.http.serving import bound, serve
from toolrt.faces.http.site import Site

pytestmark = pytest.mark.anyio
OPERATOR = Caller("operator", may=frozenset({"call", "approve", "admin"}))
WRITE = """
tools:
  sign: {python: "works:hello", effect: write}
"""


@asynccontextmanager
async def workers(project: Path, count: int = 2) -> AsyncIterator[list[str]]:
    """So many workers in this process, each at a port of its own besides; their URLs."""
    async with AsyncExitStack() as open_:
        sockets = open_.enter_context(besides(count))
        paths = tuple(each.getsockname() for each in sockets)
        urls = []
        for number, own in enumerate(sockets):
            runtime = await open_.enter_async_context(toolrt.open(project))
            listening, started = bound("127.0.0.1", 0), asyncio.Event()
            urls.append(f"http://127.0.0.1:{listening.getsockname()[1]}")
            starting = Starting(True, START_KEY, lambda _known: OPERATOR, "127.0.0.1", urls[-1])
            site = Site(runtime, Access(runtime, starting), b"s" * 32, mates=Mates(number, paths))
            running = asyncio.create_task(serve(site, listening, 1.0, started.set, own))
            await started.wait()
            open_.push_async_callback(_ended, site, running)
        yield urls


async def _ended(site: Site, running: asyncio.Task[None]) -> None:
    site.draining.set()
    await running


def elsewhere(raw: Raw, url: str) -> Raw:
    """The same client at another worker."""
    other = Raw(f"{url}/mcp", raw.era, raw.capabilities)
    other.session, other.number, other.http = raw.session, 1000, raw.http
    return other


async def test_a_session_lives_in_one_worker_and_is_known_to_all(folder):
    async with workers(mcp_project(folder)) as (one, two), client(f"{one}/mcp", "handshake") as raw:
        there = elsewhere(raw, two)
        called = await there.call("add", {"a": 2, "b": 3})
        level = await there.ask("logging/setLevel", {"level": "error"})
        await there.http.delete(there.url, headers=there.session)
        after = [(await each.ask("ping")).status for each in (raw, there)]

    assert called.result["content"][0]["text"] == "5"
    assert level.result == {}
    assert after == [404, 404]


async def test_a_call_is_called_off_and_a_question_answered_by_way_of_any_worker(folder):
    async with (
        workers(mcp_project(folder)) as (one, two),
        client(f"{one}/mcp", "handshake", elicitation={}) as raw,
    ):
        there = elsewhere(raw, two)
        async with there.stream("tools/call", {"name": "hello", "arguments": {}}) as messages:
            question = await anext(messages)
            said = {"action": "accept", "content": {"name": "Ann"}}
            await raw.respond(question["id"], said)
            hello = await anext(messages)
        meta = {"progressToken": 1}
        slow = {"name": "slow", "arguments": {"seconds": 60}, "_meta": meta}
        async with raw.stream("tools/call", slow) as messages:
            await anext(messages)
            await there.tell("notifications/cancelled", {"requestId": raw.number})
            off = [each async for each in messages][-1]

    assert hello["result"]["content"][0]["text"] == "hello Ann"
    assert off["error"]["code"] == -32800


async def test_what_a_session_is_told_beside_its_requests_comes_by_way_of_any_worker(folder):
    project = mcp_project(folder)
    more = "tools: {more: {description: More., command: [/bin/true], effect: read}}"
    async with workers(project) as (one, two), client(f"{one}/mcp", "handshake") as raw:
        there = elsewhere(raw, two)
        async with there.beside() as told:
            (folder / "tools.d" / "more.yaml").write_text(more)
            headers = {"authorization": f"Bearer {START_KEY}"}
            await raw.http.post(f"{one}/v1/reload", json={}, headers=headers)
            heard = await asyncio.wait_for(anext(told), 5)

    assert heard["method"] == "notifications/tools/list_changed"


async def test_a_call_that_waits_for_its_client_goes_on_where_it_began(folder):
    async with (
        workers(mcp_project(folder, WRITE)) as (one, two),
        client(f"{one}/mcp", elicitation={}) as raw,
    ):
        there = elsewhere(raw, two)
        asked = (await raw.call("sign")).result
        said = {"who": {"action": "accept", "content": {"name": "Ann"}}}
        done = await there.call("sign", requestState=asked["requestState"], inputResponses=said)

    assert done.result["content"][0]["text"] == "hello Ann"


async def test_a_task_is_asked_about_and_called_off_by_way_of_any_worker(folder):
    async with workers(mcp_project(folder)) as (one, two), client(f"{one}/mcp", **TASKS) as raw:
        there = elsewhere(raw, two)
        id_ = (await raw.call("slow", {"seconds": 60})).result["taskId"]
        asked = [await each.ask("tasks/get", {"taskId": id_}, headers=named(id_))
                 for each in (raw, there)]  # fmt: skip
        await there.ask("tasks/cancel", {"taskId": id_}, headers=named(id_))
        after = await raw.ask("tasks/get", {"taskId": id_}, headers=named(id_))

    assert [each.result["status"] for each in asked] == ["working", "working"]
    assert after.result["status"] == "cancelled"


async def test_a_state_without_an_answer_is_asked_again_and_a_forged_one_is_refused(folder):
    async with (
        workers(mcp_project(folder)) as (one, two),
        client(f"{one}/mcp", elicitation={}) as raw,
    ):
        there = elsewhere(raw, two)
        state = (await raw.call("hello")).result["requestState"]
        again = (await there.call("hello", requestState=state)).result
        forged = await there.call("hello", requestState="AAAA", inputResponses={})

    assert again["resultType"] == "input_required"
    assert forged.error["code"] == -32602


@pytest.mark.parametrize("number", ["9" * 5000, "7", "-1", "1_0", "0" * 4000 + "1", ""])
async def test_a_task_of_a_worker_that_is_not_there_is_not_known(folder, number):
    async with workers(mcp_project(folder)) as (one, _), client(f"{one}/mcp", **TASKS) as raw:
        id_ = f"{number}.x"
        asked = await raw.ask("tasks/get", {"taskId": id_}, headers=named(id_))

    assert asked.error["code"] == -32602


@pytest.mark.parametrize("written", [rb"tasks\/get", rb"t\u0061sks/get"])
async def test_a_task_is_found_however_its_method_is_written(folder, written):
    async with workers(mcp_project(folder)) as (one, two), client(f"{one}/mcp", **TASKS) as raw:
        there = elsewhere(raw, two)
        id_ = (await raw.call("slow", {"seconds": 60})).result["taskId"]
        headers, said = there.request("tasks/get", {"taskId": id_}, headers=named(id_))
        body = json.dumps(said).encode().replace(b"tasks/get", written)
        asked = await there.http.post(there.url, headers=headers, content=body)

    assert asked.json()["result"]["status"] == "working"


async def test_a_client_that_goes_is_gone_for_the_worker_behind(folder):
    def streams() -> list[Any]:
        return [each for each in asyncio.all_tasks() if "Exchange._gone" in repr(each)]

    async with workers(mcp_project(folder)) as (one, two), client(f"{one}/mcp", "handshake") as raw:
        there = elsewhere(raw, two)
        async with there.beside():
            open_ = len(streams())
        async with asyncio.timeout(5):
            while streams():  # noqa: ASYNC110 - nobody says so
                await asyncio.sleep(0)

    assert open_ == 1


async def test_what_belongs_to_a_worker_that_is_gone_is_refused_for_a_moment():
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    scope = {"method": "POST", "raw_path": b"/mcp", "query_string": b"", "headers": []}
    with besides(1) as (own,):
        path = own.getsockname()
    await Mates(0, (path,)).hand_on(0, scope, b"{}", receive, send)

    assert sent[0]["status"] == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]
    assert b'"jsonrpc"' in sent[1]["body"]


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\ncontent-"])
async def test_who_asked_a_worker_that_ends_hears_that_it_may_have_done_it(begun):
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(begun)
        writer.close()

    scope = {"method": "POST", "raw_path": b"/mcp", "query_string": b"", "headers": []}
    with besides(1) as (own,):
        async with await asyncio.start_unix_server(ends, sock=own):
            mates = Mates(0, (own.getsockname(),))
            await mates.hand_on(0, scope, b"{}", asyncio.Event().wait, send)

    assert sent[0]["status"] == 503
    assert b"retry-after" not in dict(sent[0]["headers"])
    assert b"may have taken effect" in sent[1]["body"]


async def test_what_one_worker_reloads_is_in_force_in_all_once_it_is_answered(folder):
    project, who = mcp_project(folder), {"authorization": f"Bearer {START_KEY}"}
    more = "tools: {more: {description: More., command: [/bin/true], effect: read}}"
    async with workers(project, 3) as urls, httpx.AsyncClient(headers=who) as admin:
        (folder / "tools.d" / "more.yaml").write_text(more)
        answer = await admin.post(f"{urls[1]}/v1/reload", json={})
        seen = [(await admin.get(f"{url}/v1/tools/more")).status_code for url in urls]

    assert answer.status_code == 200
    assert seen == [200, 200, 200]


async def test_who_logs_out_at_one_worker_is_outside_at_all(folder):
    async with workers(mcp_project(folder)) as (one, two), httpx.AsyncClient() as browser:
        page = (await browser.get(f"{one}/login")).text
        form = {"csrf": field(page, "csrf"), "next": "/approvals", "key": START_KEY}
        await browser.post(f"{one}/login", data=form)
        kept = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        inside = await browser.get(f"{two}/approvals")
        await browser.post(f"{one}/logout", data={"csrf": field(inside.text, "csrf")})
        browser.cookies.clear()
        after = [await browser.get(f"{url}/approvals", headers={"cookie": kept})
                 for url in (one, two)]  # fmt: skip

    assert inside.status_code == 200
    assert [each.status_code for each in after] == [401, 401]


@pytest.mark.realtime
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_meets_one_server_where_two_workers_are(folder, mode):
    told = []

    async def elicit(_context: Any, _params: Any) -> Any:
        return mcp.types.ElicitResult(action="accept", content={"name": "Ann"})

    async def progress(done: float, _total: float | None, _message: str | None) -> None:
        told.append(done)

    with serving(mcp_project(folder), "--workers", "2") as (start, _):
        for _ in range(4):
            url = f"{start['url']}/mcp"
            async with mcp.Client(url, mode=mode, elicitation_callback=elicit) as one:
                hello = [await one.call_tool("hello", {}) for _ in range(5)]
                sums = [await one.call_tool("add", {"a": each}) for each in range(10)]
                await one.call_tool("slow", {"seconds": 0.01}, progress_callback=progress)

            assert {each.content[0].text for each in hello} == {"hello Ann"}
            assert [each.content[0].text for each in sums] == [str(n + 1) for n in range(10)]
    assert told == [0, 1, 2] * 4
