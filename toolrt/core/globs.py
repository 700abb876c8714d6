"""Names of tools by pattern, in rules and settings."""

import re
from collections.abc import Iterable

from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean


def tool_pattern(glob: str) -> re.Pattern[str]:
    """The names that `glob` matches: the whole name, `*` for any run of its characters (P11)."""
    pieces = (re.escape(piece) for piece in glob.split("*"))
    return re.compile(".*".join(pieces), re.DOTALL)


def no_such_tool(glob: str, names: Iterable[str], path: Path) -> Fault:
    """The warning about a pattern that matches none of `names`."""
    hint = did_you_mean(glob, names)
    return Fault("no-such-tool", f"`{glob}` is no tool of this project", path, hint, "warning")
