"""Two processes at once: one waits or watches, another one decides (A18, A19)."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest
from bank import TWO, asked, document, state, write_bank

pytestmark = pytest.mark.realtime

PAY = ("run", "bank.pay", "invoice=A1", "amount=2000")


@pytest.fixture(autouse=True)
def bank(project):
    write_bank(project)


@pytest.fixture
def start(project):
    """`start("run", …)`: the command line as a process that goes on."""
    with contextlib.ExitStack() as stack:

        def begin(*args, **more):
            return stack.enter_context(ended(launched(project, args, **more)))

        yield begin


@contextlib.contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def launched(project, args, **more):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    command = [sys.executable, "-m", "toolrt", *args]
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.Popen(command, cwd=project, env=environment, text=True, **{**pipes, **more})


def pending(invoke):
    """The id of what waits, as soon as it does."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        found = invoke("approvals", "list", "--ids", "--state", "pending").stdout.split()
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("nothing waits")


def test_a19_a_call_that_waits_runs_once_it_is_approved(invoke, start):
    waiting = start(*PAY, "--wait")
    approval = pending(invoke)
    invoke("approvals", "approve", approval)
    out, err = waiting.communicate(timeout=10)

    assert (waiting.returncode, out) == (0, "paid A1 2000\n")
    assert err.startswith("waiting: a person has to say yes to `bank.pay`; ^C stops waiting\n")
    assert f"try: toolrt approvals approve {approval[:8]}\n" in err
    assert state(invoke, approval) == "succeeded"


def test_a19_a_waiter_sees_the_decision_within_250_ms(invoke, start):
    waiting = start(*PAY, "--wait", "-o", "json")
    approval = pending(invoke)
    invoke("approvals", "approve", approval)
    decided = time.monotonic()
    waiting.stdout.readline()

    assert time.monotonic() - decided < 0.25 + 0.15  # and the call, and the way of its output


def test_a14_a_call_that_waits_is_told_of_a_no(invoke, start):
    waiting = start(*PAY, "--wait=20s", "-o", "json")
    invoke("approvals", "deny", pending(invoke), "--note", "not this one")
    out, _ = waiting.communicate(timeout=10)

    assert waiting.returncode == 4
    assert json.loads(out)["error"]["code"] == "approval-denied"
    assert "not this one" in json.loads(out)["error"]["message"]


def test_a_call_waits_only_so_long(child):
    shown = child(*PAY, "--wait=300ms")

    assert shown.returncode == 6
    assert "\npaused: `bank.pay` waits for a person" in shown.stderr


def test_wait_takes_no_value_from_what_follows_it(child):
    assert child("run", "bank.pay", "--wait", "invoice=A1", "amount=5").stdout == "paid A1 5\n"
    assert child("run", "bank.pay", "--wait=soon", "invoice=A1").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a18_an_interrupted_wait_leaves_the_question_and_says_so(invoke, start, number):
    waiting = start(*PAY, "--wait")
    approval = pending(invoke)
    waiting.send_signal(number)
    out, err = waiting.communicate(timeout=10)

    assert (waiting.returncode, out) == (130, "")
    assert f"still pending; look: toolrt approvals show {approval[:8]}\n" in err
    assert err.endswith("interrupted\n")
    assert state(invoke, approval) == "pending"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watch_follows_new_ones_a_document_a_line_until_interrupted(invoke, start, number):
    first = asked(invoke, invoice="A1")
    watching = start("approvals", "watch", "-o", "jsonl")
    seen = [json.loads(watching.stdout.readline())["id"]]
    second = asked(invoke, invoice="A2")
    seen.append(json.loads(watching.stdout.readline())["id"])
    watching.send_signal(number)

    assert seen == [first, second]
    assert watching.wait(10) == 0
    assert watching.stdout.read() == ""


def test_watch_ends_when_nobody_reads_any_more(invoke, start):
    asked(invoke)
    watching = start("approvals", "watch", "-o", "jsonl")
    watching.stdout.readline()
    watching.stdout.close()

    assert watching.wait(10) == 0


def test_watch_shows_text_where_it_is_no_terminal(invoke, start):
    approval = asked(invoke)
    watching = start("approvals", "watch")

    assert watching.stdout.readline() == f"id        {approval}\n"


@pytest.fixture
def terminal(project):
    """`terminal("approvals", "watch")` on a terminal: what it shows, and what is typed."""
    with contextlib.ExitStack() as stack:

        def begin(*args):
            ours, theirs = pty.openpty()
            stack.callback(os.close, ours)
            streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
            process = launched(project, args, start_new_session=True, **streams)
            stack.enter_context(ended(process))
            os.close(theirs)
            return Terminal(ours, process)

        yield begin


class Terminal:
    def __init__(self, descriptor, process):
        self.descriptor, self.process, self.shown = descriptor, process, ""

    def until(self, text):
        """Reads until `text` was shown, and forgets what came before."""
        until = time.monotonic() + 10
        while text not in self.shown:
            ready, _, _ = select.select([self.descriptor], [], [], until - time.monotonic())
            assert ready, self.shown
            self.shown += os.read(self.descriptor, 4096).decode()
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, text):
        os.write(self.descriptor, text.encode())


KEYS = "[a]pprove  [d]eny  [s]kip"


def test_watch_decides_by_a_key_on_a_terminal(invoke, terminal):
    names = ("A1", "A2", "A3")
    approvals = [asked(invoke, invoice=name) for name in names]
    watching = terminal("approvals", "watch")
    for name, key, answer in zip(
        names, "ads", ("is approved", "is denied", "skipped"), strict=True
    ):
        shown = watching.until(KEYS)
        assert f"invoice: {name}" in shown
        watching.type(key)
        watching.until(answer)
    os.killpg(watching.process.pid, signal.SIGINT)

    assert watching.process.wait(10) == 0
    assert [state(invoke, each) for each in approvals] == ["approved", "denied", "pending"]


def test_watch_goes_on_where_somebody_else_was_quicker_or_it_is_refused(invoke, terminal):
    first = asked(invoke)
    watching = terminal("approvals", "watch")
    watching.until(KEYS)
    invoke("approvals", "deny", first)
    watching.until("it is denied by now")
    invoke("run", "bank.refund", "invoice=A1")
    watching.until(KEYS)
    watching.type("a")
    watching.until("error[missing-arguments]: `amount` is missing")

    assert watching.process.poll() is None


def test_watch_offers_nothing_to_whom_nothing_is_asked_of(invoke, terminal, project):
    """Whoever asked has no say in it, neither a yes nor a no."""
    (project / "policies.d" / "bank.yaml").write_text(
        "rules: [{id: two, decide: ask, tools: [bank.pay], approval: {count: 2}}]\ndefault: allow\n"
    )
    own = asked(invoke)
    watching = terminal("approvals", "watch")
    shown = watching.until("once it is approved")
    assert "2 yeses of anybody who may approve (not you, who asked)" in shown
    assert "[a]pprove" not in shown
    assert "[d]eny" not in shown

    other = document(invoke(*PAY, "--as", "ann", "-o", "json"))["pause"]["approval_id"]
    watching.until(KEYS)
    watching.type("a")
    watching.until("is pending: 1 of 2 yeses")
    assert (state(invoke, own), state(invoke, other)) == ("pending", "pending")


def test_watch_tells_how_a_call_that_a_person_makes_is_answered(invoke, terminal, project):
    tool = "tools: {ring: {description: Ring., parameters: {who: string}, hitl: external}}\n"
    (project / "tools.d" / "ring.yaml").write_text(tool)
    approval = document(invoke("run", "ring", "who=Ann", "-o", "json"))["pause"]["approval_id"]
    watching = terminal("approvals", "watch")
    shown = watching.until("[d]eny  [s]kip")
    assert f"try: toolrt approvals approve {approval[:8]} --result" in shown
    assert "[a]pprove" not in shown
    watching.type("a")
    watching.type("d")
    watching.until("is denied")


def test_what_was_edited_is_shown_again_before_a_key_decides(invoke, terminal, project):
    (project / "policies.d" / "bank.yaml").write_text(
        "rules: [{id: two, decide: ask, tools: [bank.pay], approval: {count: 2}}]\ndefault: allow\n"
    )
    approval = document(invoke(*PAY, "--as", "ann", "-o", "json"))["pause"]["approval_id"]
    watching = terminal("approvals", "watch")
    watching.until(KEYS)
    invoke("approvals", "approve", approval, "--edit", "amount=7")
    watching.until("it is pending by now")

    assert "amount: 7" in watching.until("once it is approved")


def test_what_is_asked_for_is_prompted_on_a_terminal(invoke, terminal):
    paused = document(invoke("run", "bank.refund", "invoice=A1", "-o", "json"))
    approving = terminal("approvals", "approve", paused["pause"]["approval_id"], "--run")
    approving.until("amount (How much.): ")
    approving.type("12\n")
    approving.until("refunded A1 12")

    assert approving.process.wait(10) == 0


def test_a10_a_call_that_waits_is_told_of_a_yes_that_is_not_enough(invoke, start, project, as_user):
    write_bank(project, TWO)
    waiting = start(*PAY, "--wait")
    approval = pending(invoke)
    as_user("fay")
    invoke("approvals", "approve", approval)
    lines = iter(waiting.stderr.readline, "")
    told = next(line for line in lines if line.startswith("1 of 2 yeses"))
    as_user("fin")
    invoke("approvals", "approve", approval)
    stdout, _ = waiting.communicate(timeout=20)

    assert told == (
        "1 of 2 yeses; another is needed, of anybody who may approve (not fay, not you, who asked)\n"
    )
    assert stdout == "paid A1 2000\n"


def test_a10_a_key_that_is_not_enough_says_who_else_must(invoke, terminal, project):
    write_bank(project, TWO)
    invoke(*PAY, "--as", "ann")
    watching = terminal("approvals", "watch")
    watching.until(KEYS)
    watching.type("a")

    watching.until("is pending: 1 of 2 yeses; another is needed, of anybody who may approve (not")
