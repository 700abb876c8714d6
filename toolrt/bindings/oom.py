"""Whether the kernel killed for want of memory: the count that our own cgroup keeps (S12).

A child that ends by SIGKILL ran out of memory when the count grew while it ran.
"""

import re
import time
from functools import cache
from pathlib import Path

_STALE_S = 1.0
_COUNT = re.compile(rb"^oom_kill (\d+)$", re.MULTILINE)
_ROOT = Path("/sys/fs/cgroup")


class OomCount:
    """The count as it was within the last second: cheap enough to ask before each child."""

    __slots__ = ("_count", "_read_at")

    def __init__(self) -> None:
        self._count, self._read_at = 0, float("-inf")

    def recent(self) -> int:
        now = time.monotonic()
        if now - self._read_at > _STALE_S:
            self._count, self._read_at = oom_kills(), now
        return self._count

    def has_grown(self, before: int) -> bool:
        self._read_at = float("-inf")
        return self.recent() > before


def oom_kills(file: Path | None = None) -> int:
    """How often the kernel has killed in this cgroup; 0 where it does not say."""
    file = file or _file()
    if file is None:
        return 0
    try:
        found = _COUNT.search(file.read_bytes())
    except OSError:
        return 0
    return int(found[1]) if found else 0


@cache
def _file() -> Path | None:
    """The file of our cgroup: `memory.events` of version 2, `memory.oom_control` of version 1."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    places = [_place(*line.split(":", 2)) for line in lines if line.count(":") > 1]
    return next((place for place in places if place and place.is_file()), None)


def _place(_number: str, controllers: str, path: str) -> Path | None:
    inside = path.lstrip("/")
    if not controllers:
        return _ROOT / inside / "memory.events"
    if "memory" in controllers.split(","):
        return _ROOT / "memory" / inside / "memory.oom_control"
    return None
