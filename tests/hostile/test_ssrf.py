"""Class C of hostile inputs: addresses that a tool must not reach, and credentials that must not
travel. Every case goes through an open project and a real server on loopback."""

import time

import pytest

import toolrt
from tests.limits import AT_ONCE_S
from tests.loopback import json_reply, loopback, reply
from toolrt.bindings.network import Network

pytestmark = pytest.mark.anyio

SECRET = "s3cr3t-that-must-not-travel"
TOOLS = """\
targets:
  service:
    url: {url}
    redirects: {redirects}
    allow_private: {allow_private}
    headers: {{X-Api-Key: "${{env:KEY}}", X-Tenant: acme}}
    auth: {{bearer: "${{env:KEY}}"}}
tools:
  get:
    description: Ask the service.
    parameters: {{}}
    http: {{target: service, url: /start}}
    timeout: 5s
"""

LOOPBACK_SPELLINGS = {
    39: "2130706433",
    40: "0x7f000001",
    41: "017700000001",
    42: "127.1",
    43: "0",
    44: "0.0.0.0",
    45: "[::1]",
    46: "[::]",
    47: "[::ffff:127.0.0.1]",
    49: "[::127.0.0.1]",
    50: "[64:ff9b::7f00:1]",
    52: "[2002:7f00:1::]",
}
PRIVATE_SPELLINGS = {
    53: "[2001:0:4136:e378:8000:63bf:f5ff:fffe]",
    54: "[2606:2800::5efe:10.0.0.1]",
}
METADATA_SPELLINGS = {
    48: "[::ffff:a9fe:a9fe]",
    51: "[64:ff9b:1::a9fe:a9fe]",
    55: "169.254.169.254",
    56: "168.63.129.16",
    57: "100.100.100.200",
    58: "[fd00:ec2::254]",
}
SPELLINGS = LOOPBACK_SPELLINGS | PRIVATE_SPELLINGS | METADATA_SPELLINGS
NO_NUMBERS = {39: "127.0.0.1", 40: "127.0.0.1", 41: "127.0.0.1", 42: "127.0.0.1", 43: "0.0.0.0"}
TWO_WAYS = [
    (62, "http://ok@127.0.0.1:{port}/"),
    (62, "http://ok:ok@127.0.0.1:{port}/"),
    (62, "http://127.0.0.1:{port}#@ok.example/"),
    (62, "http://ok.example\\@127.0.0.1:{port}/"),
    (62, "http://127.0.0.1:{port}\\@ok.example/"),
    (62, "//ok@127.0.0.1:{port}/"),
    (63, "http://①②⑦.⓪.⓪.①:{port}/"),
    (63, "http://127。0。0。1:{port}/"),
]
OTHER_SCHEMES = ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://x/_"]


def project(folder, url, *, redirects="true", allow_private="false"):
    """A project with one tool, `get`, whose target is `url`."""
    (folder / "tools.d").mkdir()
    text = TOOLS.format(url=url, redirects=redirects, allow_private=allow_private)
    (folder / "tools.d" / "get.yaml").write_text(text)
    return toolrt.open(folder, environ={"KEY": SECRET})


async def call(runtime, resolve=None):
    """The result of one call, which is quick and tells no secret."""
    runtime._services.share(Network)._resolve = resolve
    started = time.monotonic()
    result = await runtime.call("get", {})
    assert time.monotonic() - started < AT_ONCE_S
    shown = str(result.document())
    assert SECRET not in shown
    assert "Traceback" not in shown
    return result


def assert_blocked(result):
    assert result.status == "error"
    assert result.error.code == "blocked-target"
    assert not result.error.retryable


@pytest.mark.parametrize(("case", "host"), SPELLINGS.items())
async def test_c39_to_c58_as_a_redirect(case, host, tmp_path):
    async with loopback(reply("inside")) as inside:
        moved = reply("", 302, location=f"http://{host}:{inside.port}/")
        async with loopback(moved) as server, project(tmp_path, server.url) as runtime:
            result = await call(runtime)

    assert_blocked(result)
    assert len(server.heard) == 1
    assert inside.connections == 0


@pytest.mark.parametrize(("case", "host"), SPELLINGS.items())
async def test_c39_to_c58_as_what_a_name_resolves_to(case, host, tmp_path):
    async def resolve(name, port):
        return [NO_NUMBERS.get(case, host).strip("[]")]

    async with loopback(reply("inside")) as inside:
        url = f"http://service.example:{inside.port}"
        async with project(tmp_path, url) as runtime:
            result = await call(runtime, resolve)

    assert_blocked(result)
    assert "allow_private" in result.error.hint
    assert inside.connections == 0


@pytest.mark.parametrize(("case", "host"), METADATA_SPELLINGS.items())
async def test_c48_to_c58_metadata_is_blocked_even_when_private_is_allowed(case, host, tmp_path):
    moved = reply("", 302, location=f"http://{host}/latest/meta-data/")
    async with (
        loopback(moved) as server,
        project(tmp_path, server.url, allow_private="true") as runtime,
    ):
        assert_blocked(await call(runtime))


@pytest.mark.parametrize("host", ["localhost", "localhost.", "LOCALHOST"])
async def test_c59_localhost_as_a_redirect(host, tmp_path):
    async with loopback(reply("inside")) as inside:
        moved = reply("", 302, location=f"http://{host}:{inside.port}/")
        async with loopback(moved) as server, project(tmp_path, server.url) as runtime:
            result = await call(runtime)

    assert_blocked(result)
    assert inside.connections == 0


@pytest.mark.parametrize("host", ["localhost", "localhost.", "127.1", "[::ffff:127.0.0.1]"])
async def test_c59_another_spelling_of_the_own_host_is_another_host(host, tmp_path):
    def moved(heard):
        return reply("", 302, location=f"http://{host}:{server.port}/inside")

    async with loopback(moved) as server, project(tmp_path, server.url) as runtime:
        assert_blocked(await call(runtime))
    assert server.lines == ["GET /start"]


async def test_c59_as_the_manifests_own_name_only_localhost_is_open(tmp_path):
    async with loopback(json_reply("1")) as server:
        (tmp_path / "dotted").mkdir()
        (tmp_path / "plain").mkdir()
        async with project(tmp_path / "dotted", f"http://localhost.:{server.port}") as runtime:
            assert_blocked(await call(runtime))
        async with project(tmp_path / "plain", f"http://LOCALHOST:{server.port}") as runtime:
            assert (await call(runtime)).data == 1


async def test_c61_a_name_that_changes_is_dialled_where_it_was_checked(tmp_path):
    answers = [["127.0.0.2"], ["127.0.0.1"]]

    async def rebind(name, port):
        return answers.pop(0)

    async with loopback(json_reply('"first"'), host="127.0.0.2") as server:
        url = f"http://rebinding.example:{server.port}"
        async with project(tmp_path, url, allow_private="[127.0.0.2/32]") as runtime:
            result = await call(runtime, rebind)

    assert result.data == "first"
    assert answers == [["127.0.0.1"]]


async def test_c61_a_name_with_a_private_address_beside_a_public_one(tmp_path):
    async def both(name, port):
        return ["93.184.216.34", "127.0.0.1"]

    async with project(tmp_path, "http://rebinding.example") as runtime:
        assert_blocked(await call(runtime, both))


@pytest.mark.parametrize(("case", "location"), TWO_WAYS)
async def test_c62_and_c63_hosts_that_can_be_read_in_two_ways(case, location, tmp_path):
    async with loopback(reply("inside")) as inside:
        moved = reply("", 302, location=location.format(port=inside.port))
        async with loopback(moved) as server, project(tmp_path, server.url) as runtime:
            assert_blocked(await call(runtime))

    assert inside.connections == 0


@pytest.mark.parametrize("location", OTHER_SCHEMES)
async def test_c62_a_redirect_to_another_scheme(location, tmp_path):
    moved = reply("", 302, location=location)
    async with loopback(moved) as server, project(tmp_path, server.url) as runtime:
        assert_blocked(await call(runtime))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_c65_across_origins_no_credential_travels(status, tmp_path):
    async with loopback(json_reply('"over there"')) as other:
        moved = reply("", status, location=f"{other.url}/end")
        async with loopback(moved) as server:
            opened = project(tmp_path, server.url, allow_private="[127.0.0.1/32]")
            async with opened as runtime:
                result = await call(runtime)

    assert result.data == "over there"
    assert server.heard[0].headers["x-api-key"] == SECRET
    assert server.heard[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in str(other.heard)
    assert other.heard[0].headers.keys().isdisjoint({"x-api-key", "authorization", "x-tenant"})


async def test_c66_a_loop_of_redirects_ends_at_the_fifth(tmp_path):
    moved = reply("", 302, location="/start")
    async with loopback(moved) as server, project(tmp_path, server.url) as runtime:
        result = await call(runtime)

    assert result.error.code == "bad-response"
    assert "redirected more than 5 times" in result.error.message
    assert len(server.heard) == 6


async def test_redirects_are_off_unless_asked_for(tmp_path):
    async with (
        loopback(reply("", 302, location="/end")) as server,
        project(tmp_path, server.url, redirects="false") as runtime,
    ):
        result = await call(runtime)

    assert result.error.message == "the service answered 302"
    assert len(server.heard) == 1


async def test_proxies_of_the_environment_are_not_used(tmp_path, monkeypatch):
    async with loopback(reply("proxied")) as proxy, loopback(json_reply("1")) as server:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        async with project(tmp_path, server.url) as runtime:
            assert (await call(runtime)).data == 1

    assert proxy.connections == 0
