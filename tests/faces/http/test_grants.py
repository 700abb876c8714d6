"""`/v1/grants` and `/v1/instructions`."""

from typing import Any

import pytest
from served import FILES, PEOPLE, Served, served

pytestmark = pytest.mark.anyio
POLICY = """\
default: allow
approval: {scopes: [once, session, pattern]}
"""
KNOWN = {**FILES, "toolrt.yaml": PEOPLE, "policies.d/p.yaml": POLICY}
MAIL = """\
namespace: mail
defaults: {instructions: Never write to strangers., effect: read}
tools:
  find: {description: Find., command: [/bin/true]}
  send: {description: Send., command: [/bin/true], instructions: "Show it first."}
  sort: {description: Sort., command: [/bin/true]}
toolsets: {mail: {tools: ["mail.*"], hide: [mail.sort], description: All about mail.}}
"""


async def granted(server: Served) -> dict[str, Any]:
    """A standing yes for whatever bot pays to ann."""
    asked = (await server.call("t.pay", "bot-key", to="ann", amount=3)).json()
    said = {"decision": "approve", "for": "1h", "uses": 2, "any": ["amount"]}
    path = f"/v1/approvals/{asked['pause']['approval_id']}/decision"
    decided = await server.post(path, said, "ann-key")
    assert decided.status_code == 200, decided.text
    [grant] = (await server.get("/v1/grants", "ann-key")).json()["grants"]
    made: dict[str, Any] = grant
    return made


async def test_a11_a_standing_yes_is_listed_lets_calls_through_and_is_ended() -> None:
    async with served(KNOWN) as server:
        grant = await granted(server)
        path = f"/v1/grants/{grant['id']}/revoke"
        through = (await server.call("t.pay", "bot-key", to="ann", amount=4)).json()
        ended = (await server.post(path, {}, "ann-key")).json()
        asks = (await server.call("t.pay", "bot-key", to="ann", amount=5)).json()
        live = (await server.get("/v1/grants", "ann-key")).json()["grants"]
        whole = (await server.get("/v1/grants?state=all", "ann-key")).json()["grants"]

    assert (grant["state"], grant["granted_by"]) == ("live", "ann")
    assert grant["pattern"] == {"to": '"ann"', "amount": None}
    assert (through["status"], asks["status"]) == ("success", "paused")
    assert (ended["state"], ended["revoked_by"], ended["uses"]) == ("revoked", "ann", 1)
    assert live == []
    assert [each["id"] for each in whole] == [grant["id"]]


async def test_what_stands_is_listed_however_many_that_are_over_came_later() -> None:
    async with served(KNOWN) as server:
        grant = await granted(server)
        for each in ("bob", "eve", "tom"):
            asked = (await server.call("t.pay", "bot-key", to=each, amount=3)).json()
            path = f"/v1/approvals/{asked['pause']['approval_id']}/decision"
            await server.post(path, {"decision": "approve", "for": "1h"}, "ann-key")
            later = (await server.get("/v1/grants?limit=1", "ann-key")).json()["grants"][0]["id"]
            await server.post(f"/v1/grants/{later}/revoke", {}, "ann-key")
        live = (await server.get("/v1/grants?limit=2", "ann-key")).json()["grants"]
        whole = (await server.get("/v1/grants?limit=2&state=all", "ann-key")).json()["grants"]

    assert [each["id"] for each in live] == [grant["id"]]
    assert [each["state"] for each in whole] == ["revoked", "revoked"]


async def test_grants_are_for_whose_calls_they_are_and_ended_by_who_may_approve() -> None:
    async with served(KNOWN) as server:
        grant = await granted(server)
        path = f"/v1/grants/{grant['id']}/revoke"
        own = (await server.get("/v1/grants", "bot-key")).json()["grants"]
        elsewhere = (await server.get("/v1/grants", "eve-key")).json()["grants"]
        refused = [await server.post(path, {}, key) for key in (None, "bot-key", "eve-key")]
        nobody = await server.get("/v1/grants")
        still = (await server.get("/v1/grants", "adm-key")).json()["grants"]

    assert [each["id"] for each in own] == [grant["id"]]
    assert not {"granted_by", "revoked_by"} & own[0].keys()
    assert elsewhere == []
    assert [each.status_code for each in refused] == [401, 403, 404]
    assert nobody.status_code == 401
    assert [each["state"] for each in still] == ["live"]


async def test_u25_instructions_are_told_once_for_all_tools_of_a_caller() -> None:
    async with served({**KNOWN, "tools.d/mail.yaml": MAIL}) as server:
        whole = (await server.get("/v1/instructions")).json()
        some = (await server.get("/v1/instructions?toolset=mail")).json()
        none = await server.get("/v1/instructions?toolset=nope")
        odd = await server.get("/v1/instructions?x=1")

    assert whole["instructions"] == [
        {"tools": ["mail.find", "mail.sort"], "text": "Never write to strangers."},
        {"tools": ["mail.send"], "text": "Show it first."},
    ]
    assert some["text"].splitlines() == [
        "All about mail.", "mail.find: Never write to strangers.", "mail.send: Show it first.",
    ]  # fmt: skip
    assert (none.status_code, odd.status_code) == (404, 400)


async def test_both_are_described() -> None:
    async with served(KNOWN) as server:
        paths = (await server.get("/openapi.json")).json()["paths"]

    assert {"/v1/grants", "/v1/grants/{id}/revoke", "/v1/instructions"} <= paths.keys()
