import asyncio
import logging
import threading
from pathlib import Path

import pytest

from toolrt.core.calls import Caller, Invocation, Sighting
from toolrt.core.clock import ManualClock
from toolrt.core.context import Context
from toolrt.core.redaction import Redactor


def invocation(clock=None, on_progress=None):
    clock = clock or ManualClock()
    now = clock.monotonic()
    return Invocation(
        "c1", "kit.add", {}, Caller("ann"), clock, now, now + 30, on_progress=on_progress
    )


def test_context_says_who_asked_and_how_long_is_left():
    clock = ManualClock()
    context = Context(invocation(clock))

    assert (context.caller.principal, context.call_id, context.tool) == ("ann", "c1", "kit.add")
    assert context.deadline_s == 30
    clock.advance(31)
    assert context.deadline_s == 0


def test_context_tells_the_version_that_was_seen_and_hears_of_the_next_one():
    call = invocation()
    assert Context(call).expected is None
    Context(call).saw("nobody asked")
    call.sighting = Sighting("1")
    context = Context(call, Path("/somewhere"))

    assert (context.expected, context.project) == ("1", Path("/somewhere"))
    context.saw(2)
    assert call.sighting == Sighting("1", "2")


@pytest.mark.anyio
async def test_progress_from_a_thread_is_told_on_the_loop():
    told = []

    def on_progress(*progress):
        told.append((progress, threading.current_thread() is threading.main_thread()))

    context = Context(invocation(on_progress=on_progress))
    context.progress(1)
    await asyncio.to_thread(context.progress, 2, 10, "two")
    await asyncio.sleep(0)

    assert told == [((1, None, ""), True), ((2, 10, "two"), True)]


@pytest.mark.anyio
async def test_an_orphan_is_not_heard_any_more():
    told = []
    call = invocation(on_progress=lambda *progress: told.append(progress))
    context = Context(call)
    call.is_orphaned = True
    context.progress(1)
    await asyncio.to_thread(context.progress, 2)
    await asyncio.sleep(0)

    assert told == []


def test_progress_without_a_listener_or_a_loop_is_nothing():
    Context(invocation()).progress(1)

    loop = asyncio.new_event_loop()

    async def make():
        return Context(invocation(on_progress=lambda *_: None))

    context = loop.run_until_complete(make())
    loop.close()
    context.progress(1)


def test_log_goes_to_the_operators_log_with_the_call(caplog):
    caplog.set_level(logging.DEBUG, "toolrt.tools")
    context = Context(invocation())
    context.log("half done: 50%")
    context.log("odd", "warning")
    context.log("odd", "no-level")

    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "kit.add [c1]: half done: 50%"),
        ("WARNING", "kit.add [c1]: odd"),
        ("INFO", "kit.add [c1]: odd"),
    ]
    assert caplog.records[0].call_id == "c1"


def test_o4_whatever_a_tool_logs_is_one_line(caplog):
    caplog.set_level(logging.DEBUG, "toolrt.tools")
    Context(invocation()).log('fine\n{"level": "info"}\x1b[2J\u202eé')

    [record] = caplog.records
    assert record.getMessage() == ('kit.add [c1]: fine\\n{"level": "info"}\\x1b[2J\\u202eé')


@pytest.fixture
def redactor():
    redactor = Redactor()
    redactor.learn("s3cret-value")
    return redactor


@pytest.mark.usefixtures("redactor")
def test_o1_log_masks_secrets_and_passwords(caplog):
    caplog.set_level(logging.DEBUG, "toolrt.tools")
    Context(invocation()).log("with s3cret-value at amqp://bob:hunter2@mq/x")

    assert caplog.messages == ["kit.add [c1]: with *** at amqp://***/x"]


@pytest.mark.anyio
@pytest.mark.usefixtures("redactor")
async def test_o1_progress_masks_secrets_and_passwords():
    told = []
    Context(invocation(on_progress=lambda *progress: told.append(progress))).progress(
        1, 2, "with s3cret-value at amqp://bob:hunter2@mq/x"
    )

    assert told == [(1, 2, "with *** at amqp://***/x")]


@pytest.mark.usefixtures("redactor")
def test_o2_long_line_is_masked_before_it_is_cut(caplog):
    caplog.set_level(logging.DEBUG, "toolrt.tools")
    Context(invocation()).log("x" * (64 * 1024 - 5) + "s3cret-value" + "y" * 10**6)

    [line] = caplog.messages
    assert len(line) < 66_000
    assert "s3c" not in line


@pytest.mark.parametrize("message", ["\u2028\u2029\x85\r\n", "\ud800", float("nan"), None, {1: 2}])
def test_o4_any_value_is_logged_as_one_printable_line(caplog, message):
    caplog.set_level(logging.DEBUG, "toolrt.tools")
    Context(invocation()).log(message, None)

    assert caplog.messages[0].isprintable()


@pytest.mark.anyio
async def test_listener_that_fails_fails_no_tool():
    """It is the host's, and its loop is told."""
    heard = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: heard.append(repr(context["exception"])))

    def on_progress(*_progress):
        raise RuntimeError("listener")

    context = Context(invocation(on_progress=on_progress))
    context.progress(1)
    await asyncio.to_thread(context.progress, 2)
    await asyncio.sleep(0)

    assert heard == ["RuntimeError('listener')"] * 2
