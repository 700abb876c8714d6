"""Names of tools on the wire, for MCP clients and for vendors (X2).

A dot becomes `_`, and what is longer than a vendor takes is cut and ends in a hash. Two tools that
would meet are refused when the files are loaded, so one table maps back.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from toolrt.core.names import without_dots

LONGEST: Final = 64
"""Characters of a name that OpenAI, Anthropic and Google take."""

LONGEST_MCP: Final = 128
"""Characters of a name in MCP, revision 2025-11-25."""

_HASH = 8
_TOLD = re.compile(r"`([A-Za-z][A-Za-z0-9_-]*[.@][A-Za-z0-9_@.-]+)`")


def wire_name(name: str, longest: int = LONGEST) -> str:
    """The name of a tool where no dot may be written: `files.size` is `files_size`."""
    plain = without_dots(name)
    if len(plain) <= longest:
        return plain
    digest = sha256(name.encode()).hexdigest()[:_HASH]
    return f"{plain[: longest - _HASH - 1]}_{digest}"


class WireNames:
    """The names of some tools, both ways.

    Made of the tools that a caller may see: then what is hidden is as unknown as what is not there.
    """

    __slots__ = ("_own", "_wire", "longest")

    def __init__(self, names: Iterable[str], longest: int = LONGEST) -> None:
        self.longest = longest
        self._wire = {name: wire_name(name, longest) for name in names}
        self._own = {wire: name for name, wire in self._wire.items()}

    def wire(self, name: str) -> str:
        """The name on the wire of a tool, also of one that is not in the table."""
        return self._wire.get(name) or wire_name(name, self.longest)

    def own(self, wire: str) -> str:
        """The tool that `wire` names; any other text as it is, for the gateway to refuse."""
        return self._own.get(wire, wire)

    def told(self, text: str) -> str:
        """`text` for a model: tools in backticks have the names that the model knows."""
        if "`" not in text:
            return text
        return _TOLD.sub(lambda found: f"`{self._wire.get(found[1], found[1])}`", text)
