"""What changes while clients are there, and what is offered beside tools."""

import asyncio
import json

import pytest
from faces.mcp.projects import project
from faces.mcp.raw import ACCEPT, client
from faces.mcp.serving import served

from toolrt import Caller

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
MORE = "tools: {more: {description: More., command: [/bin/true], effect: read}}"
OFFERS = """
tools:
  add: {python: "works:add", effect: read}
  long: {description: Long., command: [seq, "20000"], effect: read}
  odd: {description: Odd., command: [/bin/false], effect: read, breaker: {failures: 1, hide: true}}
toolsets: {sums: {tools: [add], description: Sums only.}}
resources: {note: {uri: "docs://note", text: One.}}
"""


@ERAS
async def test_every_client_is_told_of_new_tools(folder, era):
    async with (
        served(project(folder)) as site,
        client(site.url, era) as raw,
        _listening(raw) as told,
    ):
        (folder / "tools.d" / "more.yaml").write_text(MORE)
        await site.runtime.reload()
        message = await asyncio.wait_for(anext(told), 5)
        listed = (await raw.ask("tools/list")).result

    assert message["method"] == "notifications/tools/list_changed"
    assert "more" in [each["name"] for each in listed["tools"]]


async def test_a_reload_that_changes_no_list_is_told_to_nobody(folder):
    async with (
        served(project(folder, OFFERS)) as site,
        client(site.url, "handshake") as raw,
        _listening(raw) as told,
    ):
        more = "prompts: {p: {text: Hello.}}"
        (folder / "tools.d" / "more.yaml").write_text(more)
        await site.runtime.reload()
        message = await asyncio.wait_for(anext(told), 5)

    assert message["method"] == "notifications/prompts/list_changed"


@ERAS
async def test_who_watches_a_resource_is_told_that_it_changed(folder, era):
    async with served(project(folder, OFFERS)) as site, client(site.url, era) as raw:
        if era == "handshake":
            await raw.ask("resources/subscribe", {"uri": "docs://note"})
        wanted = {"resourceSubscriptions": ["docs://note"]}
        async with _listening(raw, wanted) as told:
            changed = OFFERS.replace("One.", "Two.")
            (folder / "tools.d" / "tools.yaml").write_text(changed)
            await site.runtime.reload()
            methods = [(await asyncio.wait_for(anext(told), 5))["method"]]
            if methods == ["notifications/resources/list_changed"]:
                methods.append((await asyncio.wait_for(anext(told), 5))["method"])
            read = (await raw.ask("resources/read", {"uri": "docs://note"})).result

    assert methods[-1] == "notifications/resources/updated"
    assert read["contents"][0]["text"] == "Two."


@ERAS
async def test_a_tool_that_fails_leaves_the_list_and_everybody_is_told(folder, era):
    async with served(project(folder, OFFERS)) as site, client(site.url, era) as raw:
        before = (await raw.ask("tools/list")).result["tools"]
        async with _listening(raw) as told:
            await raw.call("odd")
            message = await asyncio.wait_for(anext(told), 5)
        after = (await raw.ask("tools/list")).result["tools"]

    assert message["method"] == "notifications/tools/list_changed"
    assert {each["name"] for each in before} - {each["name"] for each in after} == {"odd"}


@ERAS
async def test_a_toolset_has_an_endpoint_of_its_own(folder, era):
    async with served(project(folder, OFFERS)) as site, client(f"{site.url}/sums", era) as raw:
        listed = (await raw.ask("tools/list")).result["tools"]
        inside = (await raw.call("add", {"a": 1})).result
        outside = await raw.call("long")
    async with served(folder) as site, client(f"{site.url}/none") as raw:
        nowhere = await raw.ask("tools/list")

    assert [each["name"] for each in listed] == ["add"]
    assert inside["isError"] is False
    assert outside.error["code"] == -32602
    assert nowhere.error["code"] == -32602


@ERAS
async def test_call_tool_of_a_toolset_comes_to_none_beyond_it(folder, era):
    sets = OFFERS.replace("tools: [add]", "tools: [add, call_tool, search_tools]")
    (folder / "toolrt.yaml").write_text("builtins: [call_tool, search_tools]\n")
    async with served(project(folder, sets)) as site:
        async with client(f"{site.url}/sums", era) as raw:
            inside = (await raw.call("call_tool", {"name": "add", "arguments": {"a": 1}})).result
            outside = await raw.call("call_tool", {"name": "long"})
            found = (await raw.call("search_tools", {"intent": "long"})).result
        async with client(site.url, era) as raw:
            of_all = (await raw.call("call_tool", {"name": "odd"})).result

    assert inside["isError"] is False
    assert outside.error["code"] == -32602
    assert "there is no tool `long`" in outside.error["message"]
    assert json.loads(found["content"][0]["text"]) == []
    assert "unknown" not in of_all["content"][0]["text"]


@ERAS
async def test_what_was_too_long_is_read_as_a_resource(folder, era):
    async with (
        served(project(folder, OFFERS), caller=Caller("ann")) as site,
        client(site.url, era) as raw,
    ):
        cut = (await raw.call("long")).result
        link = next(each for each in cut["content"] if each["type"] == "resource_link")
        whole = (await raw.ask("resources/read", {"uri": link["uri"]})).result
        site.app.caller = Caller("bob")
        async with client(site.url, era) as other:
            stolen = await other.ask("resources/read", {"uri": link["uri"]})

    assert cut["isError"] is False
    assert whole["contents"][0]["text"].split() == [str(each) for each in range(1, 20001)]
    assert stolen.error["code"] in {-32602, -32002}
    assert stolen.error["data"] == {"uri": link["uri"]}


@ERAS
async def test_tools_are_listed_and_called_by_who_may_see_them(folder, era):
    rules = "rules: [{id: r, decide: deny, tools: [long], when: \"caller.principal == 'bob'\"}]\ndefault: allow\n"
    (folder / "policies.d").mkdir()
    (folder / "policies.d" / "p.yaml").write_text(rules)
    async with served(project(folder, OFFERS), caller=Caller("ann")) as site:
        async with client(site.url, era) as raw:
            seen = (await raw.ask("tools/list")).result["tools"]
        site.app.caller = Caller("bob")
        async with client(site.url, era) as raw:
            hidden = (await raw.ask("tools/list")).result["tools"]
            unknown = await raw.call("long")
            never = await raw.call("never")

    assert {each["name"] for each in seen} - {each["name"] for each in hidden} == {"long"}
    assert unknown.error["code"] == never.error["code"] == -32602
    assert unknown.error["message"].replace("long", "never") == never.error["message"]


@pytest.mark.parametrize("quarter", range(4))
async def test_x7_equal_ids_of_50_sessions_never_meet_in_10_000_calls(folder, quarter):
    del quarter  # each has a server of its own
    async with served(project(folder, SESSIONS)) as site:
        said = await asyncio.gather(*(_many(site.url, nth) for nth in range(50)))

    for nth, answers in enumerate(said):
        own = {answer["result"]["structuredContent"]["session"] for answer in answers}
        values = [answer["result"]["structuredContent"]["value"] for answer in answers]
        assert [answer["id"] for answer in answers] == list(range(CALLS))
        assert values == [1000 * nth + each for each in range(CALLS)]
        assert len(own) == 1
    sessions = {each[0]["result"]["structuredContent"]["session"] for each in said}
    assert len(sessions) == 50


CALLS = 50
"""Of each session, in a quarter of the 10,000."""
SESSIONS = """
tools: {who: {python: "works:who", effect: read}}
"""


async def _many(url, nth):
    """The answers to some calls of one session, over a connection of its own."""
    async with client(url, "handshake") as raw:
        session = raw.session
    port = int(url.rpartition(":")[2].partition("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers = []
    for id_ in range(CALLS):
        params = {"name": "who", "arguments": {"value": 1000 * nth + id_}}
        message = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
        body = json.dumps(message).encode()
        sent = {**ACCEPT, **session, "host": "127.0.0.1", "content-length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        writer.write(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        told = await reader.readuntil(b"\r\n\r\n")
        length = int(told.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answers.append(json.loads(await reader.readexactly(length)))
    writer.close()
    return answers


class _listening:  # noqa: N801 - a context manager
    """What a client is told beside its requests, in the way of its era; all that has a filter."""

    def __init__(self, raw, wanted=None):
        self.raw = raw
        self.wanted = wanted or {"toolsListChanged": True, "promptsListChanged": True}

    async def __aenter__(self):
        if self.raw.era == "handshake":
            self.stream = self.raw.beside()
            return await self.stream.__aenter__()
        params = {"notifications": self.wanted}
        self.stream = self.raw.stream("subscriptions/listen", params)
        told = await self.stream.__aenter__()
        first = await anext(told)
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == self.wanted
        return told

    async def __aexit__(self, *error):
        await self.stream.__aexit__(*error)


def test_a_message_is_written_without_white_space():
    from toolrt.faces.mcp.messages import answer

    assert answer(1, {"a": [1]}) == b'{"jsonrpc":"2.0","id":1,"result":{"a":[1]}}'
    assert json.loads(answer("ü", "\n")) == {"jsonrpc": "2.0", "id": "ü", "result": "\n"}


@ERAS
async def test_a_call_of_a_hidden_tool_is_one_call(folder, era):
    rules = "rules: [{id: r, decide: deny, tools: [add], when: \"caller.principal == 'bob'\"}]\ndefault: allow\n"
    (folder / "policies.d").mkdir()
    (folder / "policies.d" / "p.yaml").write_text(rules)
    async with served(project(folder, OFFERS), caller=Caller("bob")) as site:
        calls = []
        call = site.runtime.call

        async def counted(*given):
            calls.append(given)
            return await call(*given)

        site.runtime.call = counted
        async with client(site.url, era) as raw:
            reply = await raw.call("add", {"a": 1})

    assert reply.error["code"] == -32602
    assert len(calls) == 1


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_a_new_tool_changes_the_list_of_tools_alone(folder, era):
    text = OFFERS + "prompts: {p: {text: Hello.}}\n"
    async with served(project(folder, text)) as site, client(site.url, era) as raw:
        told = []
        endpoint = site.endpoint.protocol.changes
        endpoint.tell = told.append
        endpoint.updated = told.extend
        (folder / "tools.d" / "more.yaml").write_text(
            "tools: {more: {description: More., command: [/bin/true]}}\n"
        )
        await site.runtime.reload()
        (folder / "tools.d" / "tools.yaml").write_text(text.replace("Hello.", "Hi."))
        await site.runtime.reload()
        del raw

    assert told == ["toolsListChanged", "promptsListChanged"]
