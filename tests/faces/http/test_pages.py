"""The pages on which people log in and decide: for a browser without scripts."""

import html
import re
from typing import Any

import httpx
import pytest
from served import FILES, PEOPLE, START_KEY, Served, served

pytestmark = pytest.mark.anyio
KNOWN = {**FILES, "toolrt.yaml": PEOPLE}


def field(page: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return html.unescape(found[1])


async def logged_in(
    server: Served, key: str = START_KEY, next_: str = "/approvals"
) -> httpx.Response:
    page = await server.client.get("/login", params={"next": next_})
    form = {"csrf": field(page.text, "csrf"), "next": field(page.text, "next"), "key": key}
    return await server.client.post("/login", data=form)


async def paused(server: Served, key: str | None = None, **arguments: Any) -> str:
    asked = await server.call("t.pay", key, **{"to": "ann", "amount": 3, **arguments})
    id_: str = asked.json()["pause"]["approval_id"]
    return id_


async def decide(server: Served, id_: str, **said: str) -> httpx.Response:
    page = (await server.client.get(f"/approvals/{id_}")).text
    usual = {"csrf": field(page, "csrf"), "seen": field(page, "seen"), "decision": "approve"}
    return await server.client.post(f"/approvals/{id_}", data={**usual, **said})


async def test_a_person_logs_in_looks_and_approves_what_was_shown() -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key")
        closed = await server.client.get(f"/approvals/{id_}")
        inside = await logged_in(server, "ann-key", f"/approvals/{id_}")
        listed = await server.client.get("/approvals")
        shown = await server.client.get(f"/approvals/{id_}")
        said = await decide(server, id_, note="as agreed")
        call = await server.call("t.pay", "bot-key", to="ann", amount=3)

    assert closed.status_code == 401
    assert 'name="key"' in closed.text
    assert (inside.status_code, inside.headers["location"]) == (303, f"/approvals/{id_}")
    assert f'href="/approvals/{id_}"' in listed.text
    assert "paid %s %s" in shown.text
    assert "Your yes is kept." in said.text
    assert call.json()["text"] == "paid ann 3"


async def test_a_page_loads_nothing_runs_nothing_and_is_framed_by_nobody() -> None:
    async with served() as server:
        page = await server.client.get("/login")

    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert "script" not in page.text
    assert page.headers["cache-control"] == "no-store"


async def test_cookies_are_for_this_server_alone() -> None:
    async with served() as server:
        inside = await logged_in(server)

    cookie = inside.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert START_KEY not in cookie


@pytest.mark.parametrize("key", ["", "nobody", "x" * 5000])
async def test_a_wrong_key_stays_outside(key: str) -> None:
    async with served() as server:
        reply = await logged_in(server, key)
        page = await server.client.get("/approvals")

    assert reply.status_code == 401
    assert page.status_code == 401


async def test_forms_of_others_are_refused() -> None:
    async with served() as server:
        id_ = await paused(server)
        await logged_in(server)
        page = (await server.client.get(f"/approvals/{id_}")).text
        form = {"decision": "approve", "seen": field(page, "seen")}
        none = await server.client.post(f"/approvals/{id_}", data=form)
        wrong = await server.client.post(f"/approvals/{id_}", data={**form, "csrf": "x"})
        origin = {"Origin": "https://evil"}
        good = {**form, "csrf": field(page, "csrf")}
        other = await server.client.post(f"/approvals/{id_}", data=good, headers=origin)
        as_json = await server.client.post(f"/approvals/{id_}", json=good)
        login = await server.client.post("/login", data={"key": START_KEY, "csrf": "x"})
        record = await server.runtime.approvals.get(id_)

    assert [each.status_code for each in (none, wrong, other, as_json)] == [403, 403, 403, 415]
    assert login.status_code == 403
    assert record.state == "pending"


async def test_a_cookie_opens_no_door_of_rest_and_a_forged_one_none_at_all() -> None:
    async with served() as server:
        await logged_in(server)
        rest = await server.client.get("/v1/approvals")
        name, value = next(iter(server.client.cookies.items()))
        server.client.cookies.clear()
        forged = [f"{name}={value[:-2]}xx", f"{name}=x.y", f"{name}=", f"{name}=W10=."]
        pages = [await server.client.get("/approvals", headers={"Cookie": each}) for each in forged]

    assert rest.status_code == 401
    assert {each.status_code for each in pages} == {401}


async def test_a_value_that_nobody_was_asked_for_is_refused() -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key")
        await logged_in(server, "ann-key")
        said = await decide(server, id_, **{"field.to": "eve"})
        record = (await server.get(f"/v1/approvals/{id_}", "ann-key")).json()

    assert said.status_code == 400
    assert (record["state"], record["arguments"]["to"]) == ("pending", "ann")


async def test_who_logs_out_is_outside() -> None:
    async with served() as server:
        await logged_in(server)
        page = (await server.client.get("/approvals")).text
        kept = "; ".join(f"{name}={value}" for name, value in server.client.cookies.items())
        out = await server.client.post("/logout", data={"csrf": field(page, "csrf")})
        after = await server.client.get("/approvals")
        server.client.cookies.clear()
        again = await server.client.get("/approvals", headers={"Cookie": kept})
        await logged_in(server)
        anew = await server.client.get("/approvals")

    assert "toolrt=" in kept
    assert (out.status_code, after.status_code, again.status_code) == (303, 401, 401)
    assert anew.status_code == 200


async def test_an_identity_that_is_taken_away_is_outside_at_once() -> None:
    async with served(KNOWN) as server:
        await logged_in(server, "ann-key")
        before = await server.client.get("/approvals")
        path = server.runtime.project / "toolrt.yaml"
        lines = [line for line in PEOPLE.splitlines(keepends=True) if "ann" not in line]
        path.write_text("".join(lines))
        await server.runtime.reload(accept_loss=True)
        after = await server.client.get("/approvals")

    assert (before.status_code, after.status_code) == (200, 401)


async def test_a_key_that_may_only_call_does_not_become_its_namesake_who_approves() -> None:
    people = PEOPLE + '- {token_hash: "sha256:' + "0" * 64 + '", principal: bot, may: [approve]}\n'
    async with served({**FILES, "toolrt.yaml": people}) as server:
        id_ = await paused(server, "bot-key")
        await logged_in(server, "bot-key")
        page = await server.client.get(f"/approvals/{id_}")
        listed = await server.client.get("/approvals")
        form = {"csrf": "x", "seen": "x", "decision": "approve"}
        said = await server.client.post(f"/approvals/{id_}", data=form)

    assert [each.status_code for each in (page, listed, said)] == [403, 403, 403]
    assert "operator" not in page.text
    assert "may: [approve]" in page.text


@pytest.mark.parametrize(
    "next_", ["https://evil.com", "//evil.com", "/\\evil.com", "javascript:alert(1)", "/v1/tools",
              "/approvals\r\nX: y"])  # fmt: skip
async def test_a_login_leads_nowhere_else(next_: str) -> None:
    async with served() as server:
        inside = await logged_in(server, next_=next_)

    assert inside.headers["location"] == "/approvals"


async def test_text_of_models_is_text() -> None:
    async with served() as server:
        id_ = await paused(server, to="<script>alert(1)</script>\u202e\x1b[2J")
        await logged_in(server)
        page = (await server.client.get(f"/approvals/{id_}")).text

    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    assert "\x1b" not in page


async def test_an_edit_on_the_page_is_what_runs() -> None:
    async with served() as server:
        id_ = await paused(server)
        await logged_in(server)
        wrong = await decide(server, id_, edits="[")
        said = await decide(server, id_, edits='{"amount": 2}')
        call = await server.call("t.pay", to="ann", amount=3)

    assert wrong.status_code == 400
    assert "cannot be read" in wrong.text
    assert "Your yes is kept." in said.text
    assert call.json()["text"] == "paid ann 2"


async def test_a_denial_is_kept() -> None:
    async with served() as server:
        id_ = await paused(server)
        await logged_in(server)
        said = await decide(server, id_, decision="deny", note="no such person")
        record = await server.runtime.approvals.get(id_)
        call = await server.call("t.pay", to="ann", amount=3)

    assert "Your no is kept." in said.text
    assert record.state == "denied"
    assert (call.status_code, call.json()["code"]) == (403, "recently-denied")


async def test_fields_that_are_asked_for_are_filled_in_on_the_page() -> None:
    tools = """
        tools:
          book:
            description: Book.
            parameters: {day: string, seats: integer}
            command: [printf, "%s %s", "{{ day }}", "{{ seats }}"]
            effect: write
            hitl: {mode: input, fields: [seats]}
        """
    async with served({"tools.d/b.yaml": tools}) as server:
        asked = (await server.call("book", day="monday")).json()
        id_ = asked["pause"]["approval_id"]
        await logged_in(server)
        page = (await server.client.get(f"/approvals/{id_}")).text
        said = await decide(server, id_, **{"field.seats": "4"})
        call = await server.call("book", day="monday")

    assert 'name="field.seats"' in page
    assert "Your yes is kept." in said.text, said.text
    assert call.json()["text"] == "monday 4"


async def test_what_is_too_long_is_approved_only_when_all_of_it_was_shown() -> None:
    async with served() as server:
        id_ = await paused(server, to="x" * 70_000)
        await logged_in(server)
        cut = (await server.client.get(f"/approvals/{id_}")).text
        whole = (await server.client.get(f"/approvals/{id_}?full=1")).text

    assert "are not shown" in cut
    assert 'value="approve"' not in cut
    assert 'value="approve"' in whole


async def test_an_approval_that_is_not_there_is_a_page() -> None:
    async with served() as server:
        await logged_in(server)
        page = await server.client.get("/approvals/nothing")

    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_a_form_that_says_too_much_is_400_and_decides_nothing(decision: str) -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key")
        await logged_in(server, "ann-key")
        said = await decide(server, id_, decision=decision, note="x" * 10_001)
        after = (await server.get(f"/v1/approvals/{id_}", "ann-key")).json()

    assert said.status_code == 400
    assert "`note` of the form" in said.text
    assert after["state"] == "pending"


@pytest.mark.parametrize(
    ("said", "words"),
    [({"edits": '{"amount": 4'}, "cannot be read"), ({"edits": '{"nope": 1}'}, "nope"),
     ({"seen": "x"}, "")],
)  # fmt: skip
async def test_what_is_wrong_with_a_form_is_told_in_sentences_for_people(said, words) -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key")
        await logged_in(server, "ann-key", f"/approvals/{id_}")
        reply = await decide(server, id_, **said)

    text = html.unescape(re.sub(r"<[^>]+>", " ", reply.text))
    assert reply.status_code in {400, 409}
    assert words in text
    assert not re.search(r"\.\.(?!\.)|max tokens", text)
