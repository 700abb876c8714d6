import asyncio
import errno
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.children import Workbench
from tests.limits import AT_ONCE_S
from toolrt.bindings import bubblewrap, sandbox, sandbox_folders
from toolrt.bindings.bubblewrap import Bubblewrap, Needs
from toolrt.bindings.oom import OomCount
from toolrt.bindings.process import ProcessRunner
from toolrt.core.errors import BindingError, RefusedError
from toolrt.manifest.project import ProjectFile

pytestmark = pytest.mark.anyio

WORKS = bubblewrap.program(Needs(network=False, write=True))
walled = pytest.mark.skipif(WORKS.path is None, reason=f"no sandbox here: {WORKS.detail}")
PATH = {"type": "string", "format": "path"}
TEXT = {"type": "string"}


@pytest.fixture
def tmp_path(disk):
    return disk


@pytest.fixture
async def bench(tmp_path):
    project = tmp_path / "project"
    (project / "out").mkdir(parents=True)
    (project / "note.txt").write_text("hello\n")
    (tmp_path / "canary").mkdir()
    (tmp_path / "canary" / "secret.txt").write_text("outside\n")
    bench = Workbench(project, {"TOKEN": "s3cret-value"})
    yield bench
    await bench.close()


def boxed(bench, script, **options):
    """A script in a sandbox; what it may write and the like are options."""
    more = {name: options.pop(name) for name in ("env", "limits", "success") if name in options}
    return bench.shell(script, {"sandbox": options, **more, "interpreter": ["bash"]})


async def said(bench, script, **options):
    return (await boxed(bench, script, **options).value()).split()


def is_alive(marker):
    """Whether any process has the marker among its arguments."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in file.read_bytes():
                return True
        except OSError:
            continue
    return False


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def children_of_ours():
    """None when there is not even a zombie."""
    with suppress(ChildProcessError):
        return os.waitpid(-1, os.WNOHANG)
    return None


async def soon(happened):
    """Whether it comes to be within ten seconds."""
    for _ in range(500):
        if happened():
            return True
        await asyncio.sleep(0.02)
    return False


async def gone(marker):
    return await soon(lambda: not is_alive(marker))


async def there(path):
    assert await soon(path.exists)


@walled
async def test_s11_a_run_reads_the_project_and_writes_only_what_it_may(bench):
    script = (
        "cat note.txt; touch out/made; for place in x note.txt /.t /usr/.t /etc/.t /dev/.t; do"
        ' (echo y > "$place") 2>/dev/null && echo "wrote $place"; done; true'
    )
    assert await said(bench, script, write=["out"]) == ["hello"]
    assert [each.name for each in (bench.project / "out").iterdir()] == ["made"]
    assert (bench.project / "note.txt").read_text() == "hello\n"


@walled
async def test_s11_nothing_of_the_machine_but_its_programs_is_there(bench, tmp_path):
    places = ["/root", "/etc/shadow", "/var/log", "/run", "/sys", "/boot", tmp_path / "canary"]
    script = f"ls -d {' '.join(map(str, places))} 2>/dev/null; ls -A /; ls -A {tmp_path}"
    shown = await said(bench, script)
    assert shown[-1] == "project"
    assert "etc" in shown
    assert set(shown[:-1]) <= {"bin", "dev", "etc", "proc", "sbin", "tmp", "usr", "var"} | {
        each for each in shown if each.startswith("lib")
    } | set(tmp_path.parts)


@walled
async def test_s11_a_link_of_the_project_leads_nowhere_outside(bench, tmp_path):
    (bench.project / "way").symlink_to(tmp_path / "canary")
    (bench.project / "up").symlink_to("../canary")
    script = "cat way/secret.txt up/secret.txt ../canary/secret.txt /proc/1/root{}/secret.txt"
    canary = tmp_path / "canary"
    with pytest.raises(BindingError) as failed:
        await boxed(bench, script.replace("{}", str(canary))).call()
    assert "stdout" not in failed.value.details
    assert failed.value.details["stderr"].count("No such file") == 4


@walled
async def test_s11_it_has_no_network_unless_it_asks_for_it(bench):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    script = f"(echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo in || echo out"
    try:
        assert await said(bench, script) == ["out"]
        assert await said(bench, script, network=True) == ["in"]
    finally:
        listener.close()


@walled
async def test_s11_a_socket_of_the_machine_without_a_name_is_out_of_reach(bench):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0toolrt-test-{os.getpid()}")
    listener.listen()
    code = f"import socket; socket.socket(1).connect('\\0toolrt-test-{os.getpid()}')"
    try:
        with pytest.raises(BindingError, match="refused"):
            await bench.command("python3", "-c", code, options={"sandbox": {}}).call()
    finally:
        listener.close()


@walled
async def test_s11_it_sees_and_signals_no_process_but_its_own(bench):
    script = (
        f"ls -d /proc/[0-9]* | wc -l; kill -0 {os.getpid()} 2>/dev/null && echo seen;"
        f" kill -0 {os.getppid()} 2>/dev/null && echo seen; tr '\\0' '\\n' </proc/1/cmdline | head -1"
    )
    count, first = await said(bench, script)
    assert int(count) <= 6
    assert first == "bwrap"


@walled
async def test_s11_it_has_no_rights_and_gets_none(bench):
    script = (
        "grep -E '^(CapPrm|CapEff|CapBnd|CapAmb):' /proc/self/status | cut -f2 | sort -u;"
        "grep NoNewPrivs /proc/self/status | cut -f2;"
        "(unshare -r true || mount -o remount,rw / || chroot / true) 2>/dev/null && echo up; true"
    )
    assert await said(bench, script) == ["0" * 16, "1"]


FILTERED = """
import ctypes, os, socket
call = ctypes.CDLL(None, use_errno=True).syscall
def told(*arguments):
    return -1 if call(*arguments) >= 0 else ctypes.get_errno()
print([told(number, 0, -3, 1) for number in NUMBERS], told(0x40000000 + 39))
for family in (1, 2, 10, 16, 17, 38, 40):
    try: socket.socket(family, 3 if family in (16, 17) else 1).close(); print("made")
    except OSError as error: print(error.errno)
print(len(socket.socketpair()))
"""


@walled
@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers are those of x86-64")
@pytest.mark.parametrize("network", [True, False])
async def test_s11_calls_that_lead_around_its_walls_are_refused(bench, network):
    """Keyrings and io_uring among them; sockets are those that the namespaces hold."""
    numbers = [248, 249, 250, 321, 298, 323, 425, 272, 308, 165]
    code = FILTERED.replace("NUMBERS", str(numbers))
    tool = bench.command("python3", "-c", code, options={"sandbox": {"network": network}})
    refused, *families, pair = (await tool.value()).splitlines()

    assert refused == f"{[errno.EPERM] * len(numbers)} {errno.ENOSYS}"
    assert families == ["made"] * 4 + [str(errno.EAFNOSUPPORT)] * 3
    assert pair == "2"


@walled
async def test_s11_programs_of_every_kind_work_behind_the_filter(bench):
    script = (
        "python3 -c 'import subprocess, threading, multiprocessing as m; t = threading.Thread(target=int);"
        ' t.start(); t.join(); print(m.Pool(2).map(abs, [-1])); print(subprocess.run(["true"]).returncode)\';'
        "echo a | sort | sed s/a/b/ | grep b; date +%Y | wc -c; tar c note.txt | tar t; (sleep 0 & wait)"
    )

    assert await said(bench, script) == ["[1]", "0", "b", "5", "note.txt"]


@walled
async def test_s11_settings_of_the_kernel_cannot_be_written(bench):
    """What a run of root would still be allowed by its number alone; nothing is written here."""
    code = (
        "import os\n"
        "for top in ('/proc/sys', '/proc/sysrq-trigger', '/proc/1/oom_score_adj'):\n"
        "    for at, _, names in os.walk(top):\n"
        "        for name in names:\n"
        "            try: os.close(os.open(f'{at}/{name}', os.O_WRONLY)); print(at, name)\n"
        "            except OSError: pass\n"
        "    try: os.close(os.open(top, os.O_WRONLY)); print(top)\n"
        "    except OSError: pass\n"
    )
    assert await bench.command("python3", "-c", code, options={"sandbox": {}}).value() == ""


@walled
async def test_s11_it_has_no_descriptor_but_its_three_streams(bench):
    (bench.project / "more").mkdir()
    held = os.open(bench.project, os.O_RDONLY)
    os.set_inheritable(held, True)
    script = "ls /proc/$$/fd; true"
    try:
        shown = await said(bench, script, write=["out", "more"])
    finally:
        os.close(held)
    assert set(shown) <= {"0", "1", "2", "255"}


@walled
async def test_s11_home_and_tmp_are_its_own_and_gone_afterwards(bench):
    script = 'echo "$HOME"; ls -A "$HOME"; echo a > "$HOME/a"; echo b > /tmp/b; cat ~/a /tmp/b'
    for _ in range(2):
        assert await said(bench, script) == ["/tmp/.home", "a", "b"]


@walled
async def test_s11_what_it_keeps_in_memory_has_an_end(bench):
    script = (
        "for place in /tmp /dev/shm; do for n in 1 2 3; do"
        " head -c 600000 /dev/zero > $place/$n 2>/dev/null || echo full; done; done"
    )
    shown = await said(bench, script, limits={"file_size": "1MiB"})
    assert shown.count("full") >= 4


@walled
async def test_s5_the_environment_is_the_declared_one(bench):
    tool = boxed(bench, 'echo "$A ${TOKEN:-none} $PWD"', env={"A": "${env:TOKEN}"})
    assert (await tool.value()).split() == ["s3cret-value", "none", str(bench.project)]


@walled
async def test_s11_what_the_loader_reads_is_for_the_program_alone(bench):
    """A library that a run has left behind must not get into the sandbox's own program."""
    (bench.project / "out" / "x.so").write_text("no library")
    tool = bench.command(
        "sh", "-c", 'echo "$LD_PRELOAD"',
        options={"sandbox": {"write": ["out"]}, "env": {"LD_PRELOAD": "./out/x.so"}},
    )  # fmt: skip
    answer = await tool.call()
    assert answer.value == "./out/x.so\n"
    assert b"bwrap" not in answer.stderr.encode()


@walled
async def test_state_and_secrets_of_the_project_are_not_seen(bench):
    for folder in (".toolrt", "keys"):
        (bench.project / folder).mkdir()
        (bench.project / folder / "key").write_text("k")
    settings = ProjectFile.model_validate({"secrets": [{"files": "keys"}]})
    script = "cat .toolrt/key keys/key; ls -A .toolrt keys"
    tool = bench.bind("shell", {"script": script, "sandbox": {}}, settings=settings)
    with pytest.raises(BindingError, match="No such file"):
        await tool.call()


@walled
async def test_state_that_comes_while_it_runs_is_not_seen_either(bench):
    script = "for n in $(seq 60); do ls .toolrt; sleep 0.05; [ -e out/stop ] && exit; done"
    tool = boxed(bench, f"touch out/on; {script}", write=["out"])
    task = asyncio.ensure_future(tool.value())
    await there(bench.project / "out" / "on")
    (bench.project / ".toolrt" / "key").write_text("k")
    await asyncio.sleep(0.1)
    (bench.project / "out" / "stop").touch()
    assert await task == ""


@walled
async def test_a_folder_to_write_that_became_a_link_is_refused_when_it_runs(bench, tmp_path):
    tool = boxed(bench, "echo x > out/secret.txt", write=["out"])
    (bench.project / "out").rmdir()
    (bench.project / "out").symlink_to(tmp_path / "canary")
    invocation = tool.invocation({})
    with pytest.raises(BindingError, match="is not there or is a link") as failed:
        await tool.binding.call(invocation)
    assert (failed.value.code, invocation.sent) == ("unavailable", "never")
    assert (tmp_path / "canary" / "secret.txt").read_text() == "outside\n"


@walled
async def test_a_folder_that_is_swapped_for_a_link_while_it_starts_stays_what_it_was(
    bench, tmp_path, monkeypatch
):
    real = sandbox_folders.open_beneath

    def swapped(project, folder):
        opened = real(project, folder)
        (bench.project / "out").rename(bench.project / "moved")
        (bench.project / "out").symlink_to(tmp_path / "canary")
        return opened

    monkeypatch.setattr(sandbox, "open_beneath", swapped)
    with pytest.raises(BindingError):
        await boxed(bench, "echo x > out/secret.txt", write=["out"]).call()
    assert (tmp_path / "canary" / "secret.txt").read_text() == "outside\n"


@walled
async def test_paths_that_a_parameter_leads_to_can_be_read_and_not_written(bench, tmp_path):
    schema = {**PATH, "root": str(tmp_path / "canary")}
    options = {"sandbox": {}}
    tool = bench.command("cat", "--", "{{ file }}", options=options, file=dict(schema))
    assert await tool.value(file="secret.txt") == "outside\n"
    tool = bench.command("touch", "--", "{{ file }}", options=options, file=dict(schema))
    with pytest.raises(BindingError, match="Read-only"):
        await tool.call(file="new.txt")


@walled
async def test_s10_limits_hold_inside(bench):
    script = "ulimit -n -f -t -c"
    tool = boxed(bench, f"sleep 0.1; {script}", limits={"open_files": 77, "cpu": "7s"})
    assert [line.split()[-1] for line in (await tool.value()).splitlines()] == [
        "77",
        str(1024**2),
        "7",
        "0",
    ]


@walled
async def test_s10_a_limit_on_memory_is_the_programs(bench):
    code = "import time; time.sleep(0.2); bytearray(2**30)"
    options = {"sandbox": {}, "limits": {"memory": "500MiB"}}
    with pytest.raises(BindingError, match="MemoryError"):
        await bench.command("python3", "-c", code, options=options).call()


@walled
@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("exit 3", "execution-failed", "exited with 3"),
        ("kill -9 $$", "signaled", r"signal 9 \(SIGKILL\)"),
        ("kill -SEGV $$", "signaled", r"signal 11 \(SIGSEGV\)"),
        ("ulimit -c 0; while :; do :; done", "signaled", "more processor time than `limits.cpu`"),
        ("exit 129", "execution-failed", "exited with 129"),
        ("exit 141", "execution-failed", "exited with 141"),
        ("exit 200", "execution-failed", "exited with 200"),
        ("no-such-program", "execution-failed", "exited with 127 .a program was not found"),
        ("kill -9 0", "signaled", "signal 9"),
    ],
)
async def test_s12_ends_are_told_as_those_of_any_other(bench, script, code, message):
    with pytest.raises(BindingError, match=message) as failed:
        await boxed(bench, script, limits={"cpu": "1s"}).call()
    assert failed.value.code == code


@walled
async def test_s12_a_code_of_success_is_no_signal(bench):
    tool = boxed(bench, "echo so; exit 137", success=[0, 137])
    assert await tool.value() == "so\n"


@walled
async def test_s12_want_of_memory_is_told(bench, monkeypatch):
    monkeypatch.setattr(OomCount, "has_grown", lambda _self, _before: True)
    with pytest.raises(BindingError, match="out of memory"):
        await boxed(bench, "kill -9 $$").call()


@walled
async def test_s7_what_has_a_session_of_its_own_ends_with_the_run(bench):
    marker = "31.4159"
    script = f"setsid sleep {marker} >/dev/null 2>&1 & setsid setsid sleep {marker} & echo on"
    assert await said(bench, script) == ["on"]
    assert await gone(marker)


@walled
@pytest.mark.realtime
async def test_s7_cancelled_run_leaves_nothing_whatever_it_has_started(bench):
    marker = "32.7182"
    script = (
        f"trap '' TERM; setsid sleep {marker} & (trap '' TERM; setsid sleep {marker}) &"
        f" touch out/on; sleep {marker}"
    )
    runner = bench.services.share(ProcessRunner)
    runner.grace_s = 0.1
    task = asyncio.ensure_future(boxed(bench, script, write=["out"]).call())
    await there(bench.project / "out" / "on")
    started = time.monotonic()
    task.cancel()
    await asyncio.wait([task])
    assert time.monotonic() - started < AT_ONCE_S
    await runner.close()
    assert await gone(marker)


@walled
async def test_s7_a_run_that_obeys_term_may_clean_up(bench):
    script = "trap 'echo done > out/note; exit 0' TERM; touch out/on; sleep 30 & wait"
    task = asyncio.ensure_future(boxed(bench, script, write=["out"]).call())
    await there(bench.project / "out" / "on")
    task.cancel()
    await asyncio.wait([task])
    await bench.services.share(ProcessRunner).close()
    assert (bench.project / "out" / "note").read_text() == "done\n"


@walled
async def test_s7_runs_end_with_the_process_that_started_them(bench):
    marker = "33.1415"
    text = (
        "import asyncio, os\n"
        "from pathlib import Path\n"
        "from tests.children import Workbench\n"
        f"bench = Workbench(Path({str(bench.project)!r}))\n"
        f"tool = bench.shell('touch out/on; setsid sleep {marker}', {{'sandbox': {{'write': ['out']}}}})\n"
        "asyncio.run(tool.call())\n"
    )
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", text, cwd=Path.cwd())
    await there(bench.project / "out" / "on")
    child.send_signal(signal.SIGKILL)
    await child.wait()
    assert await gone(marker)


@walled
async def test_neither_descriptors_nor_children_of_ours_gather(bench):
    tool = boxed(bench, "true", write=["out"])
    await tool.call()
    before = open_descriptors()
    for _ in range(3):
        await asyncio.gather(*(tool.call() for _ in range(3)))
    await bench.services.share(ProcessRunner).close()
    assert open_descriptors() <= before
    assert children_of_ours() is None


@walled
async def test_s7_no_zombie_is_left_where_orphans_are_ours(bench):
    text = (
        "import asyncio, ctypes, os\n"
        "from pathlib import Path\n"
        "from tests.children import Workbench\n"
        "ctypes.CDLL(None).prctl(36, 1)\n"  # PR_SET_CHILD_SUBREAPER
        f"bench = Workbench(Path({str(bench.project)!r}))\n"
        "tool = bench.shell('sleep 30 & setsid sleep 30 & true', {'sandbox': {}})\n"
        "async def main():\n"
        "    await asyncio.gather(*(tool.call() for _ in range(3)))\n"
        "    await bench.close()\n"
        "asyncio.run(main())\n"
        "try: print(os.waitpid(-1, os.WNOHANG))\n"
        "except ChildProcessError: print('none')\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", text, cwd=Path.cwd(), stdout=subprocess.PIPE
    )
    assert (await child.communicate())[0] == b"none\n"


@walled
async def test_a_sandbox_that_cannot_be_set_up_is_told_without_a_path(bench):
    (bench.project / "tool").write_text("#!/no/such/interpreter\n")
    (bench.project / "tool").chmod(0o755)
    tool = bench.command("./tool", options={"sandbox": {}})
    with pytest.raises(BindingError, match="sandbox could not be set up") as failed:
        await tool.call()
    assert failed.value.code == "unavailable"
    assert str(bench.project) not in f"{failed.value}{failed.value.hint}"


@walled
async def test_more_arguments_than_a_sandbox_takes_are_refused(bench):
    tool = bench.command(
        "true", "--", "{{ v }}", options={"sandbox": {}}, v={"type": "array", "items": TEXT}
    )
    assert (await tool.call(v=["x"] * 8000)).value == ""
    with pytest.raises(RefusedError, match="too many arguments for a sandbox"):
        await tool.call(v=["x"] * 9000)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("/tmp", "below the project"),
        ("~/x", "below the project"),
        ("out/../..", "below the project"),
        ("..", "below the project"),
        (".", "below the project"),
        ("", "below the project"),
        ("{{ v }}", "below the project"),
        ("missing/folder", "there is no folder"),
        ("note.txt", "is no folder"),
        ("way", "leads through a symbolic link"),
        ("way/inside", "leads through a symbolic link"),
        ("tools.d", "decides what runs outside"),
        ("sub/Policies.d", "decides what runs outside"),
        (".git/hooks", "decides what runs outside"),
        (".toolrt", "decides what runs outside"),
        ("rules/deep", "decides what runs outside"),
        ("data", "decides what runs outside"),
        ("data/out", "decides what runs outside"),
    ],
)
async def test_what_cannot_be_written_is_refused_at_load(bench, tmp_path, folder, message):
    (bench.project / "way").symlink_to(tmp_path / "canary")
    settings = ProjectFile.model_validate({"policies_dir": "rules", "state": "data/state.db"})
    options = {"script": "true", "sandbox": {"write": ["out", folder]}}
    tool = bench.bind("shell", options, settings=settings)
    assert tool.faults == [("invalid-folder", ("sandbox", "write", 1), "error")]
    assert message in tool.context.faults[0].message


async def test_a_missing_folder_says_how_to_make_it(bench):
    tool = boxed(bench, "true", write=["./a//b"])
    assert tool.context.faults[0].hint == "make it: mkdir -p a/b"


@pytest.mark.parametrize("state", ["state.db", "./state.db"])
async def test_state_in_the_projects_own_folder_cannot_be_hidden(bench, state):
    settings = ProjectFile.model_validate({"state": state})
    tool = bench.bind("shell", {"script": "true", "sandbox": {}}, settings=settings)
    assert tool.faults == [("sandbox-too-wide", ("sandbox",), "error")]


@pytest.mark.parametrize("root", ["/", "/tmp", "/etc", "/proc/self", "/dev", "/var"])
async def test_paths_that_lead_to_the_system_itself_are_too_wide(bench, root):
    tool = bench.command("cat", "{{ p }}", options={"sandbox": {}}, p={**PATH, "root": root})
    assert tool.faults == [("sandbox-too-wide", ("sandbox",), "error")]


async def test_a_project_by_another_name_is_not_shown_by_its_own(bench, tmp_path):
    (tmp_path / "link").symlink_to(bench.project)
    other = Workbench(tmp_path / "link")
    tool = other.command(
        "cat", "{{ p }}", options={"sandbox": {}}, p={**PATH, "root": str(tmp_path)}
    )
    assert tool.faults == [("sandbox-too-wide", ("sandbox",), "error")]


@pytest.mark.parametrize(
    "raw", [{"net": True}, {"network": "no"}, {"write": "out"}, "all", True, []], ids=str
)
async def test_a_sandbox_of_another_shape_is_refused(bench, raw):
    with pytest.raises(ValidationError):
        bench.shell("true", {"sandbox": raw})


@walled
async def test_a_program_that_the_sandbox_would_not_show_makes_the_tool_unavailable(
    bench, tmp_path
):
    program = tmp_path / "canary" / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (bench.project / "run").symlink_to(program)
    for name in (str(program), "./run"):
        tool = bench.command(name, options={"sandbox": {}})
        assert "kept where its sandbox shows nothing" in tool.context.unavailable
        assert str(tmp_path) not in tool.context.unavailable


async def test_s11_without_bubblewrap_the_tool_is_unavailable_and_never_runs(bench, monkeypatch):
    none = Bubblewrap(None, "needs bubblewrap, which is not installed")
    monkeypatch.setattr(sandbox, "program", lambda _needs: none)
    tool = boxed(bench, "touch out/ran", write=["out"])
    assert tool.faults == []
    assert tool.context.unavailable == "its sandbox needs bubblewrap, which is not installed"
    with pytest.raises(BindingError) as failed:
        await tool.call()
    assert failed.value.sent == "never"
    assert list((bench.project / "out").iterdir()) == []


async def test_preview_shows_the_sandbox(bench):
    tool = boxed(bench, "true", write=["out"])
    shown = tool.binding.preview(tool.invocation({}))
    assert shown["sandbox"] == {"network": False, "write": ["out"]}
    assert "sandbox" not in bench.shell("true").binding.preview(tool.invocation({}))


@pytest.mark.parametrize(
    ("options", "asks"),
    [
        ({}, True),
        ({"sandbox": {}}, False),
        ({"sandbox": {"network": True}}, True),
        ({"sandbox": {"write": ["out"]}}, True),
        ({"sandbox": {}, "env": {"KEY": "${env:TOKEN}"}}, True),
        ({"sandbox": {}, "stdin": "${env:TOKEN}"}, True),
    ],
    ids=str,
)
async def test_p16_text_for_an_interpreter_asks_unless_nothing_gets_out(bench, options, asks):
    tool = bench.command("python3", "-c", "{{ code }}", options=options, code=TEXT)
    assert tool.context.hands_text_on == asks
    assert bool(tool.faults) == asks
