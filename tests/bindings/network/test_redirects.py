import httpx
import pytest

from tests.loopback import RESET, loopback, refused_port, reply
from toolrt.bindings.network import Guard, new_request, read_url
from toolrt.core.errors import BindingError

pytestmark = pytest.mark.anyio

OPEN = Guard.of(["127.0.0.0/8"])


def moved(location, status=302):
    return reply("", status, location=location)


def answers(by_target, default=b""):
    return lambda heard: by_target.get(heard.target, default)


async def failure(sending):
    with pytest.raises(BindingError) as failed:
        await sending
    return failed.value


async def test_h3_redirects_are_not_followed_by_themselves(web):
    async with loopback(moved("/there")) as server:
        got = await web.send(server.url)

    assert (got.status_code, len(server.heard)) == (302, 1)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_redirect_on_the_own_origin_keeps_method_and_headers(web, status, method):
    there = answers({"/a/here": moved("there?x=1", status)}, reply())
    async with loopback(there) as server:
        headers = {"Authorization": "Bearer t", "X-Api-Key": "k"}
        got = await web.send(f"{server.url}/a/here", method, None, headers, follows=True)

    assert got.status_code == 200
    assert server.lines == [f"{method} /a/here", f"{method} /a/there?x=1"]
    assert server.heard[1].headers["authorization"] == "Bearer t"
    assert server.heard[1].headers["x-api-key"] == "k"


async def test_a_hop_goes_over_the_wire_as_it_is_written(web):
    there = answers({"/": moved("/a%2e%2e/\"{b}|`<c>?'d'=^")}, reply())
    async with loopback(there) as server:
        await web.send(server.url, headers={"X-One": "1", "x-tWO": "2"}, follows=True)

    assert server.lines[1] == "GET /a%2e%2e/\"{b}|`<c>?'d'=^"


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_h3_a_post_is_not_replayed(web, status):
    async with loopback(answers({"/": moved("/done", status)}, reply("ok"))) as server:
        headers = {"Content-Type": "text/plain", "X-Api-Key": "k"}
        got = await web.send(server.url, "POST", b"pay", headers, follows=True)

    assert got.content == b"ok"
    assert server.lines == ["POST /", "GET /done"]
    assert server.heard[1].body == b""
    assert "content-type" not in server.heard[1].headers
    assert server.heard[1].headers["x-api-key"] == "k"


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_that_keeps_the_method_keeps_the_body(web, status):
    async with loopback(answers({"/": moved("/there", status)}, reply("ok"))) as server:
        await web.send(server.url, "POST", b"pay", {"Content-Type": "text/plain"}, follows=True)

    assert server.lines == ["POST /", "POST /there"]
    assert server.heard[1].body == b"pay"
    assert server.heard[1].headers["content-type"] == "text/plain"


async def test_h3_across_origins_no_header_says_who_we_are(web):
    async with loopback(reply("ok")) as other, loopback(moved(f"{other.url}/x")) as server:
        headers = {
            "Authorization": "Bearer t",
            "Cookie": "key=1",
            "X-Api-Key": "k",
            "X-Tenant": "acme",
            "Accept": "text/html",
        }
        await web.send(server.url, "GET", None, headers, follows=True, guard=OPEN)

    heard = other.heard[0].headers
    assert heard.keys().isdisjoint({"authorization", "cookie", "x-api-key", "x-tenant"})
    assert heard["accept"] == "text/html"
    assert heard["host"] == f"127.0.0.1:{other.port}"


async def test_headers_do_not_come_back_after_a_foreign_hop(web):
    async with loopback(lambda _: moved(f"{server.url}/end")) as other:
        there = {"/": moved(f"{other.url}/x")}
        async with loopback(answers(there, reply("ok"))) as server:
            headers = {"Authorization": "Bearer t"}
            await web.send(server.url, "GET", None, headers, follows=True, guard=OPEN)

    assert server.lines == ["GET /", "GET /end"]
    assert "authorization" not in server.heard[1].headers


async def test_a_body_does_not_cross_origins(web):
    async with loopback(reply("ok")) as other, loopback(moved(other.url, 307)) as server:
        error = await failure(web.send(server.url, "POST", b"secret", follows=True, guard=OPEN))

    assert error.code == "blocked-target"
    assert other.heard == []


async def test_h3_five_hops_are_followed_and_no_sixth(web):
    def count(heard):
        step = int(heard.target.strip("/") or 0)
        return moved(f"/{step + 1}") if step < most else reply("end")

    most = 5
    async with loopback(count) as server:
        assert (await web.send(server.url, follows=True)).content == b"end"

    most = 6
    async with loopback(count) as server:
        error = await failure(web.send(server.url, follows=True))

    assert error.code == "bad-response"
    assert "more than 5 times" in error.message
    assert len(server.heard) == 6


async def test_a_redirect_without_a_location_is_an_answer(web):
    async with loopback(reply("where?", 302)) as server:
        assert (await web.send(server.url, follows=True)).status_code == 302


async def test_h3_https_never_becomes_http():
    from toolrt.bindings.network.redirects import next_hop

    here = read_url("https://example.com/")
    gone = httpx.Response(302, headers={"location": "http://example.com/"})
    with pytest.raises(BindingError) as failed:
        next_hop(new_request("GET", here, {}), here, gone)
    assert failed.value.code == "blocked-target"


async def test_h2_each_hop_is_checked_again(web):
    async with loopback(reply("inside")) as inside, loopback(moved(inside.url)) as server:
        error = await failure(web.send(server.url, follows=True))

    assert error.code == "blocked-target"
    assert inside.heard == []


@pytest.mark.parametrize("answer", ["refused", "reset"])
async def test_a_hop_that_fails_may_have_been_sent(web, answer):
    async with loopback(RESET) as other:
        port = refused_port() if answer == "refused" else other.port
        async with loopback(moved(f"http://127.0.0.1:{port}/")) as server:
            error = await failure(web.send(server.url, follows=True, guard=OPEN))

    assert error.sent == "maybe"
    assert web.invocation.sent != "never"
