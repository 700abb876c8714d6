"""Starting a program in a session of its own, by the shortest way that this interpreter has.

`subprocess.Popen` spends four fifths of its time on options that a command never uses. Where
CPython's `_posixsubprocess.fork_exec` is one that is known, `launch` calls it itself, with what
Popen would give it; anywhere else it is Popen. Both ways do the same and fail alike.
"""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

Launch = Callable[[bytes, Sequence[bytes], Mapping[bytes, bytes], bytes, tuple[int, ...]], int]
"""Executable, arguments, environment, working folder, and descriptors -> the pid.

The descriptors are for stdin, stdout and stderr; the child gets those that follow as they are.
"""

_fork_exec: Callable[..., int] = getattr(subprocess, "_fork_exec", subprocess.call)
_PARAMETERS = (
    "args executable_list close_fds pass_fds cwd env p2cread p2cwrite c2pread c2pwrite errread"
    " errwrite errpipe_read errpipe_write restore_signals call_setsid pgid_to_set gid extra_groups"
    " uid child_umask preexec_fn"
)
_WITH_FLAG = (True,)
_FLAGS = {_PARAMETERS: (), f"{_PARAMETERS} allow_vfork": _WITH_FLAG}
_UMASK = 0o077
_FIRST_OWN = 3
"""The first descriptor that is no standard stream."""
_IN_FOLDER = frozenset({b"noexec", b"noexec:chdir"})
"""What the child says when it came no further than to its working folder."""
_MOST_TOLD = 4096


def launch_by_popen(
    executable: bytes,
    argv: Sequence[bytes],
    env: Mapping[bytes, bytes],
    cwd: bytes,
    streams: tuple[int, ...],
) -> int:
    """The pid of the child, which whoever has it waits for. Raises OSError.

    `filename` of the error is `cwd` when it is the folder that could not be entered.
    """
    child = subprocess.Popen(  # noqa: S603 (argv only, the program is the manifest's constant)
        argv,
        executable=executable,
        env=env,
        cwd=cwd,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        pass_fds=streams[3:],
        start_new_session=True,
        umask=_UMASK,
    )
    return pid_alone(child)


def pid_alone(child: "subprocess.Popen[bytes]") -> int:
    """The pid, for whoever waits for it himself: Popen does not, and has no word to say of it."""
    child.returncode = 0
    return child.pid


def launch_directly(
    executable: bytes,
    argv: Sequence[bytes],
    env: Mapping[bytes, bytes],
    cwd: bytes,
    streams: tuple[int, ...],
) -> int:
    """The same without Popen: what the child says on a pipe that closes at exec is its error."""
    sys.audit("subprocess.Popen", executable, argv, cwd, env)
    told, tell = os.pipe()
    try:
        try:
            if tell < _FIRST_OWN:
                return launch_by_popen(executable, argv, env, cwd, streams)
            pid = _forked(executable, argv, env, cwd, (*streams, told, tell))
        finally:
            os.close(tell)
        failure = os.read(told, _MOST_TOLD)
        while failure and (more := os.read(told, _MOST_TOLD)):
            failure += more
    finally:
        os.close(told)
    if failure:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
        raise _error(failure, executable, cwd)
    return pid


def _forked(
    executable: bytes,
    argv: Sequence[bytes],
    env: Mapping[bytes, bytes],
    cwd: bytes,
    pipes: tuple[int, ...],
) -> int:
    """One vfork. What is not given stays as Popen has it: signals are restored, vfork is used."""
    stdin, stdout, stderr, *kept, told, tell = pipes
    variables = [b"%b=%b" % pair for pair in env.items()]
    given = (
        *(argv, (executable,), True, tuple(sorted((*kept, tell))), cwd, variables),
        *(stdin, -1, -1, stdout, -1, stderr, told, tell),
        *(True, True, -1, None, None, None, _UMASK, None),
    )
    return _fork_exec(*given, *(_VFORK or ()))


def _error(failure: bytes, executable: bytes, cwd: bytes) -> OSError:
    """What a child says before exec: a type of OSError, its number in hex, and how far it came."""
    try:
        _, number, place = failure.split(b":", 2)
        code = int(number, 16)
    except ValueError:  # it was killed in the middle of it
        return OSError(errno.EIO, os.strerror(errno.EIO), executable)
    return OSError(code, os.strerror(code), cwd if place in _IN_FOLDER else executable)


def _vfork_flag() -> tuple[bool, ...] | None:
    """What `fork_exec` takes after the parameters that are known; None when it is another one."""
    version = sys.version_info[:2]
    if sys.implementation.name != "cpython" or not (3, 11) <= version <= (3, 14):
        return None
    if version == (3, 11):  # which cannot say what it takes
        return _WITH_FLAG if hasattr(subprocess, "_fork_exec") else None
    return _FLAGS.get(_parameters(_fork_exec))


def _parameters(function: Callable[..., int]) -> str:
    written = getattr(function, "__text_signature__", None) or ""
    return " ".join(re.findall(r"\w+", written.removeprefix("($module")))


_VFORK = _vfork_flag()
launch: Launch = launch_by_popen if _VFORK is None else launch_directly
