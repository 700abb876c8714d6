"""Limits that hold on a machine that others use as well.

Work is measured in seconds of the processor (`time.process_time`), memory as what is taken beyond
what was there before. The clock decides only whether somebody was let go who would otherwise have
waited for longer than `AT_ONCE_S`; such tests carry the marker `realtime`.
"""

import re
from contextlib import suppress
from pathlib import Path

AT_ONCE_S = 4.0
"""Long before what hangs would be over, and long enough for a machine that is busy."""


class Memory:
    """How many bytes this process takes at its peak beyond what it took when this was made.

    No garbage is collected first: that would take long among thousands of tests, and what it freed
    would be there to be taken unseen.
    """

    def __init__(self):
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is ours
        self._before = status_of("self", "VmRSS")
        self._peak = status_of("self", "VmHWM")

    def grown(self):
        """Nothing where the peak cannot be set back and was not passed."""
        peak = status_of("self", "VmHWM")
        return 0 if peak == self._peak else peak - self._before


def status_of(process, name):
    """Bytes that `/proc` tells of a process, by the name of the line."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0
