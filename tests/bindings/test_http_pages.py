"""Pages: read one after the other from the same place, whatever a page says of the next one."""

import asyncio
import json
import re
import time
from urllib.parse import parse_qs, parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.http_tool import HttpTool, optional
from tests.loopback import json_reply, loopback, reply
from toolrt.bindings.http_next import Paging, Turn
from toolrt.bindings.http_request import Draft
from toolrt.bindings.network import Origin, Url
from toolrt.core.errors import BindingError, CallError
from toolrt.core.results import HttpAnswer
from toolrt.expressions.select import compile_select
from toolrt.manifest.cases import Mock
from toolrt.testing import ManualClock, open_files

pytestmark = pytest.mark.anyio

BY_LINK = {"next": "next", "items": "rows"}


def page(rows, **more):
    return json_reply(json.dumps({"rows": rows, **more}))


async def walked(answer, paginate, arguments=None, parameters=None, **options):
    """The items of a tool and the requests for them."""
    async with loopback(answer) as server:
        options = {"url": f"{server.url}/v1/rows?per=2", **options, "paginate": paginate}
        options["url"] = options["url"].replace("$URL", server.url)
        more = {key: options.pop(key) for key in ("targets", "bound", "environ") if key in options}
        for target in more.get("targets", {}).values():
            target["url"] = f"{server.url}/v1"
        tool = HttpTool(options, parameters, effect="read", **more)
        answer = await tool.call(**(arguments or {}))
        walked.notes = tool.invocation.notes
        return answer, server.heard


async def items(answer, paginate, *more, **options):
    answer, heard = await walked(answer, paginate, *more, **options)
    return answer.value, [f"{one.method} {one.target}" for one in heard]


def counted(pages, link):
    """Answers with so many pages; `link` makes what a page says of the one after it."""

    def answer(heard):
        query = parse_qs(heard.target.partition("?")[2])
        number = int(query.get("page", ["1"])[0])
        return page([number], next=link(number + 1) if number < pages else None)

    return answer


async def failure(answer, paginate, **options):
    with pytest.raises(CallError) as failed:
        await walked(answer, paginate, **options)
    return failed.value


async def test_the_items_of_all_pages_come_together():
    got, lines = await items(counted(3, lambda n: f"?page={n}&per=2"), BY_LINK)
    assert got == [1, 2, 3]
    assert lines == [
        "GET /v1/rows?per=2", "GET /v1/rows?page=2&per=2", "GET /v1/rows?page=3&per=2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/elsewhere?page={}",
        "//evil.example/?page={}",
        "http://ada:word@evil.example/?page={}",
        "http://169.254.169.254/latest/?page={}",
        "/../admin?page={}",
        "../../admin?page={}",
        "javascript:alert(1)?page={}",
        "file:///etc/passwd?page={}",
        "?page={}#@evil.example/?page=99",
        "\\\\evil.example\\?page={}",
    ],
)
async def test_h8_only_the_query_of_a_next_link_is_used(link):
    got, lines = await items(counted(2, link.format), BY_LINK)
    assert got == [1, 2]
    assert lines == ["GET /v1/rows?per=2", "GET /v1/rows?page=2"]


@pytest.mark.parametrize(
    "link", ["https://evil.example/next", "javascript:alert(1)", "#page=2", "/v1/rows/page/2", "?"]
)
async def test_h8_a_link_without_a_query_is_not_followed(link):
    error = await failure(counted(2, lambda _: link), BY_LINK)
    assert (error.code, error.details["page"]) == ("bad-response", 1)
    assert "evil" not in error.message


@pytest.mark.parametrize("link", ["?page=2\r\nX-Evil: 1", "?page=2\x00", "?page=\x7f"])
async def test_h8_a_link_cannot_leave_its_line(link):
    assert (await failure(counted(2, lambda _: link), BY_LINK)).code == "bad-response"


async def test_h8_what_a_query_cannot_hold_is_encoded():
    _, lines = await items(counted(2, lambda n: f'?page={n}&q=é "x" <y>\\'), BY_LINK)
    assert lines[1] == "GET /v1/rows?page=2&q=%C3%A9%20%22x%22%20%3Cy%3E%5C"


LINKS = st.one_of(
    st.text(max_size=40),
    st.builds(
        "".join,
        st.lists(
            st.sampled_from(
                ["http:", "//", "@", "evil.example", "?", "#", "&", "=", "..", "/", "\\\\", "%", "%2f",
                 "\r\n", "\0", " ", "é", "\ud800", "javascript:", "page", "[", "]", ":80", "tenant"]
            ),
            max_size=12,
        ),
    ),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(link=LINKS, cursor=st.booleans())
def test_h8_no_link_or_cursor_leads_elsewhere(link, cursor):
    origin = Origin("https", "api.example.com", 443)
    first = Draft("GET", Url(origin, "/v1/rows?tenant=acme&per=2"), {"X-Key": "k"}, None)
    following = compile_select("next")
    param = "after" if cursor else None
    paging = Paging(following, param, "query", None, None, 10, frozenset({"tenant"}))
    try:
        found = Turn(paging, first).after(HttpAnswer({"next": link}, 200, {}), 1)
    except BindingError:
        return
    if found is None:
        assert link == ""
        return
    assert (found.method, found.url.origin, found.headers, found.body) == (
        "GET", origin, {"X-Key": "k"}, None,
    )  # fmt: skip
    path, _, query = found.url.target.partition("?")
    assert path == "/v1/rows"
    assert re.fullmatch(r"[!$%-;=?-\[\]_a-z~]*", query)
    assert [value for name, value in parse_qsl(query) if name == "tenant"] == ["acme"]
    if cursor:
        assert dict(parse_qsl(query, True))["after"] == link


async def test_h8_redirects_of_a_page_stay_off():
    def answer(heard):
        if "page=2" in heard.target:
            return reply("", 302, location="http://127.0.0.1:9/evil")
        return page([1], next="?page=2")

    error = await failure(answer, BY_LINK)
    assert (error.details["status"], error.details["page"]) == (302, 2)


@pytest.mark.parametrize(
    "header",
    [
        '<https://api.example/x?page=2>; rel="next"',
        "<?page=2>; rel=next",
        '</a?page=1>; rel="first prev", </b?page=2>; title="a, <b>"; rel="last next"',
        "<?page=2>; REL = NEXT ; x=y",
    ],
)
async def test_the_link_header_names_the_next_page(header):
    def answer(heard):
        links = {} if "page=2" in heard.target else {"link": header}
        return json_reply("[2]" if "page=2" in heard.target else "[1]", **links)

    got, lines = await items(answer, {"next": "link"})
    assert (got, lines[1]) == ([1, 2], "GET /v1/rows?page=2")


@pytest.mark.parametrize("header", ["", "<?page=2>", '<?page=2>; rel="prev"', "?page=2; rel=next"])
async def test_without_a_next_link_the_page_is_the_last(header):
    got, lines = await items(json_reply("[1]", link=header), {"next": "link"})
    assert (got, len(lines)) == ([1], 1)


@pytest.mark.parametrize(
    "header", ["<" * 7000, "<a>;" * 1500, "<a>;rel=" + " " * 7000, ",<>" * 2000]
)
async def test_a_hostile_link_header_is_read_in_no_time(header):
    got, _ = await items(json_reply("[1]", link=header), {"next": "link"})
    assert got == [1]


async def test_of_a_link_only_the_parameter_is_taken_when_one_is_named():
    def answer(heard):
        more = {} if "page=2" in heard.target else {"link": "<?page=2&admin=1>; rel=next"}
        return json_reply("[1]", **more)

    _, lines = await items(answer, {"next": "link", "param": "page"})
    assert lines[1] == "GET /v1/rows?per=2&page=2"


def cursors(heard):
    at = dict(parse_qsl(heard.target.partition("?")[2])).get("after")
    following = {None: "a&b=1", "a&b=1": 7, "7": ""}[at]
    return page([at], meta={"next": following, "more": True})


async def test_a_cursor_is_a_value_of_its_parameter():
    paginate = {"next": "meta.next", "param": "after", "items": "rows"}
    got, lines = await items(cursors, paginate)
    assert got == [None, "a&b=1", "7"]
    assert lines[1:] == ["GET /v1/rows?per=2&after=a%26b%3D1", "GET /v1/rows?per=2&after=7"]


@pytest.mark.parametrize("value", [[], {}, True, ["x"], {"a": 1}])
async def test_a_cursor_of_no_use_is_a_bad_response(value):
    paginate = {"next": "next", "param": "after", "items": "rows"}
    error = await failure(page([1], next=value), paginate)
    assert (error.code, error.details["page"]) == ("bad-response", 1)


async def test_more_says_when_to_stop():
    paginate = {**BY_LINK, "more": "more"}
    answer = page([1], next="?page=2", more=False)
    assert (await items(answer, paginate))[0] == [1]


@pytest.mark.parametrize("in_", ["json", "form"])
async def test_a_cursor_goes_into_the_body(in_):
    def answer(heard):
        return page([1], next=None if b"c2" in heard.body else "c2")

    body = {in_: {"q": "{{ q }}"}, "method": "POST"}
    paginate = {"next": "next", "param": "cursor", "in": in_, "items": "rows"}
    _, heard = await walked(answer, paginate, {"q": "x&y"}, {"q": "string"}, **body)
    sent = [one.body.decode() for one in heard]
    wanted = {
        "json": ['{"q":"x&y"}', '{"q":"x&y","cursor":"c2"}'],
        "form": ["q=x%26y", "q=x%26y&cursor=c2"],
    }
    assert sent == wanted[in_]


async def test_a_cursor_of_graphql_is_a_variable_and_expressions_read_data():
    def answer(heard):
        after = json.loads(heard.body)["variables"].get("after")
        info = {"endCursor": "c2", "hasNextPage": after is None}
        return json_reply(json.dumps({"data": {"rows": {"nodes": [after], "pageInfo": info}}}))

    paginate = {
        "next": "rows.pageInfo.endCursor", "more": "rows.pageInfo.hasNextPage", "param": "after",
        "items": "rows.nodes",
    }  # fmt: skip
    got, lines = await items(answer, paginate, graphql={"query": "query ($after: String) { rows }"})
    assert (got, len(lines)) == ([None, "c2"], 2)


async def test_pages_can_be_counted():
    def answer(heard):
        number = int(dict(parse_qsl(heard.target.partition("?")[2])).get("p", 1))
        return json_reply(f"[{number}]" if number < 5 else "[]")

    got, lines = await items(answer, {"param": "p"})
    assert got == [1, 2, 3, 4]
    assert lines[1] == "GET /v1/rows?per=2&p=2"
    got, lines = await items(answer, {"param": "p"}, query={"p": 3})
    assert (got, lines[0]) == ([3, 4], "GET /v1/rows?per=2&p=3")


async def test_a_next_page_that_was_read_before_ends_in_a_failure():
    error = await failure(page([1], next="?page=1"), BY_LINK)
    assert (error.code, error.details["page"]) == ("bad-response", 2)
    assert "circles" in error.message
    links = {"1": "?page=2", "2": "?page=1"}
    answer = lambda heard: page([1], next=links["2" if "page=2" in heard.target else "1"])  # noqa: E731
    assert (await failure(answer, BY_LINK)).details["page"] == 3


async def test_a_page_that_fails_is_the_failure_of_the_call():
    def answer(heard):
        return page([1], next="?page=2") if "page" not in heard.target else json_reply("{}", 500)

    error = await failure(answer, BY_LINK)
    assert (error.status, error.retryable, error.details["page"]) == (500, True, 2)


@pytest.mark.parametrize(
    ("answer", "paginate"),
    [
        (json_reply("{}"), {"next": "link"}),
        (json_reply('{"rows": null}'), BY_LINK),
        (json_reply('{"rows": {}}'), BY_LINK),
        (reply("<html>", content_type="text/html"), BY_LINK),
    ],
)
async def test_d82_a_page_without_its_list_is_a_bad_response(answer, paginate):
    error = await failure(answer, paginate)
    assert (error.code, error.details["page"]) == ("bad-response", 1)


async def test_d78_all_pages_together_are_under_one_cap():
    rows = ["x" * 1_500_000]

    def answer(heard):
        number = int(parse_qs(heard.target.partition("?")[2]).get("page", ["1"])[0])
        return page(rows, next=f"?page={number + 1}")

    error = await failure(answer, BY_LINK)
    assert (error.code, error.details) == (
        "output-flood", {"limit_bytes": 5 * 1024 * 1024, "page": 4},
    )  # fmt: skip


@pytest.mark.parametrize(("paginate", "most"), [(BY_LINK, 10), ({**BY_LINK, "pages": 3}, 3)])
async def test_the_bound_of_pages_leaves_a_part_and_a_note(paginate, most):
    answer, heard = await walked(counted(99, lambda n: f"?page={n}"), paginate)
    assert answer.value == list(range(1, most + 1))
    assert len(heard) == most
    assert answer.truncated_bytes > 0
    assert walked.notes == (f"read {most} pages, the most that this tool reads; there are more",)


async def test_as_many_pages_as_the_bound_are_whole():
    answer, _ = await walked(counted(3, lambda n: f"?page={n}"), {**BY_LINK, "pages": 3})
    assert (answer.value, answer.truncated_bytes, walked.notes) == ([1, 2, 3], 0, ())


async def test_what_the_manifest_fills_in_is_not_for_a_link_to_change():
    targets = {"api": {"url": "/", "auth": {"api_key": {"query": "key", "value": "${env:KEY}"}}}}

    def answer(heard):
        if "page=2" in heard.target:
            return page([2])
        return page([1], next="?page=2&tenant=evil&key=mine&who=evil&tenant[x]=1&free=theirs")

    _, heard = await walked(
        answer, BY_LINK, {"tenant": "acme"}, {"free": optional("string")},
        url="/rows?who={{ caller.principal }}", target="api", targets=targets,
        query={"tenant": "{{ tenant }}", "free": "{{ free }}"},
        bound={"tenant": "caller.tenant"}, environ={"KEY": "s3cret-key"},
    )  # fmt: skip
    assert sorted(parse_qsl(heard[1].target.partition("?")[2])) == [
        ("free", "theirs"), ("key", "s3cret-key"), ("page", "2"), ("tenant", "acme"), ("who", "ada"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"paginate": {"items": "rows"}}, ("missing-key", ("paginate",))),
        ({"paginate": {"next": "a["}}, ("invalid-select", ("paginate", "next"))),
        ({"paginate": {"next": "a", "items": "a["}}, ("invalid-select", ("paginate", "items"))),
        ({"paginate": {"next": "a", "more": "a["}}, ("invalid-select", ("paginate", "more"))),
        ({"paginate": {"next": "a", "param": "b", "in": "json"}}, ("one-body", ("paginate", "in"))),
    ],
)
def test_pages_that_cannot_be_turned_are_a_fault(options, fault):
    tool = HttpTool({"url": "https://api.example.com/", **options}, effect="read")
    assert tool.faults == [fault]


def test_a_cursor_needs_a_mapping_to_go_into():
    options = {"url": "https://a.example/", "method": "POST", "json": [1]}
    paginate = {"next": "a", "param": "b", "in": "json"}
    tool = HttpTool({**options, "paginate": paginate}, effect="read")
    assert tool.faults == [("wrong-type", ("paginate", "in"))]


async def test_a_reply_that_nobody_sent_is_one_page():
    options = {"url": "https://a.example/", "paginate": BY_LINK}
    tool = HttpTool(options, effect="read")
    mock = Mock.model_validate({"json": {"rows": [1, 2], "next": "?page=2"}})
    assert tool.binding.pretended(mock, time.time).value == [1, 2]


def test_a_tool_that_changes_things_is_not_asked_again_and_again():
    options = {"url": "https://a.example/", "method": "POST", "paginate": {"next": "link"}}
    assert HttpTool(options, effect="write").faults == [("pages-of-a-write", ("paginate",))]


async def test_a_preview_shows_the_first_request_and_how_many_pages():
    tool = HttpTool({"url": "https://a.example/x", "paginate": {"next": "link"}}, effect="read")
    shown = tool.preview()
    assert (shown["url"], shown["pages"]) == ("https://a.example/x", 10)


async def opened(answer, keys=""):
    async with loopback(answer) as server:
        files = {"tools.d/t.yaml": f"""
            tools:
              rows:
                description: Rows.
                http: {{url: "{server.url}/rows", paginate: {{next: next, items: rows, pages: 3}}}}
                {keys}
            """}  # fmt: skip
        async with open_files(files, clock=ManualClock()) as rt:
            return await rt.call("rows", {}), server.heard


async def test_a_part_is_told_as_such():
    result, _ = await opened(counted(9, lambda n: f"?page={n}"))
    assert (result.status, result.data) == ("partial", [1, 2, 3])
    assert "there are more" in str(result.context)


async def test_a_select_reads_the_items_of_all_pages():
    result, _ = await opened(counted(2, lambda n: f"?page={n}"), "result: {select: 'length(@)'}")
    assert (result.status, result.data) == ("success", 2)


async def test_a_retry_begins_with_the_first_page():
    failing = [True]

    def answer(heard):
        if "page=2" in heard.target and failing:
            failing.pop()
            return json_reply("{}", 503)
        return counted(2, lambda n: f"?page={n}")(heard)

    result, heard = await opened(answer)
    assert (result.data, result.attempts, len(heard)) == ([1, 2], 2, 4)


async def test_d77_one_deadline_is_for_all_pages():
    async def drip():
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        await asyncio.sleep(30)

    def answer(heard):
        return drip() if "page" in heard.target else page([1], next="?page=2")

    async with loopback(answer) as server:
        files = {"tools.d/t.yaml": f"""
            tools:
              rows:
                description: Rows.
                http: {{url: "{server.url}/rows", paginate: {{next: next, items: rows}}}}
                timeout: {{attempt: 200ms}}
                retry: none
            """}  # fmt: skip
        async with open_files(files) as rt:
            result = await rt.call("rows", {})
    assert result.error.code == "timeout"


async def test_d81_a_page_that_breaks_off_fails():
    def answer(heard):
        if "page" in heard.target:
            return b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n[1"
        return page([1], next="?page=2")

    error = await failure(answer, BY_LINK)
    assert isinstance(error, BindingError)
    assert (error.code, error.sent, error.details["page"]) == ("bad-response", "maybe", 2)
