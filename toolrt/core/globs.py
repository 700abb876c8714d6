"""Names of tools by pattern, in rules and settings."""

import re
from collections.abc import Iterable

from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean
from toolrt.core.versions import AT, base_of, spellings


def tool_pattern(glob: str) -> re.Pattern[str]:
    """The names that `glob` matches: the whole name, `*` for any run of its characters (P11)."""
    pieces = (re.escape(piece) for piece in glob.split("*"))
    return re.compile(".*".join(pieces), re.DOTALL)


class ByName:
    """Tools by name and version, to be found by patterns: one with `@` means a version, any other
    all versions of what it matches.
    """

    def __init__(self, tools: Iterable[tuple[str, str | None]]) -> None:
        self._bases: dict[str, list[str]] = {}
        self._whole: dict[str, list[str]] = {}
        for name, version in tools:
            self._bases.setdefault(base_of(name), []).append(name)
            for each in (name, *spellings(name, version)):
                if AT in each:
                    self._whole.setdefault(each, []).append(name)

    def matched(self, glob: str) -> frozenset[str]:
        """The names of the tools that `glob` matches."""
        known = self._whole if AT in glob else self._bases
        if "*" not in glob:
            return frozenset(known.get(glob, ()))
        fits = tool_pattern(glob).fullmatch
        return frozenset(name for form, names in known.items() if fits(form) for name in names)


def no_such_tool(glob: str, names: Iterable[str], path: Path) -> Fault:
    """The warning about a pattern that matches none of `names`."""
    hint = did_you_mean(glob, names)
    return Fault("no-such-tool", f"`{glob}` is no tool of this project", path, hint, "warning")
