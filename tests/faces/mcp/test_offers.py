"""Prompts and resources as clients read them."""

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import client
from faces.mcp.serving import served

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
OFFERS = """
namespace: m
tools:
  add: {description: Adds., python: "works:add", effect: read}
  list: {description: Lists., command: [echo, "{{ many }}"], parameters: {many: boolean}, effect: read}
prompts:
  sum: {tool: m.add, arguments: {a: A number, b: {required: false}}}
resources:
  next: {uri: "next://{a}", tool: m.add}
  many: {uri: "many://{many}", tool: m.list}
"""


@ERAS
async def test_texts_become_what_the_tool_behind_them_takes(folder, era):
    async with served(project(folder, OFFERS)) as site, client(site.url, era) as raw:
        read = [
            (await raw.ask("resources/read", {"uri": uri})).result["contents"][0]["text"]
            for uri in ("next://5", "many://true")
        ]
        prompt = (await raw.ask("prompts/get", {"name": "m_sum", "arguments": {"a": "4"}})).result
        wrong = await raw.ask("resources/read", {"uri": "next://five"})

    assert [each.strip() for each in read] == ["6", "true"]
    assert prompt["messages"][0]["content"]["text"] == "5"
    assert "integer" in wrong.error["message"]


@ERAS
async def test_a_prompt_that_is_none_has_the_nearest_one(folder, era):
    async with served(project(folder, OFFERS)) as site, client(site.url, era) as raw:
        replies = [
            (await raw.ask("prompts/get", {"name": name, "arguments": {}})).error["message"]
            for name in ("sum", "m_sun", "x")
        ]

    assert replies == [
        "there is no prompt `sum`; did you mean `m_sum`?",
        "there is no prompt `m_sun`; did you mean `m_sum`?",
        "there is no prompt `x`; list the prompts to see what there is",
    ]


async def test_a_version_that_nobody_speaks_is_told_also_where_only_a_header_has_it(folder):
    async with served(project(folder, OFFERS)) as site, client(site.url, "handshake") as raw:
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        odd = await raw.post(body, mcp_protocol_version="2031-01-01")
        bare = await raw.post(body, mcp_protocol_version="2026-07-28")

    assert odd.json()["error"]["code"] == -32022
    assert odd.json()["error"]["data"]["requested"] == "2031-01-01"
    assert "`params._meta`" in bare.json()["error"]["message"]


async def test_a_get_without_a_session_is_told_what_to_send(folder):
    async with served(project(folder, OFFERS)) as site, client(site.url) as raw:
        reply = await raw.http.get(site.url)

    assert reply.status_code == 405
    assert reply.headers["allow"] == "POST, DELETE"
    assert "Mcp-Session-Id" in reply.json()["error"]["message"]
