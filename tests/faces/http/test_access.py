"""Who calls over HTTP (X4-X6): keys, signed tokens, and nobody in particular."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from loopback import json_reply, loopback
from served import FILES, PEOPLE, START_KEY, hash_of, served

pytestmark = pytest.mark.anyio
KNOWN = {**FILES, "toolrt.yaml": PEOPLE}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
HELLO_HEAD = {"accept": "application/json, text/event-stream"}
ISSUER, AUDIENCE = "https://login.example", "toolrt"


async def test_x5_on_loopback_calls_are_open_and_people_have_to_say_who_they_are() -> None:
    async with served() as server:
        open_ = [await server.get("/v1/tools"), await server.call("t.add", a=1)]
        closed = [
            await server.get("/v1/approvals"),
            await server.get("/v1/calls"),
            await server.get("/v1/events"),
            await server.post("/v1/reload", {}),
            await server.post("/v1/approvals/x/decision", {"decision": "approve"}),
        ]

    assert [each.status_code for each in open_] == [200, 200]
    assert {each.status_code for each in closed} == {401}
    assert {each.headers["www-authenticate"] for each in closed} == {'Bearer realm="toolrt"'}


async def test_x5_elsewhere_everything_but_probes_needs_a_key() -> None:
    async with served(KNOWN, is_local=False) as server:
        paths = ["/v1/tools", "/openapi.json", "/metrics", "/schema/tools.json", "/mcp"]
        replies = [await server.get(path) for path in paths]
        call = await server.call("t.add", a=1)
        known = await server.call("t.add", "bot-key", a=1)
        probes = [await server.get(path) for path in ("/healthz", "/readyz")]

    assert {each.status_code for each in (*replies, call)} == {401}
    assert known.status_code == 200
    assert [each.status_code for each in probes] == [200, 200]


async def test_required_closes_loopback_too() -> None:
    project = PEOPLE + "serve: {auth: {required: true}}\n"
    async with served({**FILES, "toolrt.yaml": project}) as server:
        nobody, bot = await server.call("t.add", a=1), await server.call("t.add", "bot-key", a=1)

    assert (nobody.status_code, bot.status_code) == (401, 200)


@pytest.mark.parametrize(
    "proof",
    ["Bearer nobody", "Bearer", "Basic Ym90OmJvdC1rZXk=", "bot-key", f"Bearer {hash_of('bot-key')}",
     "Bearer a.b.c", "Bearer é"],
)  # fmt: skip
async def test_a_wrong_key_is_401_even_where_none_is_needed(proof: str) -> None:
    async with served(KNOWN) as server:
        headers = {"Authorization": proof.encode()}
        reply = await server.client.get("/v1/tools", headers=headers)

    assert reply.status_code == 401
    assert "bot-key" not in reply.text


async def test_a_key_maps_to_its_identity_and_rights() -> None:
    async with served(KNOWN) as server:
        body = {"decision": "approve"}
        asked = (await server.call("t.pay", "bot-key", to="x", amount=1)).json()
        id_ = asked["pause"]["approval_id"]
        by_bot = await server.post(f"/v1/approvals/{id_}/decision", body, "bot-key")
        by_eve = await server.post(f"/v1/approvals/{id_}/decision", body, "eve-key")
        by_ann = await server.post(f"/v1/approvals/{id_}/decision", body, "ann-key")
        reload_ann = await server.post("/v1/reload", {}, "ann-key")
        reload_adm = await server.post("/v1/reload", {}, "adm-key")

    assert by_bot.status_code == 403
    assert by_eve.status_code == 404
    assert (by_ann.status_code, by_ann.json()["state"]) == (200, "approved")
    assert (reload_ann.status_code, reload_adm.status_code) == (403, 200)


async def test_x6_the_key_of_a_start_is_the_account_that_runs_it() -> None:
    async with served() as server:
        reply = await server.get("/v1/approvals", START_KEY)
        wrong = await server.get("/v1/approvals", START_KEY + "x")

    assert (reply.status_code, wrong.status_code) == (200, 401)


async def test_an_account_that_no_identity_names_may_nothing_by_the_key_of_a_start() -> None:
    async with served(KNOWN) as server:
        reply = await server.get("/v1/approvals", START_KEY)

    assert reply.status_code == 403


async def test_what_nobody_in_particular_asked_for_runs_once_it_is_approved() -> None:
    async with served(KNOWN) as server:
        asked = (await server.call("t.pay", to="x", amount=1)).json()
        id_ = asked["pause"]["approval_id"]
        yes = {"decision": "approve"}
        await server.post(f"/v1/approvals/{id_}/decision", yes, "ann-key")
        reply = await server.call("t.pay", to="x", amount=1)

    assert (reply.status_code, reply.json()["text"]) == (200, "paid x 1")


async def test_a_key_that_is_taken_away_counts_no_more() -> None:
    async with served(KNOWN) as server:
        before = await server.call("t.add", "bot-key", a=1)
        path = server.runtime.project / "toolrt.yaml"
        path.write_text(PEOPLE.replace(hash_of("bot-key"), hash_of("new-key")))
        await server.runtime.reload(accept_loss=True)
        after = await server.call("t.add", "bot-key", a=1)
        new = await server.call("t.add", "new-key", a=1)

    assert [before.status_code, after.status_code, new.status_code] == [200, 401, 200]


@pytest.mark.parametrize(
    ("path", "more"), [("/v1/events", {}), ("/mcp", {"accept": "text/event-stream"})]
)
async def test_what_streams_ends_with_the_key_it_was_asked_for_with(
    path: str, more: dict[str, str]
) -> None:
    async with served(KNOWN) as server:
        headers = {"Authorization": "Bearer bot-key", **more}
        if path == "/mcp":
            told = await server.client.post("/mcp", json=HELLO, headers=headers | HELLO_HEAD)
            headers["mcp-session-id"] = told.headers["mcp-session-id"]
        async with server.client.stream("GET", path, headers=headers) as stream:
            chunks = stream.aiter_raw()
            first = await anext(chunks)
            people = PEOPLE.replace(hash_of("bot-key"), hash_of("new-key"))
            (server.runtime.project / "toolrt.yaml").write_text(people)
            outcome = await server.runtime.reload("test", accept_loss=True)
            rest = await asyncio.wait_for(_all(chunks), 5)

    assert outcome.is_accepted
    assert first.startswith(b": ")
    assert b"data:" not in rest


async def test_a_client_that_listens_is_let_go_with_its_key() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}  # fmt: skip
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = {"Authorization": "Bearer bot-key", "mcp-method": "subscriptions/listen",
               "mcp-protocol-version": "2026-07-28", **HELLO_HEAD}  # fmt: skip
    async with (
        served(KNOWN) as server,
        server.client.stream("POST", "/mcp", json=body, headers=headers) as stream,
    ):
        chunks = stream.aiter_raw()
        first = await anext(chunks)
        people = PEOPLE.replace(hash_of("bot-key"), hash_of("new-key"))
        (server.runtime.project / "toolrt.yaml").write_text(people)
        await server.runtime.reload("test", accept_loss=True)
        rest = await asyncio.wait_for(_all(chunks), 5)

    assert b"acknowledged" in first
    assert b"list_changed" not in rest


async def _all(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([each async for each in chunks])


async def test_a_server_that_gets_another_name_by_a_reload_wants_to_know_who_calls() -> None:
    async with served() as server:
        before = await server.call("t.add", a=1)
        (server.runtime.project / "toolrt.yaml").write_text("serve: {hosts: [tools.example.com]}\n")
        outcome = await server.runtime.reload("test", accept_loss=True)
        nobody = await server.call("t.add", a=1)
        known = await server.call("t.add", START_KEY, a=1)

    assert outcome.is_accepted
    assert [each.status_code for each in (before, nobody, known)] == [200, 401, 200]


async def test_lists_are_those_of_the_caller() -> None:
    rules = """
        rules:
        - {id: not-bots, decide: deny, tools: [t.pay], when: caller.principal == "bot"}
        default: allow
        """
    async with served({**KNOWN, "policies.d/p.yaml": rules}) as server:
        bot, ann = (
            await server.get("/v1/tools", "bot-key"),
            await server.get("/v1/tools", "ann-key"),
        )
        one = await server.get("/v1/tools/t.pay", "bot-key")

    def names(reply: Any) -> list[str]:
        return [each["name"] for each in reply.json()["tools"]]

    assert ("t.pay" in names(bot), "t.pay" in names(ann)) == (False, True)
    assert one.status_code == 404


async def test_x4_a_credential_for_a_service_stands_once() -> None:
    project = PEOPLE + "credentials: {github: {header: X-GitHub-Token}}\n"
    async with served({**FILES, "toolrt.yaml": project}) as server:
        twice = [("X-GitHub-Token", "one"), ("x-github-token", "two")]
        calls = [
            await server.client.post(path, json={"arguments": {"a": 1}}, headers=headers)
            for path in ("/v1/tools/t.add/call", "/mcp")
            for headers in (twice, twice[:1])
        ]

    assert [each.status_code for each in calls[:2]] == [400, 200]
    assert "x-github-token is given twice" in calls[0].text
    assert "x-github-token is given twice" in calls[2].text
    assert "given twice" not in calls[3].text


async def test_events_have_room_for_others_where_one_listens_too_often() -> None:
    async with served(KNOWN) as server, AsyncExitStack() as open_:
        bot, told = {"Authorization": "Bearer bot-key"}, []
        for _ in range(16):
            stream = server.client.stream("GET", "/v1/events", headers=bot)
            told.append((await open_.enter_async_context(stream)).aiter_bytes())
            await anext(told[-1])
        refused = await server.get("/v1/events", "bot-key")
        ann = {"Authorization": "Bearer ann-key"}
        async with server.client.stream("GET", "/v1/events", headers=ann) as other:
            status = other.status_code

    assert refused.status_code == 503
    assert status == 200


async def test_x4_credentials_are_handed_on_and_the_inbound_key_is_not() -> None:
    tools = """
        tools:
          ask:
            description: Ask.
            http: {url: "$URL/ask", headers: {X-Token: "${caller:github}"}}
            effect: read
        """
    async with loopback(json_reply("{}")) as heard:
        files = {
            "tools.d/h.yaml": tools.replace("$URL", heard.url),
            "toolrt.yaml": PEOPLE + "credentials: {github: {header: X-GitHub-Token}}\n",
        }
        async with served(files) as server:
            headers = {"Authorization": "Bearer bot-key", "X-GitHub-Token": "gh-secret"}
            path = "/v1/tools/ask/call"
            good = await server.client.post(path, json={}, headers=headers)
            without = await server.call("ask", "bot-key")
    sent = str(heard.heard[0].headers)

    assert good.json()["status"] == "success"
    assert "gh-secret" in sent
    assert "bot-key" not in sent
    assert without.json()["error"]["code"] == "missing-credential"


# Signed tokens


@pytest.fixture(scope="module")
def signing() -> tuple[Any, dict[str, Any]]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
    return key, {"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}


def project_of(jwks: str, people: str = PEOPLE) -> str:
    return f"{people}serve: {{auth: {{jwt: {{issuer: '{ISSUER}', audience: {AUDIENCE}, jwks: '{jwks}'}}}}}}\n"


ZOE = PEOPLE + "- {claim: {sub: z-1, groups: staff}, principal: zoe, may: [call, approve]}\n"


def token(key: Any, kid: str = "k1", algorithm: str = "RS256", **claims: Any) -> str:
    usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "z-1", "groups": ["staff", "x"]}
    said = {**usual, "exp": time.time() + 60, **claims}
    said = {name: value for name, value in said.items() if value is not None}
    return jwt.encode(said, key, algorithm, headers={"kid": kid})


async def test_a_signed_token_maps_to_the_identity_of_its_claims(signing: Any) -> None:
    key, keys = signing
    files = {**FILES, "toolrt.yaml": project_of("keys.json", ZOE), "keys.json": json.dumps(keys)}
    async with served(files, is_local=False) as server:
        reply = await server.get("/v1/approvals", token(key))
        other = await server.get("/v1/tools", token(key, groups=["x"]))

    assert (reply.status_code, other.status_code) == (200, 403)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "others"}, "meant for somebody else"),
        ({"aud": None}, "until when, or about whom"),
        ({"iss": "https://evil"}, "from somebody else"),
        ({"exp": 1}, "has expired"),
        ({"exp": None}, "until when"),
        ({"sub": None}, "about whom"),
        ({"nbf": 9_999_999_999}, "not valid yet"),
        ({"kid": "k2"}, "a key that the issuer does not have"),
    ],
)
async def test_x4_a_token_for_others_or_of_others_is_401(
    signing: Any, claims: dict[str, Any], why: str
) -> None:
    key, keys = signing
    files = {**FILES, "toolrt.yaml": project_of("keys.json", ZOE), "keys.json": json.dumps(keys)}
    async with served(files, is_local=False) as server:
        reply = await server.get("/v1/tools", token(key, **claims))

    assert reply.status_code == 401
    assert why in reply.json()["detail"]
    assert 'error="invalid_token"' in reply.headers["www-authenticate"]


@pytest.mark.parametrize("claims", [{"exp": 10**400}, {"nbf": 10**400}, {"iat": 10**400}])
async def test_a_token_of_odd_times_is_no_bug(signing: Any, claims: dict[str, Any]) -> None:
    key, jwks = signing
    async with served(
        {**FILES, "toolrt.yaml": project_of("keys.json"), "keys.json": json.dumps(jwks)}
    ) as server:
        reply = await server.call("t.add", token(key, **claims), a=1)

    assert reply.status_code == 401


async def test_tokens_without_or_with_another_signature_are_401(signing: Any) -> None:
    _, keys = signing
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = RSAAlgorithm.from_jwk(keys["keys"][0]).public_numbers().n.to_bytes(256, "big")
    forged = [
        token(other),
        token("x" * 32, algorithm="HS256"),
        token(public, algorithm="HS256"),
        token(None, algorithm="none"),
    ]
    files = {**FILES, "toolrt.yaml": project_of("keys.json", ZOE), "keys.json": json.dumps(keys)}
    async with served(files, is_local=False) as server:
        replies = [await server.get("/v1/tools", each) for each in forged]

    assert {each.status_code for each in replies} == {401}


async def test_keys_are_fetched_once_and_unknown_ones_do_not_make_us_ask_again(
    signing: Any,
) -> None:
    key, keys = signing
    async with loopback(json_reply(json.dumps(keys))) as issuer:
        files = {**FILES, "toolrt.yaml": project_of(f"{issuer.url}/jwks", ZOE)}
        async with served(files, is_local=False) as server:
            good = [await server.get("/v1/tools", token(key, n=n)) for n in range(3)]
            bad = [await server.get("/v1/tools", token(key, kid=f"k{n}")) for n in range(2, 6)]
        asked = len(issuer.heard)

    assert {each.status_code for each in good} == {200}
    assert {each.status_code for each in bad} == {401}
    assert asked == 1


async def test_who_goes_while_keys_are_fetched_takes_them_from_nobody(signing: Any) -> None:
    key, keys = signing
    asked, goes_on = asyncio.Event(), asyncio.Event()
    body = json.dumps(keys).encode()

    async def late(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await goes_on.wait()
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + body)
        writer.close()

    async with await asyncio.start_server(late, "127.0.0.1", 0) as issuer:
        port = issuer.sockets[0].getsockname()[1]
        files = {**FILES, "toolrt.yaml": project_of(f"http://127.0.0.1:{port}/jwks", ZOE)}
        async with served(files, is_local=False) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            proof = token(key, kid="nobody's").encode()
            writer.write(b"GET /v1/tools HTTP/1.1\r\nHost: localhost\r\n")
            writer.write(b"Authorization: Bearer %b\r\n\r\n" % proof)
            await asyncio.wait_for(asked.wait(), 5)
            writer.close()
            await asyncio.sleep(0.1)
            goes_on.set()
            reply = await server.get("/v1/tools", token(key))

    assert reply.status_code == 200


async def test_an_issuer_that_does_not_answer_is_503(signing: Any) -> None:
    key, _ = signing
    files = {**FILES, "toolrt.yaml": project_of("http://127.0.0.1:9/jwks", ZOE)}
    async with served(files, is_local=False) as server:
        reply = await server.get("/v1/tools", token(key))

    assert reply.status_code == 503


async def test_without_identities_a_token_may_call_and_no_more(
    signing: Any, tmp_path: Path
) -> None:
    key, keys = signing
    files = {**FILES, "toolrt.yaml": project_of("keys.json", ""), "keys.json": json.dumps(keys)}
    async with served(files, is_local=False) as server:
        call = await server.call("t.add", token(key), a=1)
        reload_ = await server.post("/v1/reload", {}, token(key))

    assert (call.status_code, reload_.status_code) == (200, 403)
