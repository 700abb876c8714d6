"""Ways to sessions beside their requests, and the memory of sessions that ended: both bounded."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client, messages
from faces.mcp.serving import served

from toolrt import Caller
from toolrt.faces.mcp import changes, sessions, streams
from toolrt.faces.mcp.peers import Session

pytestmark = pytest.mark.anyio
LISTEN = {"notifications": {"toolsListChanged": True}}


async def test_with_one_stream_too_many_the_oldest_of_its_session_ends(folder):
    async with (
        served(project(folder)) as site,
        client(site.url, "handshake") as raw,
        AsyncExitStack() as open_,
    ):
        headers = {"accept": "text/event-stream", **raw.session}
        ways = [raw.http.stream("GET", site.url, headers=headers) for _ in range(5)]
        replies = [await open_.enter_async_context(each) for each in ways]
        heads = [each.headers["connection"] for each in replies]
        told = [messages(each) for each in replies]
        left = await asyncio.wait_for(anext(told[0], None), 5)
        site.endpoint.protocol.changes.tell("toolsListChanged")
        heard = await asyncio.wait_for(anext(told[4]), 5)
        count = len(list(site.endpoint._streams))

    assert left is None
    assert heads == ["close"] * 5
    assert heard["method"] == "notifications/tools/list_changed"
    assert count == streams.MOST_OF_ONE


async def test_streams_leave_room_for_requests(folder, monkeypatch):
    monkeypatch.setattr(streams, "MOST", 2)
    async with (
        served(project(folder)) as site,
        client(site.url, "handshake") as one,
        client(site.url, "handshake") as other,
    ):
        async with one.beside(), one.beside():
            headers = {"accept": "text/event-stream", **other.session}
            refused = await other.http.get(site.url, headers=headers)
            called = await other.call("add", {"a": 1})
        while list(site.endpoint._streams):  # noqa: ASYNC110 - until both are seen to have gone
            await asyncio.sleep(0)
        async with other.beside():
            count = len(list(site.endpoint._streams))

    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "10"
    assert called.result["isError"] is False
    assert count <= 2


async def test_modern_clients_that_listen_leave_room_too(folder, monkeypatch):
    monkeypatch.setattr(changes, "MOST_LISTENERS", 1)
    async with (
        served(project(folder)) as site,
        client(site.url) as raw,
        raw.stream("subscriptions/listen", LISTEN) as told,
    ):
        await anext(told)
        refused = await raw.ask("subscriptions/listen", LISTEN)

    assert "too many" in refused.error["message"]


async def test_ends_are_remembered_within_bounds_and_no_session_comes_back(folder, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_ENDED", 8)
    monkeypatch.setattr(sessions, "MOST", 4)
    async with served(project(folder)) as site:
        known = site.endpoint.sessions
        opened = [Session(None, Caller("ann")) for _ in range(50)]
        for each in opened:
            known.open(each)
            known.end(each)
        found = [known.find((each.id or "").encode(), Caller("ann"), None) for each in opened]
        kept = len(known._ended)
        fresh = Session(None, Caller("ann"))
        known.open(fresh)
        again = known.find((fresh.id or "").encode(), Caller("ann"), None)

    assert found == [None] * 50
    assert kept <= 8
    assert again is fresh
