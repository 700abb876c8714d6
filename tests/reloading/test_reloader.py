import asyncio
import json
import os
import sys

import pytest
from reloading_project import ECHO, RULES, replace, verdict

from toolrt.core.errors import ProjectError
from toolrt.loading import apart
from toolrt.reloading import reloader as module
from toolrt.stores.base import StoreError

SLOW = """\
import asyncio

async def echo(text: str) -> str:
    await asyncio.sleep(0.2)
    return text
"""

pytestmark = pytest.mark.anyio


async def test_a_change_is_in_force_after_a_reload_and_is_told(project):
    async with project.open() as runtime:
        replace(
            project.tools,
            ECHO.replace("5s", "8s") + ECHO.partition("\n")[2].replace("echo", "loud"),
        )
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.is_new, outcome.generation) == (True, True, 2)
        assert outcome.changes.text == "+ loud  ~ echo (timeout 5s -> 8s)"
        assert runtime.snapshot.generation == 2


async def test_l7_identical_content_makes_no_new_generation(project):
    async with project.open() as runtime:
        replace(project.tools, ECHO)
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.is_new, outcome.generation) == (True, False, 1)
        assert outcome.fingerprint == runtime.snapshot.fingerprint


async def test_l2_a_broken_file_keeps_the_last_good_generation_and_says_where(project):
    async with project.open() as runtime:
        replace(project.tools, ECHO.replace("timeout: 5s", "timeot: 5s"))
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.generation) == (False, 1)
        assert "tools.d/echo.yaml:7" in outcome.report
        assert [one.code for one in outcome.diagnostics] == ["unknown-key"]
        assert await verdict(runtime) == "x"
        assert not runtime.standing.reload_success


async def test_l2_how_it_stands_says_since_when_the_files_are_in_force(project):
    async with project.open() as runtime:
        began = runtime.standing
        project.clock.advance(60)
        replace(project.tools, "tools: 1\n")
        await runtime.reload()
        broken = runtime.standing
        replace(project.tools, ECHO.replace("5s", "6s"))
        await runtime.reload()

        assert (broken.reload_success, broken.last_success_ts) == (False, began.last_success_ts)
        assert runtime.standing.reload_success
        assert runtime.standing.last_success_ts > began.last_success_ts + 59
        assert runtime.standing.generation == 2
        assert runtime.standing.fingerprint == runtime.snapshot.fingerprint != began.fingerprint


async def test_a_broken_file_that_is_put_back_is_a_success_again(project):
    async with project.open() as runtime:
        replace(project.tools, "tools: 1\n")
        await runtime.reload()
        replace(project.tools, ECHO)
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.is_new, outcome.is_mended) == (True, False, True)
        assert outcome.document()["mended"]
        assert runtime.standing.reload_success


async def test_files_that_are_sound_again_are_told_though_nobody_waits(project):
    heard = []
    async with project.open() as runtime:
        runtime.on_reload(heard.append)
        for tools in ("tools: 1\n", ECHO, ECHO, "tools: 1\n", ECHO.replace("5s", "6s")):
            replace(project.tools, tools)
            await runtime.reload("watch")
        await asyncio.sleep(0)

        told = [(one.is_accepted, one.is_mended, one.generation) for one in heard]
        assert told == [(False, False, 1), (True, True, 1), (False, False, 1), (True, True, 2)]


async def test_l6_a_loss_that_is_taken_back_is_told(project):
    heard = []
    async with project.open() as runtime:
        runtime.on_reload(heard.append)
        for rules in (RULES.replace("decide: deny", "decide: allow"), RULES):
            replace(project.rules, rules)
            await runtime.reload("watch")
        await asyncio.sleep(0)

        assert [one.is_accepted for one in heard] == [False, True]


async def test_l2_a_missing_secret_is_no_error_and_is_there_once_somebody_asks_again(project):
    text = ECHO.replace("command:", "command:\n      env: {KEY: '${env:RELOADED}'}\n      argv:")
    environ = dict(os.environ)
    async with project.open(environ=environ) as runtime:
        replace(project.tools, text)
        outcome = await runtime.reload()
        assert outcome.is_new
        assert await verdict(runtime) == "unavailable"

        environ["RELOADED"] = "a-value"
        assert not (await runtime.reload("watch")).is_new
        assert (await runtime.reload()).is_new
        assert await verdict(runtime) == "x"

        del environ["RELOADED"]
        replace(project.rules, RULES + "\n")
        assert (await runtime.reload()).is_new
        assert await verdict(runtime) in ("unavailable", "missing-credential")


async def test_l1_a_call_keeps_the_generation_that_it_began_with(project):
    slow = ECHO.replace('command: [printf, "{{ text }}"]', "python: slow_echo:echo")
    project.tools.write_text(slow)
    (project.root / "slow_echo.py").write_text(SLOW)
    async with project.open() as runtime:
        call = asyncio.create_task(runtime.call("echo", {"text": "x"}))
        await asyncio.sleep(0.1)
        replace(project.rules, RULES.replace("[echo]}", "[nobody]}"))
        replace(project.tools, slow.replace("5s", "7s"))
        assert (await runtime.reload()).is_new
        result = await call

        assert (result.text, result.document()["context"]["generation"]) == ("x", 1)
        assert await verdict(runtime) == "unknown-tool"


async def test_l5_all_policy_files_gone_is_an_error_whoever_confirms(project):
    async with project.open() as runtime:
        project.rules.unlink()
        outcome = await runtime.reload(accept_loss=True)

        assert not outcome.is_accepted
        assert "every policy file is gone" in outcome.why
        assert await verdict(runtime, "loud") == "denied"


@pytest.mark.parametrize("text", ["", "# later\n", "rules: []\n", None])
async def test_l5_files_emptied_of_all_rules_are_never_accepted(project, text):
    """Neither by a second look nor by a person; `default: allow` is how that is written."""
    async with project.open() as runtime:
        if text is None:
            project.rules.parent.rename(project.root / "rules.d")
        else:
            replace(project.rules, text)
        for accept_loss in (False, True, False):
            outcome = await runtime.reload("watch", accept_loss=accept_loss)
            assert not outcome.is_accepted
            assert (outcome.losses, "default: allow" in outcome.hint) == ((), True)
            project.clock.advance(20)
        assert await verdict(runtime, "loud") == "denied"

        project.rules.parent.mkdir(exist_ok=True)
        replace(project.rules, "default: allow\n")
        assert (await runtime.reload(accept_loss=True)).is_new


async def test_l5_a_deleted_file_is_told(project):
    more = project.root / "policies.d" / "more.yaml"
    more.write_text("rules:\n- {id: more, decide: allow, tools: [echo]}\n")
    async with project.open() as runtime:
        more.unlink()
        outcome = await runtime.reload()

        assert outcome.changes.text == "- rule more"


async def test_l6_a_lost_deny_rule_waits_for_somebody_to_confirm(project):
    async with project.open() as runtime:
        replace(project.rules, RULES.replace("decide: deny", "decide: allow"))
        refused = await runtime.reload()
        assert not refused.is_accepted
        assert refused.losses == ("deny rule `loud` would no longer hold",)
        assert await verdict(runtime, "loud") == "denied"

        accepted = await runtime.reload(accept_loss=True)
        assert accepted.is_new
        assert await verdict(runtime, "loud") == "loud"


async def test_l6_an_unchanged_second_look_after_ten_seconds_confirms_a_loss(project):
    async with project.open() as runtime:
        replace(project.rules, RULES.replace("decide: deny", "decide: allow"))
        await runtime.reload("watch")
        project.clock.advance(5)
        assert not (await runtime.reload("watch")).is_accepted
        project.clock.advance(5)
        assert (await runtime.reload("watch")).is_new


async def test_l6_a_loss_that_has_changed_is_looked_at_anew(project):
    async with project.open() as runtime:
        replace(project.rules, RULES.replace("decide: deny", "decide: allow"))
        await runtime.reload("watch")
        project.clock.advance(20)
        replace(project.rules, RULES.replace("decide: deny", "decide: allow") + "# again\n")
        assert not (await runtime.reload("watch")).is_accepted


LOST = RULES.replace("decide: deny", "decide: allow")


def _with_a_tool(project, number):
    replace(project.tools, ECHO.replace("5s", f"{number}s"))


def _with_a_rule_that_allows(project, number):
    rule = f"rules:\n- {{id: more, decide: allow, tools: [echo], when: args.text == '{number}'}}\n"
    (project.root / "policies.d" / "other.yaml").write_text(rule)


def _with_a_constant(project, number):
    (project.root / "toolrt.yaml").write_text(f"vars: {{limit: {number}}}\n")


@pytest.mark.parametrize("change", [_with_a_tool, _with_a_rule_that_allows, _with_a_constant])
async def test_l6_a_change_that_has_nothing_to_do_with_the_loss_does_not_begin_the_look_anew(
    project, change
):
    async with project.open() as runtime:
        replace(project.rules, LOST)
        assert runtime.reloader.second_look_s is None
        await runtime.reload("watch")
        for number in (6, 7, 8):
            project.clock.advance(3)
            change(project, number)
            assert not (await runtime.reload("watch")).is_accepted
        assert 0 < runtime.reloader.second_look_s <= 1
        project.clock.advance(1)
        assert (await runtime.reload("second look")).is_new
        assert runtime.reloader.second_look_s is None


VARS = "vars: {limit: '%s'}\n"
READS = RULES.replace("args.text == ", "args.text == vars.limit || args.text == ")


@pytest.mark.parametrize(
    ("file", "first", "then"),
    [
        ("policies.d/rules.yaml", LOST, LOST.replace("too loud", "loud")),
        ("policies.d/rules.yaml", "default: deny", "default: deny\n"),
        ("toolrt.yaml", VARS % "b", VARS % "c"),
        ("policies.d/rules.yaml", READS.replace("default: deny", "default: allow"),
         READS.replace("default: deny", "default:  allow")),
    ],
)  # fmt: skip
async def test_l6_a_loss_of_the_same_words_and_other_content_is_looked_at_anew(
    project, file, first, then
):
    project.rules.write_text(READS)
    (project.root / "toolrt.yaml").write_text(VARS % "a")
    async with project.open() as runtime:
        (project.root / file).write_text(first)
        before = await runtime.reload("watch")
        project.clock.advance(20)
        (project.root / file).write_text(then)
        again = await runtime.reload("watch")

        assert before.losses
        assert not again.is_accepted
        assert runtime.reloader.second_look_s == 10


async def test_l6_an_error_in_between_begins_the_look_anew(project):
    async with project.open() as runtime:
        replace(project.rules, LOST)
        await runtime.reload("watch")
        project.clock.advance(9)
        replace(project.rules, LOST + "- 7\n")
        await runtime.reload("watch")
        assert runtime.reloader.second_look_s is None
        replace(project.rules, LOST)
        project.clock.advance(9)
        assert not (await runtime.reload("watch")).is_accepted


async def test_l10_a_folder_that_everybody_may_write_to_is_refused(project):
    async with project.open() as runtime:
        project.rules.parent.chmod(0o777)
        replace(project.tools, ECHO.replace("5s", "6s"))
        outcome = await runtime.reload()

        assert not outcome.is_accepted
        assert "everybody may write to" in outcome.why
        assert "--allow-foreign-config" in outcome.hint


@pytest.mark.parametrize("which", ["rules", "tools"])
async def test_l10_a_file_that_everybody_may_write_to_is_refused_as_well(project, which):
    path = getattr(project, which)
    async with project.open() as runtime:
        replace(project.tools, ECHO.replace("5s", "6s"))
        path.chmod(0o666)
        outcome = await runtime.reload()

        assert not outcome.is_accepted
        assert f"everybody may write to {path}" in outcome.why
    with pytest.raises(ProjectError, match="everybody may write to"):
        async with project.open():
            pass


async def test_l11_reloads_are_one_at_a_time_and_each_gets_its_answer(project):
    async with project.open() as runtime:
        replace(project.tools, ECHO.replace("5s", "6s"))
        outcomes = await asyncio.gather(*(runtime.reload() for _ in range(5)))

        assert [one.is_new for one in outcomes] == [True, False, False, False, False]
        assert {one.generation for one in outcomes} == {2}


async def test_a_reload_that_nobody_waits_for_any_more_is_carried_out(project):
    async with project.open() as runtime:
        replace(project.tools, ECHO.replace("5s", "6s"))
        task = asyncio.create_task(runtime.reload())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await runtime.reload()

        assert runtime.snapshot.generation == 2


async def test_outcomes_are_told_to_those_who_want_to_know_until_they_do_not(project):
    heard = []
    async with project.open() as runtime:
        stop = runtime.on_reload(heard.append)
        replace(project.tools, "tools: 1\n")
        for _ in range(2):
            await runtime.reload("watch")
        await runtime.reload("poll")
        await asyncio.sleep(0)
        assert [one.is_accepted for one in heard] == [False]

        stop()
        await runtime.reload()
        await asyncio.sleep(0)
        assert len(heard) == 1


async def test_files_that_are_written_all_the_time_are_not_looked_at(project, monkeypatch):
    numbers = iter(range(10_000))
    async with project.open() as runtime:
        workspace = runtime.reloader._workspace
        stock = workspace.stock

        def busy():
            replace(project.tools, f"{ECHO}# {next(numbers)}\n")
            return stock()

        monkeypatch.setattr(workspace, "stock", busy)
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.why) == (False, "the files are still being written")


async def test_a_bug_while_reloading_keeps_the_last_good_generation(project, monkeypatch, caplog):
    async with project.open() as runtime:
        monkeypatch.setattr(module, "weighed", lambda *_: 1 / 0)
        replace(project.tools, ECHO.replace("5s", "6s"))
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.why) == (False, "a bug of toolrt: ZeroDivisionError")
        assert await verdict(runtime) == "x"
        assert "ZeroDivisionError" in caplog.text


async def test_a_generation_comes_into_force_though_it_cannot_be_written_down(project, caplog):
    told = []

    async def record(document):
        told.append(document)
        if len(told) > 1:
            raise StoreError("full", "the disk is full")

    async with project.open() as runtime:
        runtime.reloader._record = record
        replace(project.tools, ECHO.replace("5s", "6s"))
        assert (await runtime.reload()).is_new
        replace(project.tools, ECHO.replace("5s", "7s"))
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.generation) == (True, 3)
        assert "is not in the journal: the disk is full" in caplog.text
        assert told[0]["changes"]["changed"] == {"echo": "timeout 5s -> 6s"}
        json.dumps(told)


async def test_keys_that_count_only_when_a_project_is_opened_are_named(project):
    async with project.open() as runtime:
        (project.root / "keys").mkdir()
        written = "secrets: [env, {files: keys}]\ntelemetry: {metrics: false}\n"
        (project.root / "toolrt.yaml").write_text(written)
        outcome = await runtime.reload()

        assert outcome.is_new
        assert outcome.needs_restart == ("secrets", "telemetry")


async def test_l8_many_files_are_parsed_in_a_process_of_their_own(project, monkeypatch):
    parsed = []
    monkeypatch.setattr(
        module, "parsed", lambda files: parsed.append(len(files)) or apart.parsed(files)
    )
    async with project.open() as runtime:
        for number in range(20):
            text = ECHO.replace("echo", f"echo_{number}")
            (project.root / "tools.d" / f"more_{number}.yaml").write_text(text)
        outcome = await runtime.reload()

        assert (outcome.is_new, len(outcome.changes.added), parsed) == (True, 20, [20])
        assert await verdict(runtime) == "x"


async def test_l8_files_beyond_the_limits_are_refused(project, monkeypatch):
    def too_much(files):
        raise apart.TooMuchError("parsing takes more than 60 s")

    monkeypatch.setattr(module, "is_much", lambda files: True)
    monkeypatch.setattr(module, "parsed", too_much)
    async with project.open() as runtime:
        replace(project.tools, ECHO.replace("5s", "6s"))
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.why) == (False, "parsing takes more than 60 s")


async def test_a_schema_in_a_file_of_its_own_counts(project):
    schema = project.root / "tools.d" / "echo.json"
    schema.write_text('{"type": "object", "properties": {"text": {"type": "string"}}}')
    project.tools.write_text(
        ECHO.replace("parameters: {text: string}", "input_schema: {$ref: ./echo.json}")
    )
    async with project.open() as runtime:
        assert not (await runtime.reload()).is_new
        replace(
            schema, '{"type": "object", "properties": {"text": {"type": "string", "maxLength": 2}}}'
        )

        assert (await runtime.reload()).is_new
        assert await verdict(runtime, "xxx") == "invalid-arguments"


async def test_the_switch_interval_is_what_it_was(project):
    before = sys.getswitchinterval()
    async with project.open() as runtime:
        replace(project.tools, ECHO.replace("5s", "6s"))
        await runtime.reload()

    assert sys.getswitchinterval() == before


async def test_p8_rules_that_appear_in_a_subfolder_are_refused_and_named(project):
    async with project.open() as runtime:
        folder = project.tools.parent.parent / "policies.d" / "sub"
        folder.mkdir()
        (folder / "more.yaml").write_text(RULES)
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.generation) == (False, 1)
        assert [one.code for one in outcome.diagnostics] == ["not-read"]
        assert await verdict(runtime) == "x"


async def test_p8_a_misnamed_project_file_that_appears_is_refused_and_named(project):
    async with project.open() as runtime:
        (project.tools.parent.parent / "toolrt.yml").write_text("policy: required\n")
        outcome = await runtime.reload()

        assert (outcome.is_accepted, outcome.generation) == (False, 1)
        assert [one.code for one in outcome.diagnostics] == ["not-read"]
