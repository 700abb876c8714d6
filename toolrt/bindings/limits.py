"""What a child process may use: `limits:` of a command, as rlimits of the kernel.

Compiled when a tool is bound, set on the child as soon as it runs (S10): within a millisecond or
so, a few on a busy machine. Address space and process count are limited only when asked: runtimes
such as Node and Java need much of both.
"""

import math
import os
import resource

from pydantic import Field

from toolrt.bindings.base import Spec
from toolrt.bindings.births import Births
from toolrt.manifest.scalars import Duration, Size

RLimits = tuple[tuple[int, tuple[int, int]], ...]
"""Resource -> soft and hard limit, as `setrlimit(2)` numbers them."""


_LISTING = 4096
_CAN_LIMIT = hasattr(resource, "prlimit")


class Limits(Spec):
    """`limits:` of a command or shell tool.

    `cpu`: processor time of each process; `memory`: address space; `file_size`: largest file it
    may write; `processes`: of the whole operating-system user; `open_files`; `output`: how much
    of stdout is kept.
    """

    cpu: Duration = Field(default=300.0, gt=0)
    memory: Size | None = None
    file_size: Size = Field(default=1024**3, ge=0)
    processes: int | None = Field(default=None, gt=0)
    open_files: int = Field(default=256, ge=3)
    output: Size = Field(default=1024**2, gt=0)

    def rlimits(self) -> RLimits:
        """The kernel's limits, none of them above what this process itself may have."""
        cpu_s = math.ceil(self.cpu)
        wanted = {
            resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
            resource.RLIMIT_FSIZE: (self.file_size, self.file_size),
            resource.RLIMIT_NOFILE: (self.open_files, self.open_files),
            resource.RLIMIT_CORE: (0, 0),
        }
        if self.memory is not None:
            wanted[resource.RLIMIT_AS] = (self.memory, self.memory)
        if self.processes is not None:
            wanted[resource.RLIMIT_NPROC] = (self.processes, self.processes)
        return tuple((what, _capped(what, pair)) for what, pair in wanted.items())


def set_limits(pid: int, limits: RLimits, births: Births) -> None:
    """Limit a running child, and the children that it has already; later ones inherit.

    A process that is gone, or runs as somebody else, stays as it is.
    """
    if not _CAN_LIMIT:
        return
    try:
        for what, pair in limits:
            resource.prlimit(pid, what, pair)
    except (ProcessLookupError, PermissionError):
        pass
    if births.is_last(pid):
        return
    for child in children(pid):
        set_limits(child, limits, births)


def children(pid: int) -> list[int]:
    """The children of a process so far; none where the system does not list them (Linux does)."""
    try:
        listing = os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY)
    except OSError:
        return []
    try:
        return [int(child) for child in os.read(listing, _LISTING).split()]
    except OSError:
        return []
    finally:
        os.close(listing)


def _capped(what: int, wanted: tuple[int, int]) -> tuple[int, int]:
    ours = resource.getrlimit(what)[1]
    if ours == resource.RLIM_INFINITY:
        return wanted
    return min(wanted[0], ours), min(wanted[1], ours)
