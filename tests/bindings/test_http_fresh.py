"""Freshness of what http tools show and change, by entity tags (M19, F4)."""

from contextlib import asynccontextmanager

import pytest

import toolrt
from tests.loopback import RESET, json_reply, loopback
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

TOOLS = """
defaults: {{retry: {{attempts: 2, initial: 1ms}}}}
tools:
  look: {{description: Shows., parameters: {{id: string}}, http: "{url}/{{{{ id }}}}"}}
  put:
    description: Changes.
    parameters: {{id: string, text: string, match: {{type: string, required: false}}}}
    http: {{url: "{url}/{{{{ id }}}}", method: PUT, headers: {{If-Match: "{{{{ match }}}}"}}, json: {{text: "{{{{ text }}}}"}}}}
    freshness: {{resource: "page {{{{ id }}}}", read_by: [look]}}
"""
ANN, BOB = toolrt.Caller("ann", session="a"), toolrt.Caller("bob", session="b")


class Page:
    """A service with one page, of which each change makes a new version."""

    def __init__(self, tag='"v{}"'):
        self.tag = tag
        self.version, self.losing, self.matches = 1, 0, []

    def __call__(self, heard):
        if heard.method == "PUT":
            self.matches.append(heard.headers.get("if-match"))
            if self.matches[-1] not in {None, self.tag.format(self.version)}:
                return json_reply("{}", 412)
            self.version += 1
            if self.losing:
                self.losing -= 1
                return RESET
        return json_reply("{}", etag=self.tag.format(self.version))


@asynccontextmanager
async def opened(page):
    async with (
        loopback(page) as server,
        open_files({"tools.d/t.yaml": TOOLS.format(url=server.url)}) as runtime,
    ):
        yield runtime


async def put(runtime, by=ANN, **more):
    result = await runtime.call("put", {"id": "x", "text": "t", **more}, by)
    return result.error.code if result.error else result.status


async def look(runtime, by=ANN):
    assert (await runtime.call("look", {"id": "x"}, by)).status == "success"


async def test_m19_a_change_is_made_for_the_version_that_was_read():
    page = Page()
    async with opened(page) as runtime:
        assert await put(runtime) == "conflict"
        await look(runtime)
        assert await put(runtime) == "success"
        assert await put(runtime) == "success"

    assert page.matches == ['"v1"', '"v2"']


async def test_f4_what_somebody_else_has_changed_meanwhile_is_a_conflict():
    page = Page()
    async with opened(page) as runtime:
        await look(runtime)
        await look(runtime, BOB)
        assert await put(runtime, BOB) == "success"
        refused = (await runtime.call("put", {"id": "x", "text": "t"}, ANN)).error
        await look(runtime)
        assert await put(runtime) == "success"

    assert (refused.code, refused.retryable) == ("conflict", False)
    assert refused.message == "what this would change has changed since it was read"
    assert refused.hint.startswith("this attempt changed nothing; read it again")


async def test_f4_a_repetition_of_a_change_that_was_made_says_that_it_may_have_been():
    page = Page()
    page.losing = 1
    async with opened(page) as runtime:
        await look(runtime)
        refused = (await runtime.call("put", {"id": "x", "text": "t"}, ANN)).error

    assert refused.code == "conflict"
    assert "perhaps by an earlier attempt of this call" in refused.message
    assert page.version == 2


@pytest.mark.parametrize("tag", ['W/"v{}"', "v{}", "", '"\xe9{}"'])
async def test_what_is_no_strong_tag_is_no_version(tag):
    page = Page(tag)
    async with opened(page) as runtime:
        await look(runtime)
        assert await put(runtime) == "success"

    assert page.matches == [None]


async def test_a_condition_that_the_tool_writes_itself_stands():
    page = Page()
    async with opened(page) as runtime:
        await look(runtime)
        assert await put(runtime, match='"mine"') == "conflict"

    assert page.matches == ['"mine"']


async def test_http_readers_of_http_tools_are_no_weak_freshness():
    async with opened(Page()) as runtime:
        assert "weak-freshness" not in {each.code for each in runtime.findings}
