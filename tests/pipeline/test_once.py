"""Idempotency keys: one effect between all calls with the same one (E4, E10, E11)."""

import asyncio
import sqlite3
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.loopback import RESET, Heard, json_reply, loopback
from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError, ToolError
from toolrt.runtime import load
from toolrt.runtime import open as open_project
from toolrt.stores.idempotency import LEASE_S, KeyedCall
from toolrt.testing import ManualClock, open_files, stubbed, write_files

pytestmark = pytest.mark.anyio

PAY = """
tools:
  pay:
    description: Pays.
    parameters: {invoice: string, amount: {type: number, default: 1}}
    http: {url: "http://127.0.0.1:9/pay", method: POST, json: {amount: "{{ amount }}"}}
    retry: {attempts: 3, initial: 1ms}
    idempotency_key: "pay-{{ invoice }}"
"""
VERIFIED = f"""{PAY}
    verify: {{tool: status, args: {{invoice: "{{{{ invoice }}}}"}}, applied_when: result.paid}}
  status:
    description: Says whether.
    parameters: {{invoice: string}}
    effect: read
    http: http://127.0.0.1:9/{{{{ invoice }}}}
"""
LOST = BindingError("reset", sent="maybe", retryable=True, target_fault=True)


class Counted:
    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.calls = 0

    def __call__(self, _arguments: dict[str, Any]) -> Any:
        self.calls += 1
        step = self.steps.pop(0) if self.steps else None
        if isinstance(step, Exception):
            raise step
        return {"receipt": self.calls}


async def results(source: Counted, *calls: Any, text: str = PAY, **more: Any) -> list[Any]:
    async with open_files({"tools.d/t.yaml": text}, clock=ManualClock(), random=Random(1)) as rt:
        with stubbed(rt, {"pay": source, **more}):
            return [await rt.call("pay", *(each if isinstance(each, tuple) else (each,)))
                    for each in calls]  # fmt: skip


async def test_e11_a_finished_call_is_answered_with_its_result():
    source = Counted()

    first, again = await results(source, {"invoice": "A"}, {"invoice": "A"})

    assert (first.data, again.data, source.calls) == ({"receipt": 1}, {"receipt": 1}, 1)
    assert again.context["idempotency"] == "replayed"
    assert "already" in again.context["notes"][0]


async def test_e11_the_same_key_with_other_arguments_is_a_conflict():
    source = Counted()

    _, other = await results(source, {"invoice": "A"}, {"invoice": "A", "amount": 2})

    assert (other.error.code, source.calls) == ("conflict", 1)


async def test_e11_keys_count_for_one_tenant():
    source = Counted()

    await results(
        source,
        ({"invoice": "A"}, Caller("anne", tenant="one")),
        ({"invoice": "A"}, Caller("anne", tenant="two")),
    )

    assert source.calls == 2


async def test_e11_a_call_that_had_no_effect_gives_its_key_back():
    source = Counted(ToolError("no funds"))

    failed, again = await results(source, {"invoice": "A"}, {"invoice": "A"})

    assert (failed.status, again.data) == ("error", {"receipt": 2})


async def test_e11_after_a_day_the_key_is_free():
    source = Counted()
    clock = ManualClock()
    async with open_files({"tools.d/t.yaml": PAY}, clock=clock) as rt:
        with stubbed(rt, {"pay": source}):
            await rt.call("pay", {"invoice": "A"})
            clock.advance(24 * 3600 + 1)
            again = await rt.call("pay", {"invoice": "A"})

    assert again.data == {"receipt": 2}


async def test_e4_a_written_key_makes_a_retry_safe():
    source = Counted(LOST)

    result, *_ = await results(source, {"invoice": "A"})

    assert (result.data, source.calls) == ({"receipt": 2}, 2)


async def test_e11_an_open_end_is_made_again_with_the_same_key_but_not_with_other_arguments():
    source = Counted(LOST, LOST, LOST)

    lost, other, again = await results(
        source, {"invoice": "A"}, {"invoice": "A", "amount": 2}, {"invoice": "A"}
    )

    assert lost.error.details["outcome"] == "unknown"
    assert lost.error.retryable
    assert other.error.code == "conflict"
    assert again.data == {"receipt": 4}


async def test_a9_an_open_end_is_asked_about_where_a_verify_tool_is_there():
    source, said = Counted(LOST), [{"paid": "?"}, {"paid": True}]

    lost, again = await results(
        source, {"invoice": "A"}, {"invoice": "A"}, text=VERIFIED, status=lambda _: said.pop(0)
    )

    assert lost.error.code == "unknown-outcome"
    assert (again.status, again.data, source.calls) == ("success", {"paid": True}, 1)


async def test_e10_every_attempt_sends_the_same_key_and_the_same_bytes():
    def serve(_heard: Heard) -> Any:
        return RESET if len(server.heard) < 3 else json_reply("{}")

    async with loopback(serve) as server:
        text = PAY.replace("http://127.0.0.1:9", server.url)
        async with open_files({"tools.d/t.yaml": text}, random=Random(1)) as rt:
            result = await rt.call("pay", {"invoice": "A"})

    assert (result.status, len(server.heard)) == ("success", 3)
    assert {(each.headers["idempotency-key"], each.body) for each in server.heard} == {
        ("pay-A", b'{"amount":1}')
    }


async def test_what_the_key_is_made_of_is_sent_all_the_same():
    text = PAY.replace('json: {amount: "{{ amount }}"}', "args_in: json")
    async with open_files({"tools.d/t.yaml": text}) as rt:
        shown = await rt.preview("pay", {"invoice": "A"})

    assert shown["request"]["body"] == {"invoice": "A", "amount": 1}


async def test_the_header_may_have_another_name_and_is_shown_before_anybody_says_yes():
    text = PAY.replace('"pay-{{ invoice }}"', '{value: "{{ invoice }}", header: X-Once}')
    async with open_files({"tools.d/t.yaml": text}) as rt:
        shown = await rt.preview("pay", {"invoice": "A"})

    assert shown["request"]["headers"]["X-Once"] == "A"


async def test_other_kinds_get_the_key_as_call_idempotency_key():
    text = """
    tools:
      pay:
        description: Pays.
        parameters: {invoice: string}
        command: [printf, "%s", "--key={{ call.idempotency_key }}"]
        idempotency_key: "{{ invoice }}"
        effect: write
    """
    async with open_files({"tools.d/t.yaml": text}) as rt:
        assert (await rt.call("pay", {"invoice": "A"})).data == "--key=A"


@pytest.mark.parametrize("run_in", ["inline", "thread", "process"])
async def test_a_callable_reads_the_key_from_its_context(folder, run_in):
    project = write_files(
        folder,
        {
            "pays.py": """
            import toolrt

            def pay(invoice: str, context: toolrt.Context) -> str:
                "Pays."
                return context.idempotency_key
            """,
            "tools.d/t.yaml": f"""
            tools:
              pay:
                python: {{call: "pays:pay", run_in: {run_in}}}
                idempotency_key: "key-{{{{ invoice }}}}"
            """,
        },
    )
    async with open_project(project) as rt:
        assert (await rt.call("pay", {"invoice": "A"})).data == "key-A"


SLOW = """
tools:
  pay:
    description: Pays.
    parameters: {invoice: string}
    shell: {script: 'echo x >> done; sleep 0.3; cat done; : "$1"', argv: ["{{ call.idempotency_key }}"]}
    idempotency_key: "{{ invoice }}"
    effect: write
"""


async def test_e11_a_call_in_flight_is_waited_for_in_another_process_too(folder):
    project = write_files(folder, {"tools.d/t.yaml": SLOW})
    async with open_project(project) as one, open_project(project) as other:
        calls = [rt.call("pay", {"invoice": "A"}) for rt in (one, other, one)]
        done = await asyncio.gather(*calls)

    assert [each.status for each in done] == ["success"] * 3
    assert {each.data for each in done} == {"x\n"}
    assert (project / "done").read_text() == "x\n"


async def test_e11_one_in_flight_for_too_long_is_a_conflict_that_may_be_repeated(folder):
    project = write_files(folder, {"tools.d/t.yaml": SLOW + "    timeout: 300ms\n"})
    async with open_project(project) as rt:
        store = rt._state.memory.keyed_calls
        hashes = store.hidden(b"A"), store.hidden(b'{"invoice":"A"}')
        await store.begin(KeyedCall("pay", "", *hashes), "another process", 60.0)
        clash = await rt.call("pay", {"invoice": "A"})

    assert (clash.error.code, clash.error.retryable) == ("conflict", True)
    assert not (project / "done").exists()


STUCK = """
tools:
  pay: {python: "stuck:pay", timeout: 800ms, idempotency_key: "{{ invoice }}"}
"""
STUCK_CODE = """
import time
from pathlib import Path

import toolrt

HERE = Path(__file__).parent

def pay(invoice: str, call: toolrt.Context) -> str:
    '''Pays in the end.'''
    with (HERE / "runs").open("a") as runs:
        runs.write(call.idempotency_key)
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return "paid"
"""


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.005)


@pytest.mark.parametrize("how", ["late", "cancelled"])
async def test_e11_what_still_runs_in_its_thread_is_under_way(folder, how):
    write_files(folder, {"tools.d/t.yaml": STUCK, "stuck.py": STUCK_CODE})
    async with open_project(folder) as rt:
        first = asyncio.ensure_future(rt.call("pay", {"invoice": "A"}))
        if how == "cancelled":
            await asyncio.to_thread(wait_for, folder / "runs")
            first.cancel()
        await asyncio.wait([first])
        again = await rt.call("pay", {"invoice": "A"})
        (folder / "go").touch()

    assert (again.error.code, again.error.retryable) == ("conflict", True)
    assert (folder / "runs").read_text() == "A"


async def test_a_call_whose_process_died_may_be_made_again_once_its_lease_is_over(folder):
    project = write_files(folder, {"tools.d/t.yaml": SLOW})
    clock = ManualClock()
    async with open_project(project, clock=clock) as rt:
        store = rt._state.memory.keyed_calls
        hashes = store.hidden(b"A"), store.hidden(b'{"invoice":"A"}')
        await store.begin(KeyedCall("pay", "", *hashes), "a dead process", 60.0)
        clock.advance(60.0 + LEASE_S + 1)
        result = await rt.call("pay", {"invoice": "A"})

    assert result.status == "success"


async def test_neither_keys_nor_arguments_can_be_read_in_the_store(folder):
    project = write_files(folder, {"tools.d/t.yaml": SLOW})
    async with open_project(project) as rt:
        await rt.call("pay", {"invoice": "TOPSECRET"})

    with sqlite3.connect(project / ".toolrt/state.db") as database:
        rows = database.execute("SELECT * FROM keyed_calls").fetchall()
    assert len(rows) == 1
    assert "TOPSECRET" not in str(rows)


@pytest.mark.parametrize(("effect", "ran"), [("write", True), ("irreversible", False)])
async def test_e11_without_a_store_what_cannot_be_undone_is_not_done(folder, effect, ran):
    text = SLOW.replace("effect: write", f"effect: {effect}\n    hitl: none").replace(
        "sleep 0.3", ":"
    )
    project = write_files(folder, {"tools.d/t.yaml": text, ".toolrt/state.db": "no database"})
    async with open_project(project) as rt:
        result = await rt.call("pay", {"invoice": "A"})

    assert (project / "done").exists() is ran
    assert ran or result.error.code == "unavailable"


def codes(tmp_path: Path, text: str) -> list[str]:
    return [one.code for one in load(write_files(tmp_path, {"tools.d/t.yaml": text})).diagnostics]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PAY.replace("invoice: string", "invoice: {type: string, required: false}").replace(
            '"pay-{{ invoice }}"', '"{{ invoice }}"'), "weak-key"),
        (SLOW.replace("{{ call.idempotency_key }}", "{{ invoice }}"), "unused-key"),
        (PAY.replace("method: POST", "method: POST, headers: {idempotency-key: x}"), "header-twice"),
        (PAY.replace('"pay-{{ invoice }}"', '{value: "{{ invoice }}", header: Host}'),
         "reserved-header"),
        (PAY.replace('{amount: "{{ amount }}"}', '{a: "{{ call.idempotency_kay }}"}'),
         "unknown-name"),
    ],
)  # fmt: skip
def test_a_key_that_protects_nothing_is_refused_at_load(tmp_path, text, code):
    assert code in codes(tmp_path, text)


async def test_an_empty_key_is_refused_before_anything_runs():
    source = Counted()
    text = PAY.replace('"pay-{{ invoice }}"', '"{{ invoice }}"')

    result, *_ = await results(source, {"invoice": " "}, text=text)

    assert (result.error.code, source.calls) == ("invalid-arguments", 0)
