"""Hooks around calls: before may edit and refuse, after may replace; nothing is swallowed (U21)."""

import json
import logging

import pytest

from toolrt.core.calls import Caller
from toolrt.runtime import load
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

KIT = '''\
import asyncio, threading, time
from toolrt import ToolError

SEEN = []

def tool(**given):
    """Give back what was given."""
    SEEN.append(("tool", dict(given)))
    return {"given": given}

def note(arguments, context):
    SEEN.append(("before", dict(arguments)))

def add(arguments, context):
    return {**arguments, "by": context.caller.principal, "tool": context.tool}

def alone(arguments):
    arguments["alone"] = True

async def later(arguments, context):
    await asyncio.sleep(0)
    return {**arguments, "later": True}

def gives_coroutine(arguments):
    return later(arguments, None)

def bad(arguments):
    return {"n": "no number"}

def refuse(arguments, context):
    raise ToolError("closed on Sundays", code="denied", hint="come on Monday")

def breaks(value, context):
    raise ValueError("s3cret /etc/passwd")

async def breaks_soon(value, context):
    await asyncio.sleep(0)
    raise ValueError("s3cret")

def leaves(value):
    raise SystemExit(3)

async def leaves_at_once(value):
    raise SystemExit(3)

async def leaves_soon(value):
    await asyncio.sleep(0)
    raise KeyboardInterrupt

def gives_one_that_leaves(value):
    return leaves_at_once(value)

async def gives_up(value):
    raise asyncio.CancelledError

async def gives_up_soon(value):
    await asyncio.sleep(0)
    raise asyncio.CancelledError

def stops(value):
    raise StopIteration

async def stops_soon(value):
    raise StopAsyncIteration

def gives_text(value):
    return "text"

def gives_object(value):
    return object()

def gives_half_a_character(value):
    return ["\\ud800"]

def count(value, context):
    SEEN.append(("after", value))
    return {"seen": value}

def spoils(value):
    value["given"] = "spoilt"

async def count_soon(value):
    await asyncio.sleep(0)
    return {"soon": value}

async def sleeps(value):
    await asyncio.sleep(60)

def blocks(value):
    time.sleep(0.6)

def thread(value):
    return threading.current_thread() is threading.main_thread()

nothing = 3

class Kit:
    pass

def three(a, b, c):
    pass
'''


def files(hooks, more="", name="hooks_kit"):
    return {
        f"{name}.py": KIT,
        "tools.d/t.yaml": f"""\
tools:
  t:
    description: T.
    parameters: {{n: {{type: integer, required: false}}, by: {{required: false}},
      tool: {{required: false}}, alone: {{required: false}}, later: {{required: false}}}}
    python: "{name}:tool"
    hooks: {hooks.replace("KIT", name)}
{more}""",
    }


async def called(hooks, arguments=None, more="", **options):
    async with open_files(files(hooks, more), **options) as rt:
        return await rt.call("t", {"n": 1} if arguments is None else arguments, Caller("ann"))


def hook(key, *names):
    return f"{{{key}: [{', '.join(f'KIT:{name}' for name in names)}]}}"


async def test_before_hooks_edit_one_after_another_sync_and_async():
    result = await called(hook("before", "note", "add", "alone", "later", "gives_coroutine"))

    assert result.data["given"] == {
        "n": 1, "by": "ann", "tool": "t", "alone": True, "later": True,
    }  # fmt: skip


async def test_what_a_hook_edits_is_checked_like_what_a_model_sends():
    result = await called(hook("before", "bad"))

    assert (result.error.code, result.attempts) == ("invalid-arguments", 0)


async def test_a_hook_refuses_in_its_own_words_and_nothing_runs():
    result = await called(hook("before", "refuse", "breaks"))

    assert (result.error.code, result.error.message) == ("denied", "closed on Sundays")
    assert (result.error.hint, result.attempts) == ("come on Monday", 0)


@pytest.mark.parametrize("arguments", [[], "x", None, 5])
async def test_what_is_no_object_of_arguments_never_reaches_a_hook(arguments):
    result = await called(hook("before", "breaks"), arguments if arguments is not None else [])

    assert result.error.code == "invalid-arguments"


async def test_policy_sees_the_arguments_after_the_hooks():
    written = files(hook("before", "add"))
    written["policies.d/p.yaml"] = """\
rules:
  - {id: ann, decide: deny, tools: [t], when: 'args.by == "ann"', reason: Not ann.}
  - {id: rest, decide: allow, tools: ["*"]}
"""
    async with open_files(written) as rt:
        result = await rt.call("t", {}, Caller("ann"))

    assert (result.error.code, result.attempts) == ("denied", 0)


async def test_a_sync_hook_runs_beside_the_loop():
    assert (await called(hook("after", "thread"))).data is False


async def test_after_hooks_replace_the_value_sync_and_async():
    result = await called(hook("after", "count", "count_soon"))

    assert result.data == {"soon": {"seen": {"given": {"n": 1}}}}


BREAKS = [
    "breaks",
    "breaks_soon",
    "leaves",
    "leaves_at_once",
    "leaves_soon",
    "gives_one_that_leaves",
    "gives_up",
    "gives_up_soon",
    "stops",
    "stops_soon",
]


@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.parametrize("key", ["before", "after"])
async def test_fault_4_and_7_of_others_an_error_in_a_hook_fails_the_call_without_a_trace(
    caplog, key, name
):
    with caplog.at_level(logging.ERROR):
        result = await called(hook(key, name))
    shown = json.dumps(result.document())

    assert result.error.code == "execution-failed"
    assert result.error.message == f"the hook `hooks_kit:{name}` failed"
    assert result.attempts == (0 if key == "before" else 1)
    assert not any(word in shown for word in ("Traceback", "ValueError", "s3cret", "passwd"))
    [record] = [each for each in caplog.records if "hook" in each.getMessage()]
    assert record.exc_info


async def test_a_failure_after_the_effect_says_that_it_took_place():
    error = (await called(hook("after", "breaks"))).error

    assert "do not call it again" in error.hint
    assert not error.retryable


@pytest.mark.parametrize(
    ("key", "name"),
    [("before", "gives_text"), ("after", "gives_object"), ("after", "gives_half_a_character")],
)
async def test_a_hook_that_gives_something_else_fails_the_call(key, name):
    result = await called(hook(key, name))

    assert (result.error.code, result.error.details) == (
        "execution-failed", {"hook": f"hooks_kit:{name}"},
    )  # fmt: skip


@pytest.mark.realtime
@pytest.mark.parametrize("name", ["sleeps", "blocks"])
@pytest.mark.parametrize("key", ["before", "after"])
async def test_hooks_have_what_is_left_of_the_calls_time(key, name):
    result = await called(hook(key, name), more="    timeout: 0.2s\n")

    assert (result.error.code, f"hooks_kit:{name}" in result.error.message) == ("timeout", True)
    assert result.time_s < 4


async def test_fault_1_of_others_after_hooks_run_on_an_answer_from_the_cache():
    more = "    effect: read\n    cache: 5m\n"
    async with open_files(files(hook("after", "spoils", "count"), more, "cached_kit")) as rt:
        results = [await rt.call("t", {"n": 1}) for _ in range(3)]
        import cached_kit

    assert [each.data for each in results] == [{"seen": {"given": "spoilt"}}] * 3
    assert [kind for kind, _ in cached_kit.SEEN] == ["tool", "after", "after", "after"]


async def test_fault_4_of_others_of_an_approved_call_before_hooks_do_not_run_again():
    more = "    effect: irreversible\n    result: {final: true, to: user}\n"
    hooks = "{before: [KIT:note], after: [KIT:count]}"
    async with open_files(files(hooks, more, "asked_kit")) as rt:
        paused = await rt.call("t", {"n": 1}, Caller("ann"))
        await rt.approvals.approve(
            paused.pause.approval_id, Caller("bob", may=frozenset({"approve"}))
        )
        result = await rt.approvals.run(paused.pause.approval_id)
        import asked_kit

    assert [kind for kind, _ in asked_kit.SEEN] == ["before", "tool", "after"]
    assert (result.final, result.to, result.data) == (True, "user", None)
    assert result.for_user.data == {"seen": {"given": {"n": 1}}}
    assert not paused.final


async def test_nothing_of_a_hook_runs_where_a_call_is_only_looked_at():
    async with open_files(files(hook("before", "note"), name="dry_kit")) as rt:
        await rt.preview("t", {"n": 1})
        import dry_kit

    assert dry_kit.SEEN == []


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("KIT:coutn", "import-failed", "count"),
        ("KIT.count", "import-failed", "KIT:count"),
        ("no_such_module_x:count", "import-failed", "no_such_module_x"),
        ("KIT:nothing", "not-callable", "int"),
        ("KIT:Kit", "not-callable", "class"),
        ("KIT:three", "signature-drift", "three"),
    ],
)
@pytest.mark.parametrize("key", ["before", "after"])
def test_a_wrong_hook_is_one_error_at_its_name(tmp_path, key, name, code, says):
    project = write_files(tmp_path, files(f"{{{key}: [KIT:note, '{name}']}}"))
    [found] = load(project).diagnostics

    assert (found.severity, found.code, found.line) == ("error", code, 7)
    assert found.path == f"tools.t.hooks.{key}[1]"
    assert says.replace("KIT", "hooks_kit") in f"{found.message} {found.hint}"


async def test_a_tool_without_hooks_has_no_ring_for_them():
    async with open_files(files("{}")) as rt:
        assert rt.snapshot.tools["t"].hooks is None
        await rt.call("t", {"n": 1})
