"""A command that prints secrets: one run for all who ask, off the loop, bounded, silent."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.limits import AT_ONCE_S
from toolrt.core.calls import Caller
from toolrt.core.errors import CallError
from toolrt.expressions import vault_command
from toolrt.expressions.references import Reference, References

KEY = Reference("secret", "key")
ENVIRON = {"PATH": os.defpath}


@pytest.fixture
def vault(tmp_path):
    """`vault(body)`: one whose command is a script that notes each run in `runs`."""

    def made(body):
        path = tmp_path / "vault.sh"
        path.write_text(f"#!/bin/sh\necho x >> runs\n{body}\n")
        path.chmod(0o755)
        return vault_command.CommandVault([str(path)], ENVIRON, tmp_path)

    return made


@pytest.fixture
def references(tmp_path, vault):
    def made(body, *before):
        vault(body)
        command = {"command": [str(tmp_path / "vault.sh")]}
        return References(tmp_path, ENVIRON, [*before, command])

    return made


def runs(folder):
    path = folder / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo s3cr3t-value; exit 3", "ended with status 3"),
        ("kill -9 $$", "was ended by SIGKILL"),
        ("printf '\\377'", "printed no text"),
        ("true", "printed no text"),
        ("head -c 70000 /dev/zero", "printed more than 64 KiB"),
    ],
)
def test_command_that_fails_or_babbles_knows_nothing_and_says_why(vault, body, why):
    made = vault(body)

    assert made.look_up("x", None) is None
    assert made.place("x", None) == f"command vault.sh, which {why}"


def test_command_that_is_not_there_knows_nothing(tmp_path):
    made = vault_command.CommandVault(["/nowhere/vault"], {}, tmp_path)

    assert made.look_up("x", None) is None
    assert made.place("x", None).startswith("command vault, which could not be started")


@pytest.mark.realtime
def test_command_that_hangs_is_killed_with_its_children(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(vault_command, "_TIMEOUT_S", 0.2)
    made = vault("sleep 60 & echo $! > pid; wait")
    started = time.monotonic()

    assert made.look_up("x", None) is None

    assert time.monotonic() - started < AT_ONCE_S
    assert is_gone(int((tmp_path / "pid").read_text()))
    assert made.place("x", None) == "command vault.sh, which took longer than 0.2 s"


@pytest.mark.realtime
def test_command_that_closes_its_stdout_and_hangs_is_killed(vault, monkeypatch):
    monkeypatch.setattr(vault_command, "_TIMEOUT_S", 0.3)
    started = time.monotonic()

    assert vault("echo secret-1; exec >&-; sleep 60").look_up("x", None) is None
    assert time.monotonic() - started < AT_ONCE_S


@pytest.mark.realtime
@pytest.mark.parametrize("daemon", ["sleep 60 &", "setsid sleep 60 &"])
def test_daemon_that_holds_stdout_holds_nobody_up(vault, daemon):
    started = time.monotonic()

    assert vault(f"echo secret-1; {daemon}").look_up("x", None) == "secret-1"
    assert time.monotonic() - started < AT_ONCE_S


@pytest.mark.realtime
def test_daemon_that_never_stops_printing_holds_nobody_up(vault):
    started = time.monotonic()

    answer = vault("echo secret-1; (while sleep 0.01; do echo; done) &").look_up("x", None)

    assert answer.startswith("secret-1")
    assert time.monotonic() - started < AT_ONCE_S


@pytest.mark.anyio
@pytest.mark.parametrize("body", ["sleep 0.3; echo secret-1", "sleep 0.3; exit 3"])
async def test_thirty_at_once_share_one_run_and_the_loop_stays_free(references, tmp_path, body):
    made = references(body)
    turns = asyncio.create_task(turns_of_the_loop())

    await asyncio.gather(*(made.prepare([KEY]) for _ in range(30)))
    values = {value_of(made) for _ in range(30)}
    turns.cancel()

    assert runs(tmp_path) == 1
    assert len(values) == 1
    assert await turns > 5


async def turns_of_the_loop():
    turns = 0
    try:
        while True:
            await asyncio.sleep(0.005)
            turns += 1
    except asyncio.CancelledError:
        return turns


def value_of(references):
    try:
        return references.resolve(KEY).reveal()
    except CallError as error:
        return error.message


def test_threads_share_one_run_too(vault, tmp_path):
    made = vault("sleep 0.3; echo secret-1")
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(made.look_up("x", None))) for _ in range(10)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert found == ["secret-1"] * 10
    assert runs(tmp_path) == 1


@pytest.mark.anyio
async def test_who_stops_waiting_ends_the_run_for_nobody(references, tmp_path):
    made = references("sleep 0.3; echo secret-1")
    impatient = asyncio.create_task(made.prepare([KEY]))
    await asyncio.sleep(0.1)
    impatient.cancel()
    await made.prepare([KEY])

    assert value_of(made) == "secret-1"
    assert runs(tmp_path) == 1


@pytest.mark.anyio
async def test_failure_is_told_with_its_reason_and_without_what_was_printed(references):
    made = references("echo s3cr3t-value; echo s3cr3t-value >&2; exit 3", "env")
    await made.prepare([KEY])

    with pytest.raises(CallError) as caught:
        made.resolve(KEY)

    assert caught.value.code == "missing-credential"
    assert caught.value.message == (
        "${secret:key} has no value: no secret key "
        "(looked in TOOLRT_SECRET_KEY, command vault.sh, which ended with status 3)"
    )


@pytest.mark.anyio
async def test_failure_is_known_for_a_while_and_then_asked_about_again(
    references, tmp_path, monkeypatch
):
    made = references("test -e found && echo secret-1")
    for _ in range(3):
        await made.prepare([KEY])
    assert runs(tmp_path) == 1

    (tmp_path / "found").touch()
    monkeypatch.setattr(vault_command, "_FAILURE_STAYS_S", 0.0)
    await made.prepare([KEY])

    assert value_of(made) == "secret-1"
    assert runs(tmp_path) == 2


@pytest.mark.anyio
async def test_command_never_runs_on_the_loop(references, tmp_path):
    made = references("echo secret-1")

    assert "no secret key" in value_of(made)
    assert runs(tmp_path) == 0


@pytest.mark.anyio
async def test_command_is_not_asked_for_what_another_place_knows(references, tmp_path):
    made = references("echo secret-1", {"files": "keys"})
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "key").write_text("from a file")
    await made.prepare([KEY])

    assert value_of(made) == "from a file"
    assert runs(tmp_path) == 0


@pytest.mark.anyio
async def test_command_is_asked_for_each_tenant(references, tmp_path):
    made = references('echo "of-$1"')
    asked = Reference("tenant", "key")
    for tenant in ("acme", "other", "acme"):
        caller = Caller("a", tenant=tenant)
        await made.prepare([asked], caller)
        assert made.resolve(asked, caller).reveal() == f"of-{tenant}/key"
    assert runs(tmp_path) == 2


def test_no_run_outlives_the_process(tmp_path):
    code = (
        "import sys, time, pathlib\n"
        "from toolrt.expressions.vault_command import CommandVault\n"
        "pid = pathlib.Path('pid')\n"
        "vault = CommandVault(['/bin/sh', '-c', 'echo $$ > pid; sleep 60; :'], {}, pathlib.Path())\n"
        "vault.begin('x', None)\n"
        "while not (pid.exists() and pid.read_text()): time.sleep(0.01)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=20)

    assert is_gone(int((tmp_path / "pid").read_text()))


def test_no_more_threads_is_a_failure_like_others(vault, monkeypatch):
    def none_left(_self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    made = vault("echo secret-1")

    assert made.look_up("x", None) is None
    assert made.place("x", None).endswith("which could not be run")


def is_gone(pid):
    """A killed orphan may stay a zombie for a moment until its new parent collects it."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
