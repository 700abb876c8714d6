import asyncio
import errno
import gc
import gzip
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import toolrt
import toolrt.testing
from tests.bindings.network.conftest import Web, invocation
from tests.limits import AT_ONCE_S
from tests.loopback import RESET, json_reply, loopback, refused_port, reply
from toolrt.bindings.network import Guard, Network, TlsFiles
from toolrt.bindings.network.failures import no_address, unreachable
from toolrt.core.errors import AttemptTimeoutError, BindingError
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

PEM = Path(__file__).parent / "loopback.pem"


async def failure(sending):
    with pytest.raises(BindingError) as failed:
        await sending
    error = failed.value
    assert "127.0.0.1" not in error.message
    assert "localhost" not in error.message
    return error


async def test_a_reply_is_whole(web):
    async with loopback(json_reply('{"a": 1}', X_Mixed="Case")) as server:
        got = await web.send(f"{server.url}/path?q=1")

    assert (got.status_code, got.content) == (200, b'{"a": 1}')
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-mixed"] == "Case"
    assert server.lines == ["GET /path?q=1"]
    assert web.invocation.sent == "answered"


async def test_what_is_sent_is_what_was_asked(web):
    async with loopback(reply()) as server:
        await web.send(
            f"{server.url}/a%2e%2e%2Fb/%252e?x=%2B&y=a+b", "POST", b"body", {"X-Custom": "1"}
        )

    heard = server.heard[0]
    assert heard.method == "POST"
    assert heard.target == "/a%2e%2e%2Fb/%252e?x=%2B&y=a+b"
    assert heard.body == b"body"
    assert heard.headers["host"] == f"127.0.0.1:{server.port}"
    assert heard.headers["x-custom"] == "1"
    assert heard.headers["content-length"] == "4"
    assert "content-type" not in heard.headers
    assert "transfer-encoding" not in heard.headers


@pytest.mark.parametrize("size", [0, 1, 600_000, 3_000_000])
async def test_a_body_of_any_size_arrives_with_its_length(web, size):
    async with loopback(lambda heard: reply(str(len(heard.body)))) as server:
        got = await web.send(server.url, "PUT", b"x" * size)

    assert got.content == str(size).encode()


async def test_connections_are_kept_and_closed_with_the_network(web):
    async with loopback(reply("ok")) as server:
        client = web.client(server.url)
        for _ in range(3):
            await client.send(web.request("GET", server.url), web.invocation)

        assert server.connections == 1


async def test_cookies_are_not_kept(web):
    async with loopback(reply("ok", set_cookie="session=stolen; Path=/")) as server:
        await web.send(server.url)
        await web.send(server.url)

    assert "cookie" not in server.heard[1].headers


async def test_h6_proxies_of_the_environment_are_not_used(web, monkeypatch):
    async with loopback(reply("proxied")) as proxy, loopback(reply("direct")) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert (await web.send(server.url)).content == b"direct"


async def test_gzip_is_decoded_and_nothing_else_is(web):
    packed = gzip.compress(b"unpacked")
    async with loopback(reply(packed, content_encoding="gzip")) as server:
        assert (await web.send(server.url)).content == b"unpacked"
    async with loopback(reply(packed, content_encoding="br")) as server:
        error = await failure(web.send(server.url))

    assert error.code == "bad-response"


async def test_an_answer_without_a_body_has_an_empty_one(web):
    for raw in (
        b"HTTP/1.1 204 No Content\r\n\r\n",
        reply(),
        b"HTTP/1.1 304 N\r\nContent-Encoding: gzip\r\n\r\n",
    ):
        async with loopback(raw) as server:
            assert (await web.send(server.url)).content == b""
    async with loopback(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") as server:
        assert (await web.send(server.url, "HEAD")).content == b""


# how far it went


async def test_e5_a_refused_connection_is_never_sent(web):
    error = await failure(web.send(f"http://127.0.0.1:{refused_port()}/", "POST", b"x"))

    assert (error.sent, error.retryable, error.target_fault) == ("never", True, True)
    assert error.code == "execution-failed"
    assert error.message == "the service could not be reached: connection refused"
    assert web.invocation.sent == "never"


async def test_e5_a_name_that_is_not_found_is_never_sent(resolving):
    error = await failure(resolving({}).send("http://nowhere.example/", "POST"))

    assert (error.sent, error.retryable, error.target_fault) == ("never", True, True)
    assert error.message == "the service could not be reached: its name was not found"


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (OSError(errno.ENETUNREACH, "x"), ": the network is unreachable"),
        (OSError("Multiple exceptions: [Errno 111] x, [Errno 99] y"), ": connection refused"),
        (OSError(errno.ENODEV, "x"), ""),
        (ssl.SSLError(1, "[SSL: NO_CIPHERS_AVAILABLE] at 10.0.0.1"), ": TLS: no agreement"),
    ],
)
def test_why_no_connection_came_about_is_said_without_the_host(raised, reason):
    assert unreachable(raised).message == f"the service could not be reached{reason}"


def test_a_name_service_that_is_down_is_told_from_a_name_that_is_not_there():
    error = no_address(socket.gaierror(socket.EAI_AGAIN, "x"))
    assert error.message == "the service could not be reached: the name service did not answer"


async def test_e5_a_service_without_tls_says_so(web):
    async def refuse(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await failure(web.send(f"https://127.0.0.1:{port}/", "POST", b"x"))

    assert error.sent == "never"
    assert error.message == "the service could not be reached: TLS: it does not speak TLS"


async def test_e5_tls_that_fails_is_never_sent(web):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    async with loopback(reply("ok"), ssl=context) as server:
        untrusted = f"https://127.0.0.1:{server.port}/"
        error = await failure(web.send(untrusted, "POST", b"secret"))

    assert (error.sent, error.retryable) == ("never", True)
    assert error.message == "the service could not be reached: TLS: certificate not trusted"
    assert server.heard == []


async def test_a_target_may_name_what_it_trusts(web):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    async with loopback(reply("ok"), ssl=context) as server:
        got = await web.send(f"https://localhost:{server.port}/", tls=TlsFiles(ca=PEM))

    assert got.content == b"ok"


async def test_a_target_may_show_a_certificate(web):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    context.load_verify_locations(PEM)
    context.verify_mode = ssl.CERT_REQUIRED
    async with loopback(reply("ok"), ssl=context) as server:
        files = TlsFiles(ca=PEM, cert=PEM, key=PEM)
        got = await web.send(f"https://localhost:{server.port}/", tls=files)

    assert got.content == b"ok"


async def test_tls_files_that_are_missing_stop_the_call(web, tmp_path):
    error = await failure(web.send("https://127.0.0.1/", tls=TlsFiles(ca=tmp_path / "no.pem")))

    assert error.sent == "never"
    assert "tls" in error.hint


async def test_e5_a_reset_after_the_body_may_have_been_sent(web):
    async with loopback(RESET) as server:
        error = await failure(web.send(server.url, "POST", b"pay"))

    assert (error.sent, error.retryable, error.target_fault) == ("maybe", True, True)
    assert error.code == "execution-failed"
    assert [each.body for each in server.heard] == [b"pay"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST"])
async def test_the_transport_never_sends_twice_by_itself(web, method):
    def answer(_heard):
        return reply() if len(server.heard) == 1 else RESET

    async with loopback(answer) as server:
        client = web.client(server.url)
        await client.send(web.request(method, f"{server.url}/first"), web.invocation)
        error = await failure(
            client.send(web.request(method, f"{server.url}/second"), web.invocation)
        )

        assert error.sent == "maybe"
        assert web.invocation.sent == "maybe"
        await asyncio.sleep(0.05)
        assert server.lines == [f"{method} /first", f"{method} /second"]
        assert server.connections == 1


async def test_a_connection_that_ends_without_an_answer_may_have_been_sent(web):
    async with loopback(b"") as server:
        error = await failure(web.send(server.url))

    assert (error.sent, error.retryable) == ("maybe", True)


async def test_the_systems_name_service_is_asked_without_holding_up_the_loop(web, monkeypatch):
    asked = threading.Event()

    def slow(host, port, **flags):
        asked.wait(2)
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    sending = asyncio.ensure_future(web.send("http://nowhere.example/"))
    await asyncio.sleep(0.01)
    asked.set()
    error = await failure(sending)

    assert (error.sent, error.message) == (
        "never",
        "the service could not be reached: its name was not found",
    )


@pytest.mark.realtime
async def test_a_name_service_that_does_not_answer_holds_up_nothing(web, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(5))
    started = time.monotonic()
    error = await failure(web.send("http://silent.example/", connect_timeout_s=0.05))
    over.set()

    assert (error.code, error.sent) == ("timeout", "never")
    assert time.monotonic() - started < AT_ONCE_S


@pytest.mark.parametrize("host", ["localhost", "localhost.", "tools.localhost"])
async def test_localhost_is_loopback_without_asking(web, host, monkeypatch):
    monkeypatch.delattr(socket, "getaddrinfo")
    async with loopback(reply("ok")) as server:
        got = await web.send(f"http://{host}:{server.port}/", guard=Guard.of(True))

    assert got.content == b"ok"


async def test_an_own_host_may_be_an_ipv6_literal(web):
    try:
        async with loopback(reply("ok"), host="::1") as server:
            got = await web.send(f"http://[::1]:{server.port}/")
    except OSError:
        pytest.skip("this machine has no IPv6")

    assert got.content == b"ok"
    assert server.heard[0].headers["host"] == f"[::1]:{server.port}"


async def test_a_connect_timeout_is_never_sent(resolving):
    silent = {"silent.example": ["127.0.0.1"]}
    web = resolving(silent)
    stalled = asyncio.Event()

    async def stall(host, port):
        await stalled.wait()

    web.network._resolve = stall
    error = await failure(web.send("http://silent.example/", connect_timeout_s=0.05))

    assert isinstance(error, AttemptTimeoutError)
    assert (error.sent, error.code, error.retryable) == ("never", "timeout", True)


@pytest.mark.realtime
async def test_a_tls_handshake_counts_as_connecting(web):
    async with loopback() as server:
        started = time.monotonic()
        error = await failure(web.send(f"https://127.0.0.1:{server.port}/", connect_timeout_s=0.1))

    assert isinstance(error, AttemptTimeoutError)
    assert error.sent == "never"
    assert time.monotonic() - started < AT_ONCE_S


@pytest.mark.realtime
async def test_cancelling_a_call_that_waits_ends_it_at_once(web):
    async def wait(_heard=None):
        await asyncio.sleep(30)
        yield b""

    async with loopback(lambda _: wait()) as server:
        task = asyncio.ensure_future(web.send(server.url))
        await server.until_heard(1)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert time.monotonic() - started < AT_ONCE_S
    assert web.invocation.sent == "maybe"


# what comes back


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
)
async def test_an_answer_that_breaks_off_may_have_been_sent(web, raw):
    async def cut():
        yield raw

    async with loopback(lambda _: cut()) as server:
        error = await failure(web.send(server.url))

    assert (error.code, error.sent, error.retryable) == ("bad-response", "maybe", True)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\n",
        b"SMTP ready\r\n\r\n",
        b"HTTP/1.1 999999 x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 101 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 9000 + b"\r\n\r\n",
        b"HTTP/1.1 200 " + b"a" * 9000 + b"\r\n\r\n",
    ],
)
async def test_h7_headers_that_are_wrong_or_too_many_are_a_bad_response(web, raw):
    async with loopback(raw) as server:
        error = await failure(web.send(server.url))

    assert (error.code, error.sent, error.retryable) == ("bad-response", "maybe", True)


async def test_sixty_four_calls_go_out_at_once(web):
    gate = asyncio.Event()

    async def held():
        await gate.wait()
        yield reply("ok", connection="close")

    async with loopback(lambda _: held()) as server:
        calls = asyncio.gather(*[web.send(server.url) for _ in range(64)])
        await server.until_heard(64)
        gate.set()
        assert all(each.content == b"ok" for each in await calls)


# the guard at the socket


async def test_h2_a_name_with_one_private_address_among_public_ones_is_blocked(resolving):
    web = resolving({"mixed.example": ["8.8.8.8", "10.0.0.1"]})
    error = await failure(web.send("http://mixed.example/"))

    assert (error.code, error.sent, error.retryable) == ("blocked-target", "never", False)
    assert "allow_private" in error.hint


async def test_h2_the_address_that_was_checked_is_the_one_that_is_dialled(resolving):
    asked = []
    web = resolving({})

    async def rebind(host, port):
        asked.append(host)
        return ["127.0.0.2"] if len(asked) == 1 else ["127.0.0.1"]

    web.network._resolve = rebind
    async with loopback(reply("pinned"), host="127.0.0.2") as server:
        url = f"http://rebinding.example:{server.port}/"
        got = await web.send(url, guard=Guard.of(["127.0.0.2/32"]))

    assert got.content == b"pinned"
    assert asked == ["rebinding.example"]
    assert server.heard[0].headers["host"] == f"rebinding.example:{server.port}"


async def test_a_connection_is_not_shared_with_those_who_might_not_open_it(resolving):
    web = resolving({"inside.example": ["127.0.0.1"]})
    async with loopback(reply("ok")) as server:
        url = f"http://inside.example:{server.port}/"
        await web.send(url, guard=Guard.of(True))
        error = await failure(web.send(url))

    assert error.code == "blocked-target"


# what the operator sees


async def test_a_connection_that_is_refused_is_one_line_of_the_log(web, caplog):
    caplog.set_level("INFO", logger="toolrt.http")
    port = refused_port()
    await failure(web.send(f"http://127.0.0.1:{port}/pay?key=s3cr3t", "POST", b"x"))

    [line] = [record.getMessage() for record in caplog.records if record.name == "toolrt.http"]
    told = json.loads(line)
    assert told["target"] == f"127.0.0.1:{port}"
    assert told["message"] == "the service could not be reached: connection refused"
    assert (told["tool"], told["call_id"], told["sent"]) == ("t.tool", "call-1", "never")
    assert "s3cr3t" not in line


async def test_o1_no_log_tells_what_was_asked(web, caplog):
    caplog.set_level("DEBUG")
    async with loopback(reply("ok")) as server:
        await web.send(f"{server.url}/x?key=s3cr3t", headers={"X-Key": "s3cr3t"})

    assert "s3cr3t" not in caplog.text


# when the libraries are imported

LOADED = """
import sys, toolrt.runtime
compiled = toolrt.runtime.load(sys.argv[1])
assert compiled.snapshot.tools
print(sorted({"aiohttp", "httpx"} & set(sys.modules)))
"""
CALLED = """
import asyncio, importlib.abc, json, sys, threading, toolrt

class Watch(importlib.abc.MetaPathFinder):
    seen = {}

    def find_spec(self, name, path, target=None):
        if name in {"aiohttp", "httpx"}:
            self.seen[name] = threading.current_thread() is threading.main_thread()

async def main():
    async with toolrt.open(sys.argv[1]) as runtime:
        return await asyncio.gather(*[runtime.call("get", {}) for _ in range(3)])

sys.meta_path.insert(0, Watch())
results = asyncio.run(main())
print(json.dumps([Watch.seen, [result.error.code for result in results]]))
"""


def run(script, folder):
    """What `script` prints about a project with one http tool."""
    (folder / "tools.d").mkdir()
    tool = {"description": "Get.", "parameters": {}, "retry": {"attempts": 1}}
    tool["http"] = f"http://127.0.0.1:{refused_port()}/"
    (folder / "tools.d" / "t.yaml").write_text(json.dumps({"tools": {"get": tool}}))
    return subprocess.check_output(
        [sys.executable, "-c", script, str(folder)], text=True, stderr=subprocess.DEVNULL
    )


def test_a_project_is_loaded_without_a_client_library(tmp_path):
    assert run(LOADED, tmp_path) == "[]\n"


def test_the_first_call_imports_the_client_libraries_off_the_loop(tmp_path):
    on_main_thread, codes = json.loads(run(CALLED, tmp_path))

    assert on_main_thread == {"aiohttp": False, "httpx": False}
    assert codes == ["execution-failed"] * 3


# whose connections they are


def served(message):
    """A URL whose connections `message` answers, from a thread of its own, for plain sockets."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=speak, args=(connection,), daemon=True).start()

    def speak(connection):
        with connection:
            while connection.recv(65536):
                connection.sendall(message)

    threading.Thread(target=serve, daemon=True).start()
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}/"


def open_fds():
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def ask_from_two_loops(url):
    web = Web(Network())
    client = web.client(url)

    def ask():
        return asyncio.run(client.send(web.request("POST", url, body=b"x"), invocation()))

    assert ask().content == b"good"
    for again in (ask, lambda: asyncio.run(web.send(url))):
        with pytest.raises(BindingError, match="another event loop") as failed:
            again()
        assert (failed.value.sent, failed.value.retryable) == ("never", False)
        assert "open a runtime in each" in failed.value.hint
    asyncio.run(web.network.close())


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the first loop ends with them open
def test_another_event_loop_is_refused_clearly_and_nothing_leaks():
    listening, url = served(reply("good"))
    before = open_fds()
    ask_from_two_loops(url)
    assert open_fds() <= before + 1  # the server's end of it may be there still
    listening.close()


def test_two_runs_in_one_process_have_a_loop_and_connections_each(tmp_path):
    listening, url = served(json_reply("[1]"))
    files = {"tools.d/t.yaml": f"tools: {{ask: {{description: Ask., http: '{url}'}}}}"}
    project = write_files(tmp_path, files)
    toolrt.run("ask", project=project)
    before = open_fds()
    assert [toolrt.run("ask", project=project).data for _ in range(2)] == [[1], [1]]
    assert open_fds() <= before + 1
    listening.close()


@pytest.mark.realtime
async def test_after_its_runtime_is_closed_a_tool_fails_at_once():
    async with loopback(reply("good")) as server:
        files = {"tools.d/t.yaml": f"tools: {{ask: {{description: Ask., http: '{server.url}'}}}}"}
        async with toolrt.testing.open_files(files) as rt:
            assert (await rt.call("ask", {})).status == "success"
        started = time.monotonic()
        result = await rt.call("ask", {})

        assert (result.status, result.attempts <= 1) == ("error", True)
        assert result.error.code != "internal"
        assert "closed" in f"{result.error.message} {result.error.hint}"
        assert time.monotonic() - started < AT_ONCE_S
        assert len(server.heard) == 1


async def test_another_thread_may_close_the_connections(web):
    async with loopback(reply("good")) as server:
        await web.send(server.url)
        await asyncio.to_thread(lambda: asyncio.run(web.network.close()))
        error = await failure(web.send(server.url))

        assert "closed" in error.message
        assert server.connections == 1


@pytest.mark.realtime
async def test_after_close_nothing_is_sent_and_the_error_says_so(web):
    async with loopback(reply("good")) as server:
        client = web.client(server.url)
        await client.send(web.request("POST", server.url, body=b"x"), web.invocation)
        await web.network.close()
        started = time.monotonic()
        for late in (client, web.client(server.url)):
            error = await failure(late.send(web.request("POST", server.url), web.invocation))
            assert (error.sent, error.retryable) == ("never", False)
            assert "it is closed" in error.message
            assert "before the runtime is closed" in error.hint
        assert time.monotonic() - started < AT_ONCE_S
        assert len(server.heard) == 1


async def test_closing_while_a_pool_is_opened_leaves_none_open(web):
    async with loopback(reply("good")) as server:
        sending = asyncio.create_task(web.send(server.url))
        await asyncio.sleep(0)
        await web.network.close()
        with pytest.raises(BindingError):
            await sending

    assert not web.network._transports


async def test_closing_ends_what_is_on_its_way(web):
    async with loopback(b"") as server:
        sending = asyncio.create_task(web.send(server.url, "POST", b"x"))
        await server.until_heard(1)
        await web.network.close()
        async with asyncio.timeout(10):
            error = await failure(sending)

    assert error.sent == "maybe"
