"""What every request must pass (X5, X8; hostile H 121, 122)."""

import asyncio
from contextlib import suppress

import pytest
from served import FILES, START_KEY, bearer, served
from until import until

from toolrt.core.hosts import is_loopback, name_of
from toolrt.faces.http.connection import Connection
from toolrt.faces.http.guards import Guards
from toolrt.faces.http.problems import ProblemError

JSON = b"Content-Type: application/json\r\n"
CALL = b"POST /v1/tools/t.add/call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


def with_body(head: bytes, body: bytes) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("header", "value", "code"),
    [
        ("Host", "evil.com", "wrong-host"),
        ("Host", "localhost.evil.com:80", "wrong-host"),
        ("Host", "0.0.0.0", "wrong-host"),
        ("Origin", "https://evil", "wrong-origin"),
        ("Origin", "null", "wrong-origin"),
        ("Origin", "http://localhost.evil.com", "wrong-origin"),
    ],
)
async def test_h121_h122_others_names_and_pages_are_refused(
    header: str, value: str, code: str
) -> None:
    async with served() as server:
        reply = await server.client.get("/v1/tools", headers={header: value})
        mcp = await server.client.post("/mcp", json={}, headers={header: value})

    assert (reply.status_code, reply.json()["code"]) == (403, code)
    assert mcp.status_code == 403
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.anyio
@pytest.mark.parametrize(
    "host",
    [b"localhost:@evil", b"localhost:1.evil.com", b"[::1]evil.com", b"localhost:1:2",
     b"localhost/evil", b"evil@localhost", b"localhost..", b"[::1", b":80"],
)  # fmt: skip
async def test_h121_a_host_that_only_begins_like_ours_is_refused(host: bytes) -> None:
    async with served() as server:
        reply = await server.raw(
            b"GET /v1/tools HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host
        )

    assert status(reply) in {400, 403}


@pytest.mark.anyio
async def test_pages_of_its_own_and_those_that_are_named_may_call() -> None:
    project = "serve: {origins: ['https://app.example'], hosts: [tools.internal]}"
    async with served({**FILES, "toolrt.yaml": project}) as server:
        own = f"http://127.0.0.1:{server.port}"
        heads = [{"Origin": own}, {"Origin": "https://app.example"}, {"Host": "tools.internal:99"}]
        server.client.headers.update(bearer(START_KEY))
        replies = [await server.client.get("/v1/tools", headers=each) for each in heads]

    assert [each.status_code for each in replies] == [200, 200, 200]


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [b"", b"Content-Type: text/plain\r\n",
    b"Content-Type: application/x-www-form-urlencoded\r\n",
    b"Content-Type: application/json; charset=latin-1\r\n"])  # fmt: skip
async def test_x5_only_json_is_taken(kind: bytes) -> None:
    async with served() as server:
        reply = await server.raw(with_body(CALL + kind, b'{"arguments":{"a":1}}'))
        good = await server.raw(
            with_body(
                CALL + b"Content-Type: application/json; charset=UTF-8\r\n",
                b'{"arguments":{"a":1}}',
            )
        )

    assert status(reply) == 415
    assert status(good) == 200


@pytest.mark.anyio
async def test_what_has_no_body_needs_no_kind_of_it() -> None:
    async with served() as server:
        reply = await server.client.post("/v1/reload")
        call = await server.raw(with_body(CALL, b""))

    assert reply.status_code == 401
    assert (status(call), b"invalid-json" in call) == (400, True)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "twice",
    [b"Host: evil.com\r\n", b"Content-Type: text/plain\r\n" + JSON,
     b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
     b"Origin: http://localhost\r\nOrigin: http://localhost\r\n"],
)  # fmt: skip
async def test_a_header_that_counts_stands_once(twice: bytes) -> None:
    async with served() as server:
        reply = await server.raw(with_body(CALL + twice + JSON, b"{}"))

    assert status(reply) == 400


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"arguments": {"a": 1, "a": 2}}', b"invalid-json"),
        (b'{"arguments": {"a": ' + b"[" * 64 + b"]" * 64 + b"}}", b"invalid-json"),
        (b'{"arguments": {"a": NaN}}', b"invalid-json"),
        (b'{"arguments": {"a": "\\ud800"}}', b"invalid-json"),
        (b'{"arguments": {"a": 1}', b"invalid-json"),
        (b"[]", b"invalid-json"),
        (b"", b"invalid-json"),
        (b"\xff\xfe", b"invalid-json"),
    ],
)
async def test_x8_bodies_that_are_no_plain_object_are_refused(body: bytes, code: bytes) -> None:
    async with served() as server:
        reply = await server.raw(with_body(CALL + JSON, body))

    assert status(reply) == 400
    assert code in reply


@pytest.mark.anyio
async def test_x8_a_body_over_4_mib_is_refused_by_its_length_and_by_its_bytes() -> None:
    async with served() as server:
        told = await server.raw(CALL + JSON + b"Content-Length: 4194305\r\n\r\n")
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        sent = await server.raw(CALL + JSON + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 65)

    assert status(told) == 413
    assert status(sent) == 413


@pytest.mark.anyio
async def test_a_chunked_body_is_read() -> None:
    async with served() as server:
        body = b'15\r\n{"arguments":{"a":1}}\r\n0\r\n\r\n'
        reply = await server.raw(CALL + JSON + b"Transfer-Encoding: chunked\r\n\r\n" + body)

    assert status(reply) == 200


@pytest.mark.anyio
async def test_length_and_chunks_together_are_refused() -> None:
    async with served() as server:
        head = CALL + JSON + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        reply = await server.raw(head + b"0\r\n\r\n")

    assert status(reply) == 400


@pytest.mark.anyio
@pytest.mark.parametrize(
    "request_", [b"GET / HTTP/9\r\n\r\n", b"\x16\x03\x01\r\n\r\n", b"GET  \r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 70000 + b"\r\n\r\n",
                 b"GET //[ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"])  # fmt: skip
async def test_what_is_no_http_is_400(request_: bytes) -> None:
    async with served() as server:
        reply = await server.raw(request_)
        good = await server.client.get("/healthz")

    assert status(reply) in {400, 404}
    assert good.status_code == 200


@pytest.mark.anyio
async def test_pipelined_requests_are_answered_in_their_order() -> None:
    async with served() as server:
        keep = CALL.replace(b"close", b"keep-alive")
        requests = [with_body(keep + JSON, b'{"arguments":{"a":%d}}' % n) for n in range(4)]
        last = with_body(CALL + JSON, b'{"arguments":{"a":4}}')
        reply = await server.raw(b"".join([*requests, last]))

    found = [int(part.split(b",")[0]) for part in reply.split(b'"data":')[1:]]
    assert found == [2, 3, 4, 5, 6]


@pytest.mark.anyio
async def test_odd_methods_and_paths_are_told_what_there_is() -> None:
    async with served() as server:
        head = await server.client.head("/v1/tools")
        options = await server.client.options("/v1/tools")
        put = await server.client.put("/v1/tools", json={})
        nothing = await server.client.get("/v2")
        slash = await server.client.post("/v1/tools/t%2Eadd/call", json={"arguments": {"a": 1}})
        odd = await server.client.post("/v1/tools/a%2Fb%00/call", json={"arguments": {}})

    assert (head.status_code, head.content) == (200, b"")
    assert (options.status_code, put.status_code, nothing.status_code) == (405, 405, 404)
    assert "GET" in options.headers["allow"]
    assert (slash.status_code, odd.status_code) == (200, 404)
    assert {r.headers["content-type"] for r in (options, put, nothing, odd)} == {
        "application/problem+json"
    }


@pytest.mark.anyio
async def test_probes_are_answered_by_whatever_name() -> None:
    async with served() as server:
        replies = [
            await server.client.get(path, headers={"Host": "10.1.2.3:8080"})
            for path in ("/healthz", "/readyz")
        ]

    assert [each.status_code for each in replies] == [200, 200]


@pytest.mark.anyio
@pytest.mark.realtime
async def test_x8_a_head_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolrt.faces.http.connection.SILENT_S", 0.5)
    monkeypatch.setattr("toolrt.faces.http.connection._LOOK_S", 0.1)
    async with served() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        begun = asyncio.get_running_loop().time()
        dripping = asyncio.create_task(drip(writer))
        with suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), 5)
        took = asyncio.get_running_loop().time() - begun
        dripping.cancel()
        writer.close()

    assert took < 3


async def drip(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"X: y\r\n")
        await asyncio.sleep(0.1)


@pytest.mark.anyio
@pytest.mark.realtime
async def test_a_call_that_takes_longer_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolrt.faces.http.connection.SILENT_S", 0.3)
    monkeypatch.setattr("toolrt.faces.http.connection._LOOK_S", 0.1)
    async with served() as server:
        reply = await server.call("t.nap", seconds=1.2)

    assert reply.json()["data"] == "rested"


@pytest.mark.anyio
async def test_x8_connections_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolrt.faces.http.connection.MOST", 3)
    real, made = Connection.connection_made, 0

    def counted(self: Connection, transport: asyncio.Transport) -> None:
        nonlocal made
        made += 1
        real(self, transport)

    monkeypatch.setattr(Connection, "connection_made", counted)
    async with served() as server:
        held = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
        await until(lambda: made == 3)
        reply = await server.raw(b"")
        for _, writer in held:
            writer.close()

    assert status(reply) == 503


@pytest.mark.parametrize(
    ("host", "is_it"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("localhost.evil.com", False)],
)  # fmt: skip
def test_loopback_is_known(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it


@pytest.mark.parametrize(
    ("authority", "name"),
    [("Localhost:80", "localhost"), ("[::1]:8080", "[::1]"), ("::1", "[::1]"), ("a.b.:1", "a.b")],
)
def test_names_are_compared_without_ports(authority: str, name: str) -> None:
    assert name_of(authority) == name


def test_a_missing_host_is_refused() -> None:
    with pytest.raises(ProblemError) as caught:
        Guards((), (), None).check("GET", {})

    assert caught.value.status == 400


@pytest.mark.anyio
@pytest.mark.realtime
async def test_x8_who_does_not_read_the_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolrt.faces.http.connection._WHOLE_S", 0.3)
    monkeypatch.setattr("toolrt.faces.http.connection._LOOK_S", 0.1)
    tools = """
        tools:
          long:
            description: Long.
            shell: {script: "seq 1 400000"}
            effect: read
            result: {max_size: 3MB}
        """
    made: list[Connection] = []
    real = Connection.connection_made
    monkeypatch.setattr(
        Connection, "connection_made", lambda self, t: (made.append(self), real(self, t))[1]
    )
    async with served({"tools.d/l.yaml": tools}) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.transport.pause_reading()
        head = b"POST /v1/tools/long/call HTTP/1.1\r\nHost: localhost\r\n" + JSON
        for _ in range(8):
            writer.write(with_body(head, b"{}"))
        await until(lambda: made and made[0].transport.is_closing())
        good = await server.client.get("/healthz")
        writer.transport.abort()

    assert good.status_code == 200
