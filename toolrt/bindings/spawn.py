"""Starting a child process: one program, exact arguments and environment, a session of its own.

The child has no controlling terminal, no descriptor but its three streams, and umask 077 (S6);
nothing of ours runs between fork and exec. A spawn that fails has touched nothing in the world.
"""

import errno
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from toolrt.bindings.limits import RLimits, set_limits
from toolrt.bindings.os_text import encoded
from toolrt.core.errors import BindingError

_NO_ROOM = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """What to run: `executable` is absolute, `argv[0]` what the program is told it is called.

    The texts reach the program as UTF-8, whatever the locale of this process.

    `env` is the whole environment. Without `stdin` the child reads /dev/null. `keep_bytes` of
    stdout are kept, half from its start and half from its end.
    """

    executable: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes | None = None
    limits: RLimits = ()
    keep_bytes: int = 1024**2


def spawn(
    request: ProcessRequest, stdin: int, stdout: int, stderr: int
) -> "subprocess.Popen[bytes]":
    """The running child. Raises BindingError with `sent="never"`."""
    try:
        child = subprocess.Popen(  # noqa: S603 (argv only, the program is the manifest's constant)
            [encoded(each) for each in request.argv],
            executable=os.fsencode(request.executable),
            env={encoded(name): encoded(text) for name, text in request.env.items()},
            cwd=encoded(request.cwd),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        raise spawn_error(error, request) from error
    set_limits(child.pid, request.limits)
    return child


def spawn_error(error: OSError, request: ProcessRequest) -> BindingError:
    """What went wrong before the child ran, in words that name no path of the machine."""
    program = f"program `{request.argv[0]}`"
    if error.errno in _NO_ROOM:
        return _never("the system has no room for another process now", retryable=True)
    if error.errno == errno.E2BIG:
        return _never("the arguments are longer than the system takes", code="invalid-arguments")
    if error.filename == encoded(request.cwd):
        return _never(f"the working folder cannot be entered: {_reason(error)}")
    if error.errno == errno.ENOENT:
        return _never(f"{program} was not found", code="unavailable")
    if error.errno == errno.EACCES:
        return _never(f"{program} was found but is not executable")
    return _never(f"{program} could not be started: {_reason(error)}")


def _never(
    message: str, *, code: str = "execution-failed", retryable: bool = False
) -> BindingError:
    return BindingError(message, code=code, retryable=retryable, sent="never")


def _reason(error: OSError) -> str:
    return (error.strerror or "unknown error").lower()
