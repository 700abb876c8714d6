"""Starting a child process: one program, exact arguments and environment, a session of its own.

The child has no controlling terminal, no descriptor but its three streams, and umask 077 (S6);
nothing of ours runs between fork and exec. A spawn that fails has touched nothing in the world.
"""

import errno
from collections.abc import Callable, Mapping
from typing import NamedTuple

from toolrt.bindings.births import Births
from toolrt.bindings.group import Leader
from toolrt.bindings.launch import launch
from toolrt.bindings.limits import RLimits, set_limits
from toolrt.bindings.os_text import as_text
from toolrt.core.errors import BindingError

_NO_ROOM = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


class ProcessRequest(NamedTuple):
    """What to run: `executable` is absolute, `argv[0]` what the program is told it is called.

    Everything is the bytes that the system gets; `os_text.encoded` makes them of texts.

    `env` is the whole environment. Without `stdin` the child reads /dev/null. `keep_bytes` of
    stdout are kept, half from its start and half from its end. The child gets the descriptors
    `given` beside its streams. `lead` makes of its pid who tells how it ends.
    """

    executable: bytes
    argv: tuple[bytes, ...]
    env: Mapping[bytes, bytes]
    cwd: bytes
    stdin: bytes | None = None
    limits: RLimits = ()
    keep_bytes: int = 1024**2
    given: tuple[int, ...] = ()
    lead: Callable[[int], Leader] = Leader


def spawn(request: ProcessRequest, streams: tuple[int, ...], births: Births) -> int:
    """The pid of the running child, given its three streams and what it gets beside them.

    Raises BindingError with `sent="never"`.
    """
    try:
        pid = launch(request.executable, request.argv, request.env, request.cwd, streams)
    except OSError as error:
        raise spawn_error(error, request) from error
    births.note(pid)
    set_limits(pid, request.limits, births)
    return pid


def spawn_error(error: OSError, request: ProcessRequest) -> BindingError:
    """What went wrong before the child ran, in words that name no path of the machine."""
    program = f"program `{as_text(request.argv[0])}`"
    if error.errno in _NO_ROOM:
        return _never("the system has no room for another process now", retryable=True)
    if error.errno == errno.E2BIG:
        return _never("the arguments are longer than the system takes", code="invalid-arguments")
    if error.filename == request.cwd:
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
