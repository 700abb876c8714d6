"""Class D of hostile inputs: arguments that would leave their place in a request, and answers that
would hurt. Every case goes through an open project and a real server on loopback."""

import asyncio
import gzip
import json
import sys
import threading
import time
import zlib
from functools import cache
from pathlib import Path

import pytest

import toolrt
from tests.limits import AT_ONCE_S
from tests.loopback import loopback, reply

pytestmark = pytest.mark.anyio

SECRET = "s3cr3t-that-must-not-show"
TOOLS = """\
targets:
  service: {{url: "{url}/v1", headers: {{X-Key: "${{env:KEY}}"}}}}
defaults: {{http: {{target: service}}, timeout: {timeout}}}
tools:
  path:
    description: A value in the path.
    parameters: {{v: string}}
    http: "/items/{{{{ v }}}}/x"
  query:
    description: A value in the query.
    parameters: {{v: string}}
    http: {{url: /items, query: {{v: "{{{{ v }}}}"}}}}
  header:
    description: A value in a header.
    parameters: {{v: string}}
    http: {{url: /items, headers: {{X-V: "{{{{ v }}}}"}}}}
  swept:
    description: Every argument in the query.
    parameters: {{v: {{type: string, required: false}}}}
    http: {{url: /items, args_in: query}}
  get:
    description: Ask.
    parameters: {{}}
    http: /items
  get_json:
    description: Ask for JSON.
    parameters: {{}}
    http: {{url: /items, output: json}}
  post:
    description: Change something.
    parameters: {{}}
    http: {{url: /items, method: POST, json: {{a: 1}}}}
"""

SEGMENTS = [
    (67, "../../admin", "..%2F..%2Fadmin"),
    (67, "..\\..\\admin", "..%5C..%5Cadmin"),
    (69, "%2e%2e%2f", "%252e%252e%252f"),
    (69, "%2e%2e", "%252e%252e"),
    (70, "a?admin=1", "a%3Fadmin%3D1"),
    (70, "a#b", "a%23b"),
    (71, "//evil.com/x", "%2F%2Fevil.com%2Fx"),
    (71, "http://evil.com/", "http%3A%2F%2Fevil.com%2F"),
    (71, "@evil.com", "%40evil.com"),
]
QUERY_VALUES = ["a&admin=1", "a#b", "a=b", "a b", "a+b", "%00", "é\r\n"]
NO_HEADERS = [
    (73, "é"),
    (73, "🎉"),
    (74, "a\x7fb"),
    (74, "a\r\nX-Admin: 1"),
    (74, "a\nb"),
    (74, "a\tb"),
]
HEADER_NAMES = ["Host", "host", "Content-Length", "Transfer-Encoding"]


def write(folder, url, timeout="5s"):
    (folder / "tools.d").mkdir()
    text = TOOLS.format(url=url, timeout=timeout)
    (folder / "tools.d" / "content.yaml").write_text(text)


def project(folder, url, timeout="5s"):
    write(folder, url, timeout)
    return toolrt.open(folder, environ={"KEY": SECRET})


async def call(folder, server, tool, *, within="5s", **arguments):
    """The result of one call, which is quick and tells no secret."""
    async with project(folder, server.url, within) as runtime:
        started = time.monotonic()
        result = await runtime.call(tool, arguments)
        assert time.monotonic() - started < AT_ONCE_S
    shown = str(result.document())
    assert SECRET not in shown
    assert "Traceback" not in shown
    return result


@pytest.mark.parametrize(("case", "value", "sent"), SEGMENTS)
async def test_d67_to_d71_a_value_stays_one_segment(case, value, sent, tmp_path):
    async with loopback(reply("ok")) as server:
        result = await call(tmp_path, server, "path", v=value)

    assert result.status == "success"
    assert server.lines == [f"GET /v1/items/{sent}/x"]
    assert server.heard[0].headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("value", ["..", ".", ""])
async def test_d67_a_relative_segment_is_refused(value, tmp_path):
    async with loopback(reply("ok")) as server:
        result = await call(tmp_path, server, "path", v=value)

    assert result.error.code == "invalid-arguments"
    assert server.connections == 0


@pytest.mark.parametrize("value", QUERY_VALUES)
async def test_d70_a_value_stays_one_query_value(value, tmp_path):
    from urllib.parse import parse_qs, urlsplit

    async with loopback(reply("ok")) as server:
        await call(tmp_path, server, "query", v=value)

    assert parse_qs(urlsplit(server.heard[0].target).query) == {"v": [value]}


@pytest.mark.parametrize(("case", "value"), NO_HEADERS)
async def test_d73_and_d74_a_header_value_is_printable_ascii(case, value, tmp_path):
    async with loopback(reply("ok")) as server:
        result = await call(tmp_path, server, "header", v=value)

    assert result.error.code == "invalid-arguments"
    assert server.connections == 0


@pytest.mark.parametrize("name", HEADER_NAMES)
async def test_d75_an_argument_is_never_a_header(name, tmp_path):
    async with loopback(reply("ok")) as server:
        result = await call(tmp_path, server, "swept", **{name: "evil.com"})

    assert result.error.code == "invalid-arguments"
    assert server.connections == 0


@pytest.mark.realtime
async def test_d77_a_drip_ends_at_the_deadline(tmp_path):
    async def drip():
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n"
        while True:
            yield b"x"
            await asyncio.sleep(0.3)

    async with loopback(lambda _: drip()) as server:
        started = time.monotonic()
        result = await call(tmp_path, server, "get", within="0.7s")
        took = time.monotonic() - started

    assert result.error.code == "timeout"
    assert 0.6 <= result.time_s <= AT_ONCE_S
    assert took < AT_ONCE_S + 1


async def test_d78_a_gzip_bomb_is_killed_at_the_cap(tmp_path):
    bomb = _bomb(209 * 1024 * 1024)
    assert len(bomb) < 300 * 1024
    async with loopback(reply(bomb, content_encoding="gzip", content_type="text/plain")) as server:
        with Memory() as memory:
            result = await call(tmp_path, server, "get")

    assert result.error.code == "output-flood"
    assert memory.grown_by < 32 * 1024 * 1024


async def test_d78_a_flood_is_killed_at_the_cap(tmp_path):
    async def flood():
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
        for _ in range(800):
            yield b"x" * 65536

    async with loopback(lambda _: flood()) as server:
        with Memory() as memory:
            result = await call(tmp_path, server, "get")

    assert result.error.code == "output-flood"
    assert memory.grown_by < 32 * 1024 * 1024


@pytest.mark.parametrize("encoding", ["gzip, gzip, gzip", "br", "deflate", "zstd", "made-up"])
async def test_d79_an_encoding_that_was_not_asked_for(encoding, tmp_path):
    body = gzip.compress(gzip.compress(gzip.compress(b"hidden")))
    async with loopback(reply(body, content_encoding=encoding)) as server:
        result = await call(tmp_path, server, "get")

    assert result.error.code == "bad-response"
    assert len(server.heard) == 1
    assert server.heard[0].headers["accept-encoding"] == "gzip"


LIES = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nshort",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nshort",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"short")[:-5],
]


@pytest.mark.parametrize("raw", LIES[:3])
async def test_d81_a_lie_about_the_length_is_tried_again_only_for_a_read(raw, tmp_path):
    async def close_early():
        yield raw

    (tmp_path / "get").mkdir()
    (tmp_path / "post").mkdir()
    async with loopback(lambda _: close_early()) as server:
        read = await call(tmp_path / "get", server, "get")
        assert (read.error.code, len(server.heard)) == ("bad-response", 3)
        write = await call(tmp_path / "post", server, "post")
        assert len(server.heard) == 4

    assert write.error.code == "unknown-outcome"
    assert write.error.details["cause"] == "bad-response"


async def test_d81_gzip_that_breaks_off(tmp_path):
    async def close_early():
        yield LIES[3]

    async with loopback(lambda _: close_early()) as server:
        result = await call(tmp_path, server, "get")

    assert result.error.code == "bad-response"


async def test_d81_more_than_was_announced_is_not_part_of_the_next_answer(tmp_path):
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
    smuggled = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
    async with (
        loopback(raw + smuggled) as server,
        project(tmp_path, server.url) as runtime,
    ):
        results = [await runtime.call("get", {}) for _ in range(3)]

    assert [each.data for each in results if each.status == "success"].count("smuggled") == 0


async def test_d82_html_in_place_of_json(tmp_path):
    page = f"<html><body>{SECRET} \x1b[2J {'x' * 5000}</body></html>"
    async with loopback(reply(page, content_type="text/html")) as server:
        result = await call(tmp_path, server, "get_json")

    assert result.error.code == "bad-response"
    assert len(json.dumps(result.document())) < 1500
    assert "\x1b" not in result.text


async def test_through_the_real_command_line(tmp_path):
    write(tmp_path, "http://127.0.0.1:1")
    async with loopback(reply("ok")) as server:
        (tmp_path / "tools.d" / "content.yaml").write_text(
            TOOLS.format(url=server.url, timeout="5s")
        )
        refused = await _cli(tmp_path, "header", "v=é")
        assert (refused["error"]["code"], server.connections) == ("invalid-arguments", 0)
        sent = await _cli(tmp_path, "path", "v=../../admin")
        assert sent["status"] == "success"

    assert server.lines == ["GET /v1/items/..%2F..%2Fadmin/x"]


async def _cli(folder, *words):
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "toolrt", "run", *words, "-p", str(folder), "-o", "json"),
        env={"KEY": SECRET, "PATH": "/usr/bin:/bin"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await child.communicate()
    assert SECRET.encode() not in out + err
    assert b"Traceback" not in err
    return json.loads(out)


@cache
def _bomb(size):
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1024 * 1024)
    return b"".join(packer.compress(zeros) for _ in range(size // len(zeros))) + packer.flush()


class Memory:
    """How much resident memory grows while a block runs, at its highest."""

    def __enter__(self):
        self._before = self._highest = _resident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._over.set()
        self._thread.join()

    @property
    def grown_by(self):
        return self._highest - self._before

    def _watch(self):
        while not self._over.wait(0.001):
            self._highest = max(self._highest, _resident())


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
