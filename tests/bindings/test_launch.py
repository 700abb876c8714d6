import errno
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from toolrt.bindings import launch as launching
from toolrt.bindings.launch import launch, launch_by_popen, launch_directly

WAYS = [launch_directly, launch_by_popen]
ENV = {b"PATH": b"/usr/bin:/bin", b"LANG": b"C.UTF-8", b"ODD": "zwei=2 ü".encode()}


@pytest.fixture(params=WAYS, ids=["directly", "by popen"])
def way(request):
    """Each way to start a program: they must not differ."""
    before = open_descriptors()
    yield request.param
    assert open_descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def said(way, *argv, executable=None, env=ENV, cwd=b"/", stdin=os.devnull):
    """What a program writes to stdout and stderr, and its status."""
    out, end = os.pipe()
    given = os.open(stdin, os.O_RDONLY)
    try:
        found = executable or b"/bin/%b" % argv[0]
        pid = way(found, list(argv), env, cwd, (given, end, end))
    except BaseException:
        os.close(out)
        raise
    finally:
        os.close(given)
        os.close(end)
    with os.fdopen(out, "rb") as text:
        return text.read(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_the_short_way_is_taken_on_the_versions_that_are_known():
    is_known = sys.implementation.name == "cpython" and sys.version_info < (3, 15)
    assert launch is (launch_directly if is_known else launch_by_popen)


def taking(names):
    def fork_exec():
        pass

    fork_exec.__text_signature__ = f"($module, {', '.join(names.split())}, /)"
    return fork_exec


KNOWN = launching._PARAMETERS


@pytest.mark.parametrize(
    ("version", "names", "flag"),
    [
        ((3, 10), f"{KNOWN} allow_vfork", None),
        ((3, 12), f"{KNOWN} allow_vfork", (True,)),
        ((3, 13), f"{KNOWN} allow_vfork", (True,)),
        ((3, 14), KNOWN, ()),
        ((3, 14), f"{KNOWN} allow_vfork", (True,)),
        ((3, 14), f"{KNOWN} another", None),
        ((3, 14), KNOWN.replace("gid", "uid"), None),
        ((3, 14), "", None),
        ((3, 15), KNOWN, None),
        ((4, 11), KNOWN, None),
    ],
)
def test_a_function_that_is_not_known_is_never_called(monkeypatch, version, names, flag):
    monkeypatch.setattr(sys, "version_info", (*version, 1))
    monkeypatch.setattr(launching, "_fork_exec", taking(names))
    assert launching._vfork_flag() == flag


def test_python_3_11_cannot_say_what_its_function_takes(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 11, 9))
    assert launching._vfork_flag() == (True,)
    monkeypatch.delattr(subprocess, "_fork_exec")
    assert launching._vfork_flag() is None


def test_another_python_takes_the_long_way(monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    assert launching._vfork_flag() is None


def test_s1_arguments_environment_and_folder_arrive_byte_by_byte(way, tmp_path):
    script = b'printf "%s|" "$0" "$@" "$ODD"; pwd; env | wc -l'
    argv = (b"bash", b"-c", script, b"a b", b"", b"*", b"\xff\n", "ü".encode())
    text, status = said(way, *argv, cwd=os.fsencode(tmp_path))
    assert text.startswith(b"a b||*|\xff\n" + "|ü|zwei=2 ü|".encode())
    assert text.split(b"|")[-1].split() == [os.fsencode(tmp_path), b"6"]  # PWD, SHLVL, _ of bash
    assert status == 0


def test_s6_session_umask_and_descriptors_are_the_childs_own(way):
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)
    script = b"umask; ls /proc/$$/fd; cut -d' ' -f5-7 /proc/$$/stat; echo $$"
    try:
        text, _ = said(way, b"bash", b"-c", script)
    finally:
        os.close(leak)
    umask, *descriptors, group, session, terminal, pid = text.split()
    assert umask == b"0077"
    assert set(descriptors) <= {b"0", b"1", b"2", b"255"}
    assert (group, session, terminal) == (pid, pid, b"0")


def test_s6_signals_that_python_ignores_are_not_ignored_by_the_child(way):
    text, _ = said(way, b"grep", b"-E", b"^Sig(Ign|Blk)", b"/proc/self/status")
    blocked, ignored = (int(line.split()[1], 16) for line in text.splitlines())
    of_python = sum(1 << number - 1 for number in (signal.SIGPIPE, signal.SIGXFSZ))
    assert (blocked, ignored & of_python) == (0, 0)
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN


def test_argv_0_need_not_be_the_name_of_the_program(way):
    text, _ = said(way, b"other", b"-c", b"echo $0", executable=b"/bin/bash")
    assert text == b"other\n"


@pytest.mark.parametrize(
    ("change", "number", "where"),
    [
        ({"executable": b"/no/such"}, errno.ENOENT, b"/no/such"),
        ({"executable": b"/etc/passwd"}, errno.EACCES, b"/etc/passwd"),
        ({"executable": b"/etc"}, errno.EACCES, b"/etc"),
        ({"cwd": b"/no/such"}, errno.ENOENT, b"/no/such"),
        ({"cwd": b"/etc/passwd"}, errno.ENOTDIR, b"/etc/passwd"),
        ({"argv": [b"true", *[b"x" * 100_000] * 60]}, errno.E2BIG, b"/bin/true"),
        ({"argv": [b"true", b"x" * 200_000]}, errno.E2BIG, b"/bin/true"),
    ],
)
def test_what_cannot_be_started_says_what_and_leaves_nothing(way, change, number, where):
    good = {"executable": b"/bin/true", "argv": [b"true"], "cwd": b"/"}
    asked = {**good, **change}
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        said(way, *asked.pop("argv"), **asked)
    assert (caught.value.errno, caught.value.filename) == (number, where)
    assert type(caught.value) is type(OSError(number, ""))


@pytest.mark.parametrize("failure", [b"OSE", b"OSError:", b"OSError:zz:noexec", b"\xff"])
def test_a_child_that_died_while_it_told_of_its_failure_is_a_failure(monkeypatch, failure):
    monkeypatch.setattr(launching, "_fork_exec", lambda *given: dying(failure, given[13]))
    with pytest.raises(OSError, match="/bin/true") as caught:
        launch_directly(b"/bin/true", [b"true"], ENV, b"/", (0, 1, 2))
    assert caught.value.errno == errno.EIO


def dying(words, tell):
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.write(tell, words)
    return pid


def test_no_descriptor_is_left_when_the_system_gives_no_process(monkeypatch):
    def refuse(*_given):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(launching, "_fork_exec", refuse)
    before = open_descriptors()
    with pytest.raises(BlockingIOError):
        launch_directly(b"/bin/true", [b"true"], ENV, b"/", (0, 1, 2))
    assert open_descriptors() == before


def in_a_process_of_its_own(code, **options):
    code = textwrap.dedent(code)
    path = {"PYTHONPATH": str(Path(launching.__file__).parents[2])}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env=path, capture_output=True, check=True, **options).stdout


@pytest.mark.parametrize("name", ["launch_directly", "launch_by_popen"])
def test_hooks_of_the_host_hear_of_each_program(name):
    heard = in_a_process_of_its_own(f"""
        import os, sys
        from toolrt.bindings.launch import {name} as way
        sys.addaudithook(lambda event, about: event == "subprocess.Popen" and print(*about))
        pid = way(b"/bin/true", [b"true", b"x"], {{b"A": b"1"}}, b"/", (0, 1, 2))
        os.waitpid(pid, 0)
    """)
    assert heard == b"b'/bin/true' [b'true', b'x'] b'/' {b'A': b'1'}\n"


@pytest.mark.parametrize("name", ["launch_directly", "launch_by_popen"])
def test_a_process_without_streams_of_its_own_gives_its_children_theirs(name, tmp_path):
    answer = tmp_path / "answer"
    in_a_process_of_its_own(f"""
        import os
        from toolrt.bindings.launch import {name} as way
        os.closerange(0, 3)
        reading, writing = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        for cwd in (b"/no/such", b"/"):
            try:
                pid = way(b"/bin/echo", [b"echo", b"hi"], {{}}, cwd, (null, writing, writing))
            except FileNotFoundError as error:
                missing = error.filename
        os.close(writing)
        text = os.read(reading, 99)
        os.waitpid(pid, 0)
        with open({str(answer)!r}, "wb") as file:
            file.write(missing + text)
    """)
    assert answer.read_bytes() == b"/no/suchhi\n"


def test_popen_keeps_no_hold_of_a_child_that_somebody_else_waits_for(way):
    pid = way(b"/bin/true", [b"true"], ENV, b"/", (0, 1, 2))
    with suppress(AttributeError):
        assert pid not in [child.pid for child in subprocess._active]
    assert os.waitpid(pid, 0) == (pid, 0)
