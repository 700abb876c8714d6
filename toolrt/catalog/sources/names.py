"""Names that tools of sources may have (X2).

They keep their spelling. What cannot be told from another name by who reads it is refused: names
are what people write rules about.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolrt.catalog.sources.base import SourceTool
from toolrt.core.faults import Fault, Severity
from toolrt.loading.sources import WrittenSource
from toolrt.manifest.tool import NAME
from toolrt.schemas.phrases import visible

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_ALIKE: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "-": "_"})
"""Letters and digits that many typefaces show alike, once capitals are small."""
_CALL_IT: Final = "`@toolrt.tool(name=…)` calls it otherwise; or take it out with `exclude`"


def own_faults(source: WrittenSource) -> Iterator[Fault]:
    """What is wrong with the name of the source itself, and with its prefix."""
    if source.namespace is not None and not re.match(NAME, source.name):
        what = f"`{visible(source.name)}` is no name of a source"
        message = f"{what}: a-z, 0-9 and _, beginning with a letter"
        yield Fault("bad-name", message, (), on_key=True)
    prefix = source.source.prefix
    if prefix and not _NAME.fullmatch(prefix):
        message = f"`{visible(prefix)}` is no prefix: letters, digits, `-` and `_`"
        yield Fault("bad-name", message, ("prefix",))


def name_faults(source: WrittenSource, tools: Sequence[SourceTool]) -> Iterator[tuple[str, Fault]]:
    """Each name that is refused, and why. What a server says is no error of the project, so there
    the tool is left out with a warning.
    """
    severity: Severity = "error" if source.origin == "python" else "warning"
    places: dict[str, list[str]] = {}
    for tool in tools:
        places.setdefault(tool.name, []).append(tool.place)
    looks = Counter(map(_look, places))
    for name in places:
        why = _why_refused(name) or _why_twin(name, places, looks, source)
        if why is not None:
            hint = _CALL_IT if source.origin == "python" else None
            message = f"`{visible(name)}` of source `{source.name}` {why}"
            message = message if severity == "error" else f"{message}: it is left out"
            yield name, Fault("bad-name", message, (source.origin,), hint, severity)


def _why_refused(name: str) -> str | None:
    odd = next((each for each in name if not _NAME.fullmatch(each)), None)
    if odd is not None:
        called = unicodedata.name(odd, "a character without a name").lower()
        return f"is no name for a tool: it holds U+{ord(odd):04X}, {called}"
    return None if _NAME.fullmatch(name) else "is no name for a tool: 1 to 128 characters"


def _why_twin(
    name: str, places: Mapping[str, Sequence[str]], looks: Counter[str], source: WrittenSource
) -> str | None:
    if len(places[name]) > 1:
        known = " and ".join(filter(None, places[name]))
        return f"is there more than once: {known}" if known else "is there more than once"
    if source.origin == "python" or looks[_look(name)] == 1:
        return None
    other = next(each for each in places if each != name and _look(each) == _look(name))
    return f"can hardly be told from `{visible(other)}`"


def _look(name: str) -> str:
    return name.casefold().translate(_ALIKE)
