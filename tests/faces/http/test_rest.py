"""The routes of REST beside calls: tools, approvals, the journal, reloads, descriptions."""

import asyncio
import json
import re
from typing import Any

import pytest
from served import FILES, PEOPLE, START_KEY, Served, served
from until import until

pytestmark = pytest.mark.anyio
KNOWN = {**FILES, "toolrt.yaml": PEOPLE}


LONG = """\
tools:
  long:
    description: Long.
    shell: {script: "seq 1 3000"}
    effect: read
    result: {max_size: 2KB}
"""


async def paused(server: Served, key: str | None = None, **arguments: Any) -> str:
    """The id of a question."""
    asked = await server.call("t.pay", key, **{"to": "ann", "amount": 3, **arguments})
    id_: str = asked.json()["pause"]["approval_id"]
    return id_


async def recorded(server: Served, path: str, key: str, count: int) -> list[Any]:
    """Entries of the journal, once so many are written."""

    async def enough() -> list[Any]:
        entries: list[Any] = (await server.get(path, key)).json()["entries"]
        return entries if len(entries) >= count else []

    found: list[Any] = await until(enough)
    return found


async def test_tools_are_listed_filtered_and_shown() -> None:
    async with served() as server:
        whole = (await server.get("/v1/tools")).json()
        tagged = (await server.get("/v1/tools?tag=maths")).json()
        found = (await server.get("/v1/tools?q=pay+somebody")).json()
        one = (await server.get("/v1/tools/t.add")).json()
        wrong = await server.get("/v1/tools?tga=maths")
        near = await server.get("/v1/tools/t.ad")

    assert [each["name"] for each in whole["tools"]] == ["t.add", "t.fails", "t.nap", "t.pay"]
    assert [each["name"] for each in tagged["tools"]] == ["t.add"]
    assert [each["name"] for each in found["tools"]] == ["t.pay"]
    assert one["input_schema"]["properties"]["b"] == {"type": "integer", "minimum": 0, "default": 2}
    assert "file" not in one
    assert (wrong.status_code, near.status_code) == (400, 404)
    assert near.json()["hint"] == "did you mean `t.add`?"


async def test_who_may_not_approve_learns_of_nobody_who_may() -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key", to="zed")
        before = await server.get(f"/v1/approvals/{id_}", "bot-key")
        listed = await server.get("/v1/approvals", "bot-key")
        said = {"decision": "approve", "note": "as agreed"}
        whole = await server.post(f"/v1/approvals/{id_}/decision", said, "ann-key")
        after = await server.get(f"/v1/approvals/{id_}", "bot-key")
        await recorded(server, f"/v1/calls/{id_}", "ann-key", 3)
        calls = await server.get(f"/v1/calls/{id_}", "bot-key")
        waited = await server.get("/v1/calls", "bot-key")
        cancelled = await server.post(f"/v1/approvals/{id_}/cancel", {}, "bot-key")

    assert whole.json()["votes"][0]["actor"] == "ann"
    assert after.json()["state"] == "approved"
    assert [each["verdict"] for each in after.json()["votes"]] == ["approve"]
    for each in (before, listed, after, calls, waited, cancelled):
        assert each.status_code == 200
        assert not {"needs", "groups"} & set(re.findall(r'"(\w+)":', each.text))
        assert not re.search(r"\b(ann|finance|operator|as agreed)\b", each.text)


async def test_who_may_admin_sees_where_a_tool_stands() -> None:
    async with served() as server:
        one = (await server.get("/v1/tools/t.add", START_KEY)).json()

    assert (one["file"], one["line"]) == ("tools.d/t.yaml", 3)


async def test_an_approval_is_listed_shown_and_decided_by_what_was_seen() -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key")
        listed = (await server.get("/v1/approvals", "ann-key")).json()["approvals"]
        shown = (await server.get(f"/v1/approvals/{id_}", "ann-key")).json()
        path = f"/v1/approvals/{id_}/decision"
        stale = await server.post(path, {"decision": "approve", "seen": "0"}, "ann-key")
        yes = {"decision": "approve", "seen": shown["final_hash"], "note": "as agreed"}
        good = await server.post(path, yes, "ann-key")
        again = await server.post(path, yes, "ann-key")
        no = await server.post(path, {"decision": "deny"}, "adm-key")
        run = await server.post(f"/v1/approvals/{id_}/run", {}, "bot-key")

    assert [each["id"] for each in listed] == [id_]
    assert shown["will_run"]["argv"][1:] == ["paid %s %s", "ann", "3"]
    assert (stale.status_code, stale.json()["code"]) == (409, "approval-mismatch")
    assert (good.json()["state"], again.status_code) == ("approved", 200)
    assert good.json()["votes"][0]["channel"] == "http"
    assert (no.status_code, no.json()["code"]) == (409, "already-decided")
    assert no.json()["earlier"]["actor"] == "ann"
    assert run.json()["text"] == "paid ann 3"


async def test_an_approver_edits_and_gives_a_standing_yes() -> None:
    rules = "rules: [{id: big, decide: ask, tools: [t.add], approval: {scopes: [once, pattern]}}]\ndefault: allow"
    async with served({**KNOWN, "policies.d/p.yaml": rules}) as server:
        asked = (await server.call("t.add", "bot-key", a=1, b=1)).json()
        id_ = asked["pause"]["approval_id"]
        said = {"decision": "approve", "for": "1h", "scope": "pattern", "any": ["b"]}
        given = await server.post(f"/v1/approvals/{id_}/decision", said, "ann-key")
        again = await server.call("t.add", "bot-key", a=1, b=1)
        other = await server.call("t.add", "bot-key", a=1, b=7)

    assert given.status_code == 200, given.text
    assert (again.status_code, other.status_code, other.json()["data"]) == (200, 200, 8)


@pytest.mark.parametrize(
    "body",
    [{}, {"decision": "maybe"}, {"decision": "approve", "scope": "pattern"},
     {"decision": "approve", "result": 1, "error": "x"}, {"decision": "deny", "extra": 1},
     {"decision": "approve", "for": 5}],
)  # fmt: skip
async def test_a_decision_that_says_nothing_clear_is_400(body: Any) -> None:
    async with served() as server:
        id_ = await paused(server)
        reply = await server.post(f"/v1/approvals/{id_}/decision", body, START_KEY)

    assert (reply.status_code, reply.json()["code"]) == (400, "invalid-body")


async def test_those_who_call_see_their_own_questions_and_calls_alone() -> None:
    async with served(KNOWN) as server:
        mine, theirs = await paused(server, "bot-key"), await paused(server, "ann-key", amount=9)
        await server.call("t.add", "eve-key", a=1)
        listed = (await server.get("/v1/approvals", "bot-key")).json()["approvals"]
        hidden = await server.get(f"/v1/approvals/{theirs}", "bot-key")
        calls = await recorded(server, "/v1/calls", "bot-key", 2)
        everybody = await recorded(server, "/v1/calls?tool=t.*", "adm-key", 5)

    assert [each["id"] for each in listed] == [mine]
    assert hidden.status_code == 404
    assert {each["caller"]["principal"] for each in calls if each["kind"] == "call"} == {"bot"}
    assert {"bot", "ann", "eve"} <= {
        each["caller"]["principal"] for each in everybody if each["kind"] == "call"
    }


async def test_get_waits_for_a_decision() -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key")
        waiting = asyncio.create_task(server.get(f"/v1/approvals/{id_}?wait=10s", "bot-key"))
        await until(lambda: [t for t in asyncio.all_tasks() if "run_asgi" in repr(t)])
        await server.post(f"/v1/approvals/{id_}/decision", {"decision": "deny"}, "ann-key")
        reply = await waiting

    assert reply.json()["state"] == "denied"


async def test_a_call_is_called_off() -> None:
    async with served(KNOWN) as server:
        id_ = await paused(server, "bot-key")
        reply = await server.post(f"/v1/approvals/{id_}/cancel", {}, "bot-key")

    assert (reply.status_code, reply.json()["state"]) == (200, "cancelled")


async def test_a_call_is_found_in_the_journal() -> None:
    async with served() as server:
        made = (await server.call("t.add", a=1)).json()
        [entry] = await recorded(server, f"/v1/calls?id={made['call_id']}", START_KEY, 1)
        shown = await server.get(f"/v1/calls/{made['call_id']}", START_KEY)
        none = await server.get("/v1/calls/nothing", START_KEY)
        wrong = await server.get("/v1/calls?since=yesterday", START_KEY)
        many = await server.get("/v1/calls?limit=0", START_KEY)

    assert (entry["tool"], entry["status"], entry["generation"]) == ("t.add", "success", 1)
    assert shown.json()["entries"] == [entry]
    assert [each.status_code for each in (none, wrong, many)] == [404, 400, 400]


async def test_what_was_too_long_is_read_by_ranges() -> None:
    async with served({"tools.d/l.yaml": LONG}) as server:
        made = (await server.call("long")).json()
        path = f"/v1/calls/{made['context']['spilled']}/output"
        guessed = await server.get(f"/v1/calls/{made['call_id']}/output")
        part = await server.client.get(path, headers={"Range": "bytes=2-5"})
        rest = (await server.get(f"{path}?offset=2&length=4")).json()
        beyond = await server.client.get(path, headers={"Range": "bytes=999999-"})
        none = await server.get("/v1/calls/nothing/output")

    assert (part.status_code, part.content) == (206, b"2\n3\n")
    assert part.headers["content-range"].startswith("bytes 2-5/")
    assert (rest["text"], rest["offset"], rest["next_offset"]) == ("2\n3\n", 2, 6)
    assert (beyond.status_code, none.status_code) == (416, 404)
    assert (guessed.status_code, guessed.json()["code"]) == (404, "not-found")


async def test_who_is_known_names_an_output_by_its_call() -> None:
    async with served({"tools.d/l.yaml": LONG}) as server:
        made = (await server.call("long", START_KEY)).json()
        read = await server.get(f"/v1/calls/{made['call_id']}/output", START_KEY)

    assert read.json()["text"].startswith("1\n2\n")


async def test_events_are_told_as_they_are_recorded_until_the_server_ends() -> None:
    async with served() as server:
        told: list[tuple[str, Any]] = []
        headers = {"Authorization": f"Bearer {START_KEY}"}
        async with server.client.stream("GET", "/v1/events", headers=headers) as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == ": listening"
            await server.call("t.add", a=1)
            await server.call("t.fails")
            await paused(server)
            while len(told) < 3:
                line = await anext(lines)
                if line.startswith("event: "):
                    data = json.loads((await anext(lines)).removeprefix("data: "))
                    told.append((line.removeprefix("event: "), data["kind"]))
            server.site.draining.set()
            await asyncio.wait_for(anext(lines, None), 5)
            async for _ in lines:
                pass

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert {"completed", "failed"} <= {name for name, _ in told}


@pytest.mark.parametrize(
    ("kind", "names"),
    [("paused", ["paused"]), ("asked", ["asked"]), ("decided", ["decided"]),
     ("failed", ["failed"]), ("approval", ["asked", "decided"])],
)  # fmt: skip
async def test_events_of_one_kind_are_those_and_no_others(kind, names) -> None:
    async with served() as server:
        told: list[str] = []
        headers = {"Authorization": f"Bearer {START_KEY}"}
        path = f"/v1/events?kind={kind}"
        async with server.client.stream("GET", path, headers=headers) as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == ": listening"
            await server.call("t.add", a=1)
            await server.call("t.fails")
            body = {"decision": "deny"}
            await server.post(f"/v1/approvals/{await paused(server)}/decision", body, START_KEY)
            while len(told) < len(names):
                line = await asyncio.wait_for(anext(lines), 10)
                told += [line.removeprefix("event: ")] if line.startswith("event: ") else []

    assert told == names


async def test_events_of_no_kind_are_refused() -> None:
    async with served() as server:
        reply = await server.get("/v1/events?kind=nope", START_KEY)

    assert (reply.status_code, reply.json()["code"]) == (400, "bad-request")
    assert "paused" in reply.json()["detail"]


async def test_a_reload_tells_what_changed_and_refuses_what_protects_less() -> None:
    rules = "rules: [{id: never, decide: deny, tools: [t.add], when: args.a == 1}]\ndefault: allow"
    async with served({**FILES, "policies.d/p.yaml": rules}) as server:
        path = server.runtime.project / "policies.d" / "p.yaml"
        path.write_text("default: allow")
        lost = await server.post("/v1/reload", {}, START_KEY)
        meant = await server.post("/v1/reload", {"accept_loss": True}, START_KEY)
        path.write_text("default: [")
        broken = await server.post("/v1/reload", {}, START_KEY)
        call = await server.call("t.add", a=1)

    assert (lost.status_code, bool(lost.json()["losses"])) == (409, True)
    assert (meant.status_code, meant.json()["generation"]) == (200, 2)
    assert (broken.status_code, broken.json()["accepted"]) == (409, False)
    assert broken.json()["diagnostics"][0]["file"] == "policies.d/p.yaml"
    assert call.status_code == 200


async def test_who_may_call_from_where_follows_a_reload_and_where_it_listens_does_not() -> None:
    async with served(KNOWN) as server:
        path = server.runtime.project / "toolrt.yaml"
        path.write_text(PEOPLE + "serve: {port: 9999, hosts: [a.internal], auth: {required: true}}")
        outcome = (await server.post("/v1/reload", {}, "adm-key")).json()
        nobody = await server.call("t.add", a=1)
        head = {"Host": "a.internal", "Authorization": "Bearer bot-key"}
        named = await server.client.get("/v1/tools", headers=head)

    assert outcome["needs_restart"] == ["serve.port"]
    assert (nobody.status_code, named.status_code) == (401, 200)


async def test_a_rule_that_denies_is_in_force_with_the_next_request() -> None:
    async with served({**FILES, "policies.d/p.yaml": "default: allow"}) as server:
        before = await server.call("t.add", a=1)
        rules = (
            "rules: [{id: never, decide: deny, tools: [t.add], when: args.a == 1}]\ndefault: allow"
        )
        (server.runtime.project / "policies.d" / "p.yaml").write_text(rules)
        await server.post("/v1/reload", {}, START_KEY)
        after = await server.call("t.add", a=1)

    assert (before.status_code, after.status_code) == (200, 403)


async def test_the_description_has_an_operation_for_each_tool_of_the_caller() -> None:
    async with served() as server:
        made = (await server.get("/openapi.json")).json()

    operation = made["paths"]["/v1/tools/t.add/call"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert operation["operationId"] == "call.t.add"
    assert body["properties"]["arguments"] == {"$ref": "#/components/schemas/arguments.t.add"}
    assert made["components"]["schemas"]["arguments.t.add"]["required"] == ["a"]
    assert {"200", "202", "400", "403", "404", "429", "503"} <= operation["responses"].keys()


async def test_metrics_and_editor_schemas_are_served() -> None:
    async with served() as server:
        await server.call("t.add", a=1)
        metrics = await server.get("/metrics")
        schema = await server.get("/schema/policies.json")
        none = await server.get("/schema/others.json")

    assert metrics.headers["content-type"].startswith("text/plain; version=1.0.0")
    assert "toolrt_calls_total{" in metrics.text
    assert schema.json()["title"] == "toolrt policies file"
    assert none.status_code == 404


async def test_a_server_that_ends_is_not_ready() -> None:
    async with served() as server:
        waiting = asyncio.create_task(server.call("t.nap", seconds=0.6))
        await server.get("/readyz")
        server.site.draining.set()
        reply = await waiting

    assert reply.json()["data"] == "rested"


async def test_no_call_is_lost_while_a_project_is_reloaded() -> None:
    async with served() as server:
        path = server.runtime.project / "tools.d" / "more.yaml"
        generations: set[int] = set()

        async def call() -> None:
            for _ in range(40):
                reply = await server.call("t.add", a=1)
                assert reply.status_code == 200
                generations.add(reply.json()["context"]["generation"])

        calling = asyncio.gather(*(call() for _ in range(4)))
        for number in range(3):
            path.write_text(
                f"tools: {{more: {{description: More {number}., command: [printf, hi]}}}}"
            )
            assert (await server.post("/v1/reload", {}, START_KEY)).status_code == 200
        await calling

    assert generations <= {1, 2, 3, 4}
