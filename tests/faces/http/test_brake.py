"""A brake on guessing keys: exact, of each address, and no lock for keys that are right."""

import asyncio

import pytest
from faces.http.test_pages import logged_in
from served import FILES, PEOPLE, served

from toolrt.faces.http import brake
from toolrt.faces.http.brake import Brake
from toolrt.faces.http.problems import ProblemError

pytestmark = pytest.mark.anyio
KNOWN = {**FILES, "toolrt.yaml": PEOPLE}


class Clock:
    """Seconds that pass when they are told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def wrong(of: Brake, address: str, times: int = 1) -> list[int]:
    """How long each of these wrong keys was told to wait; 0 for one that was looked at."""
    told = []
    for _ in range(times):
        try:
            of.check(address)
            told.append(0)
        except ProblemError as problem:
            told.append(int(dict(problem.headers)[b"retry-after"]))
    return told


def test_so_many_are_looked_at_then_one_every_few_seconds_exactly():
    clock = Clock()
    of = Brake(clock)

    assert wrong(of, "1.2.3.4", 12) == [0] * 10 + [6, 6]
    clock.now += 5.5
    assert wrong(of, "1.2.3.4") == [1]
    clock.now += 0.5
    assert wrong(of, "1.2.3.4", 2) == [0, 6]
    clock.now += 3600
    assert wrong(of, "1.2.3.4", 11) == [0] * 10 + [6]


def test_an_address_is_not_braked_for_another_until_all_are():
    of = Brake(Clock())

    assert wrong(of, "1.2.3.4", 11)[-1] == 6
    assert wrong(of, "5.6.7.8") == [0]
    many = [wrong(of, f"10.0.0.{number}")[0] for number in range(250)]
    assert many.count(0) == 200 - 11
    assert many[-1] == 1


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1"),
        ("::ffff:1.2.3.4", "1.2.3.4", "::ffff:1.2.3.5"),
        ("fe80::1%eth0", "fe80::2%eth1", "fec0::1"),
        ("", "", "here"),
    ],
)
def test_who_has_many_addresses_has_one_brake(one, same, other):
    of = Brake(Clock())
    wrong(of, one, 10)

    assert of.wait_s(same) == 6
    assert of.wait_s(other) == 0


def test_addresses_are_remembered_within_bounds(monkeypatch):
    monkeypatch.setattr(brake, "_MOST_ADDRESSES", 8)
    of = Brake(Clock())
    for number in range(100):
        wrong(of, f"10.0.0.{number}")

    assert len(of._by_address) == 8


async def test_a_right_key_is_let_in_where_guesses_come_from_the_same_address(monkeypatch):
    monkeypatch.setattr(brake, "HELD_S", 0.0)
    async with served(KNOWN) as server:
        early = await server.call("t.add", "bot-key", a=1)
        guesses = [await server.call("t.add", f"guess-{each}", a=1) for each in range(12)]
        on_mcp = await server.client.post("/mcp", headers={"authorization": "Bearer nobody"})
        known = await server.call("t.add", "bot-key", a=1)
        unseen = await server.call("t.add", "ann-key", a=1)
        page = (await server.client.get("/metrics")).text

    assert [each.status_code for each in guesses] == [401] * 10 + [429] * 2
    assert 1 <= int(guesses[-1].headers["retry-after"]) <= 6
    assert guesses[-1].json()["code"] == "rate-limited"
    assert on_mcp.status_code == 429
    assert [early.status_code, known.status_code, unseen.status_code] == [200] * 3
    assert 'toolrt_wrong_keys_total{answer="refused"} 10.0' in page
    assert 'toolrt_wrong_keys_total{answer="braked"} 3.0' in page


async def test_keys_of_a_braked_address_are_held_right_or_wrong_but_not_those_known(monkeypatch):
    held: list[str] = []
    hold = Brake.hold

    async def noted(self: Brake, address: str) -> None:
        held.append(address)
        await hold(self, address)

    monkeypatch.setattr(brake, "HELD_S", 0.0)
    monkeypatch.setattr(Brake, "hold", noted)
    async with served(KNOWN) as server:
        await server.call("t.add", "bot-key", a=1)
        for each in range(11):
            await server.call("t.add", f"guess-{each}", a=1)
        before = len(held)
        await server.call("t.add", "bot-key", a=1)
        known = len(held)
        await server.call("t.add", "ann-key", a=1)

    assert known == before
    assert held[before:] == ["127.0.0.1"]


async def test_one_more_than_may_be_held_waits_for_a_place_and_is_looked_at_then(monkeypatch):
    monkeypatch.setattr(brake, "MOST_HELD", 1)
    monkeypatch.setattr(brake, "HELD_S", 3600.0)
    of = Brake(Clock())
    wrong(of, "1.2.3.4", 10)
    first = asyncio.create_task(of.hold("1.2.3.4"))
    await asyncio.sleep(0)
    monkeypatch.setattr(brake, "HELD_S", 0.0)
    second = asyncio.create_task(of.hold("1.2.3.4"))
    await of.hold("5.6.7.8")
    await asyncio.sleep(0)
    waits = not second.done()
    first.cancel()
    await asyncio.wait_for(second, 5)

    assert waits


async def test_a_right_key_is_let_in_however_many_guess_from_its_address(monkeypatch):
    monkeypatch.setattr(brake, "MOST_HELD", 2)
    monkeypatch.setattr(brake, "HELD_S", 0.02)
    async with served(KNOWN) as server:
        ask = server.call
        guesses = [ask("t.add", f"guess-{each}", a=1) for each in range(40)]
        people = [ask("t.add", key, a=1) for key in ("bot-key", "ann-key")]
        said = [each.status_code for each in await asyncio.gather(*guesses, *people)]

    assert said[-2:] == [200, 200]
    assert set(said[:-2]) == {401, 429}


@pytest.mark.parametrize("path", [b"/v1/tools/t.add/call", b"/mcp", b"/v1/tools/t.add"])
async def test_who_goes_while_their_key_is_held_leaves_the_place_to_others(monkeypatch, path):
    monkeypatch.setattr(brake, "MOST_HELD", 1)
    async with served(KNOWN) as server:
        for each in range(10):
            await server.call("t.add", f"guess-{each}", a=1)
        monkeypatch.setattr(brake, "HELD_S", 3600.0)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST %b HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n" % path)
        writer.write(b"Content-Length: 0\r\n\r\n")
        await asyncio.sleep(0.2)
        monkeypatch.setattr(brake, "HELD_S", 0.0)
        right = asyncio.create_task(server.call("t.add", "bot-key", a=1))
        await asyncio.sleep(0.1)
        waits = not right.done()
        writer.close()
        answer = await asyncio.wait_for(right, 5)

    assert waits
    assert answer.status_code == 200


async def test_the_page_for_logging_in_has_the_same_brake(monkeypatch):
    monkeypatch.setattr(brake, "HELD_S", 0.0)
    async with served(KNOWN) as server:
        wrong_ones = [await logged_in(server, f"guess-{each}") for each in range(11)]
        right = await logged_in(server, "ann-key")

    assert [each.status_code for each in wrong_ones] == [401] * 10 + [429]
    assert "retry-after" in wrong_ones[-1].headers
    assert "Too many wrong keys" in wrong_ones[-1].text
    assert right.status_code == 303
