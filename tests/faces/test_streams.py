"""The process's streams: stdout is data alone, and none of the three has to work."""

import json
import os
import subprocess
import sys

import pytest

NOISY = '''\
import ctypes
import os
import subprocess
import sys

os.write(1, b"noise of the import\\n")
subprocess.run(["echo", "noise of a child of the import"], check=True)


def loud() -> int:
    """Make noise in every way."""
    os.write(1, b"noise by number\\n")
    print("noise by print")
    print("noise by the real stdout", file=sys.__stdout__, flush=True)
    ctypes.CDLL(None).puts(b"noise of C")
    ctypes.CDLL(None).fflush(None)
    subprocess.run(["echo", "noise of a child"], check=True)
    return 7


def asks(word: str) -> str:
    """Ask on the terminal."""
    return input("really? ") + word
'''

TOOLS = """\
namespace: t
tools:
  loud: {python: "noisy:loud"}
  apart: {description: Elsewhere., python: {call: "noisy:loud", run_in: process}}
  asks: {python: "noisy:asks"}
  said: {description: Say it., command: [echo, said]}
"""


@pytest.fixture
def noisy(tmp_path):
    (tmp_path / "tools.d").mkdir()
    (tmp_path / "tools.d" / "t.yaml").write_text(TOOLS)
    (tmp_path / "noisy.py").write_text(NOISY)
    return tmp_path


QUIET = """\
namespace: t
tools:
  loud: {description: L., python: "noisy:loud"}
  said: {description: Say it., command: [echo, said]}
"""


@pytest.fixture
def quiet(noisy):
    """The same without noise: a stderr that is full makes it fail."""
    (noisy / "tools.d" / "t.yaml").write_text(QUIET)
    (noisy / "noisy.py").write_text("def loud() -> int:\n    print('!')\n    return 7\n")
    return noisy


def toolrt(folder, *args, redirect="", **more):
    """The command line behind a shell that redirects its streams."""
    command = ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-m", "toolrt", *args]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=30, check=False,
        stdin=more.pop("stdin", subprocess.DEVNULL), **more,
    )  # fmt: skip


@pytest.mark.parametrize("args", [
    ("run", "t.loud"),
    ("run", "t.apart"),
    ("run", "t.loud", "--dry-run"),
    ("check",),
    ("list",),
    ("show", "t.loud"),
], ids=" ".join)  # fmt: skip
def test_stdout_is_data_alone_whoever_else_writes_there(noisy, args):
    done = toolrt(noisy, *args, "-o", "json")

    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert "noise of the import\n" in done.stderr
    assert "noise of a child of the import\n" in done.stderr


@pytest.mark.parametrize("tool", ["t.loud", "t.apart"])
def test_what_a_callable_writes_in_any_way_is_talk(noisy, tool):
    done = toolrt(noisy, "run", tool)

    assert done.stdout == "7\n"
    ways = ("by number", "by print", "by the real stdout", "of C", "of a child")
    assert all(f"noise {way}\n" in done.stderr for way in ways)


def test_a_callable_may_ask_on_stdin(noisy):
    done = toolrt(noisy, "run", "t.asks", "word=!", input="yes\n", stdin=None)

    assert (done.returncode, done.stdout) == (0, "yes!\n")
    assert "really? " in done.stderr


def test_a_callable_that_closes_its_streams_closes_none_of_ours(noisy):
    source = "import sys\n\n\ndef loud() -> int:\n    sys.stdout.close()\n    sys.stderr.close()\n"
    (noisy / "noisy.py").write_text(f"{source}    return undefined\n")
    (noisy / "tools.d" / "t.yaml").write_text(QUIET)
    done = toolrt(noisy, "run", "t.loud")

    assert done.returncode == 1
    assert done.stderr.startswith("error[execution-failed]: NameError")


@pytest.mark.parametrize("redirect", ["<&-", "0>/dev/null"])
def test_a_stdin_that_cannot_be_read_is_wrong_usage(quiet, redirect):
    done = toolrt(quiet, "run", "t.said", "-", redirect=redirect)

    assert done.returncode == 2
    assert done.stderr.startswith("error[")


EVERY_WAY = [("--help",), ("list",), ("run", "t.said"), ("schema", "-o", "json")]


@pytest.mark.parametrize(
    ("args", "redirect"),
    [
        *[(("run", "t.said"), redirect) for redirect in ("<&-", ">&-", "2>&-")],
        *[(args, "<&- >&- 2>&-") for args in EVERY_WAY],
    ],
    ids=str,
)
def test_a_closed_stream_is_nowhere_and_no_fault(quiet, args, redirect):
    done = toolrt(quiet, *args, redirect=redirect)

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr


@pytest.mark.parametrize("redirect", ["<&- >&- 2>&-"])
def test_a_closed_stream_gives_its_number_to_no_socket(noisy, redirect, tmp_path):
    (noisy / "noisy.py").write_text(
        "import socket\nfrom pathlib import Path\n\n\n"
        "def socket_number() -> int:\n    with socket.socket() as made:\n"
        f"        Path({str(tmp_path / 'number')!r}).write_text(str(made.fileno()))\n"
        "    return 0\n"
    )
    (noisy / "tools.d" / "t.yaml").write_text(
        'tools: {socket: {description: S., python: "noisy:socket_number"}}'
    )
    assert toolrt(noisy, "run", "socket", redirect=redirect).returncode == 0
    assert int((tmp_path / "number").read_text()) > 2


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("args", "status"), [(("nope",), 2), (("run", "t.nope"), 7), (("run", "t.loud"), 0)], ids=str
)
def test_talk_that_nobody_hears_leaves_the_status_as_it_is(quiet, args, status, redirect):
    assert toolrt(quiet, *args, redirect=redirect).returncode == status


@pytest.mark.parametrize("args", EVERY_WAY, ids=" ".join)
def test_data_that_is_lost_is_one_error(quiet, args):
    done = toolrt(quiet, *args, redirect=">/dev/full")

    assert done.returncode == 1
    [line] = [each for each in done.stderr.splitlines() if each.startswith("error")]
    assert line == "error[output]: cannot write the output: No space left on device"
    assert "Traceback" not in done.stderr


def test_data_and_talk_may_be_lost_together(quiet):
    assert toolrt(quiet, "list", redirect=">/dev/full 2>&1").returncode == 1


def test_a_failure_whose_document_is_lost_keeps_its_status(quiet):
    done = toolrt(quiet, "run", "t.nope", "-o", "json", redirect=">/dev/full")

    assert done.returncode == 7
    assert "error[output]: cannot write the output" in done.stderr


@pytest.mark.parametrize("args", EVERY_WAY, ids=" ".join)
def test_a_reader_that_has_gone_away_is_quiet(quiet, args):
    theirs, ours = os.pipe()
    os.close(theirs)
    command = [sys.executable, "-m", "toolrt", *args]
    done = subprocess.run(
        command, cwd=quiet, stdout=ours, stderr=subprocess.PIPE, text=True, timeout=30, check=False
    )
    os.close(ours)

    assert done.returncode == 0
    assert done.stderr == ""


def test_a_pipe_that_does_not_block_loses_nothing(noisy):
    (noisy / "tools.d" / "more.yaml").write_text(
        "tools: {much: {description: M., result: {max_size: 1MB}, command: [seq, '50000']}}"
    )
    theirs, ours = os.pipe()
    os.set_blocking(ours, False)
    process = subprocess.Popen(
        [sys.executable, "-m", "toolrt", "run", "much"], cwd=noisy, stdout=ours
    )
    os.close(ours)
    with os.fdopen(theirs, "rb") as pipe:
        told = pipe.read()

    assert process.wait(30) == 0
    assert told == b"".join(b"%d\n" % number for number in range(1, 50001))


@pytest.mark.parametrize(("words", "said"), [("toolrt sho", "show"), ("toolrt run t.sa", "t.said")])
def test_completion_gives_words_and_no_failure(noisy, words, said):
    asked = {"_TOOLRT_COMPLETE": "bash_complete", "COMP_WORDS": words}
    count = str(len(words.split()) - 1)
    done = toolrt(noisy, env={**os.environ, **asked, "COMP_CWORD": count})

    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


@pytest.mark.parametrize("verb", ["check", "list", "doctor"])
def test_a_module_that_leaves_by_os_exit_is_a_finding_with_its_place(noisy, verb):
    (noisy / "noisy.py").write_text("import os\n\nos._exit(0)\n")
    done = toolrt(noisy, verb)

    assert done.returncode != 0
    if verb != "doctor":
        assert "os._exit(0)" in done.stderr + done.stdout
        assert "noisy.py:3" in done.stderr + done.stdout


def test_a_callable_that_leaves_by_os_exit_has_failed(noisy):
    source = (
        "import os\n\n\ndef leaves() -> int:\n    os._exit(0)\n\n\n"
        "def forks() -> int:\n    pid = os.fork()\n    if not pid:\n        os._exit(3)\n"
        "    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
    )
    (noisy / "noisy.py").write_text(source)
    (noisy / "tools.d" / "t.yaml").write_text(
        "defaults: {description: D.}\ntools: {leaves: {python: 'noisy:leaves'}, "
        "forks: {python: 'noisy:forks'}, inline: {python: {call: 'noisy:leaves', run_in: inline}}}"
    )
    for tool in ("leaves", "inline"):
        done = toolrt(noisy, "run", tool)
        assert done.returncode == 1
        assert "os._exit(0)" in done.stderr
    assert toolrt(noisy, "run", "forks").stdout == "3\n"


LINGERS = '''\
import atexit


def lingers() -> int:
    """Is heard until the process ends."""
    atexit.register(print, "goodbye")
    return 7
'''


def test_what_a_callable_leaves_behind_writes_no_data_at_the_end(tmp_path):
    (tmp_path / "tools.d").mkdir()
    (tmp_path / "tools.d" / "t.yaml").write_text('tools: {lingers: {python: "lingering:lingers"}}')
    (tmp_path / "lingering.py").write_text(LINGERS)
    done = toolrt(tmp_path, "run", "lingers")
    assert (done.stdout, done.returncode) == ("7\n", 0)
    assert done.stderr == "goodbye\n"
