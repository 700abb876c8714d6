"""What servers say about their tools, read with suspicion: texts that a model would obey.

A description is text of a stranger in front of a model. What hides in it is told and taken out;
what speaks to the model instead of describing the tool is told, for a person to look at.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolrt.core.unseen import bare
from toolrt.schemas.phrases import visible

_INTO_THE_MODEL: Final = r"""
ignore\ (all\ |any\ |the\ )?(previous|prior|above|other|earlier)\ (instructions?|rules?|tools?)
|disregard\ (all\ |any\ |the\ )?(previous|prior|above|instructions?)
|do(\ not|n'?t)\ (tell|mention|inform|show|reveal|let)[^.\n]{0,40}\ (user|human|anyone)
|without\ (telling|informing|asking)\ (the\ )?user
|before\ (using|calling|you\ use|you\ call)\ (any|every|this|other)[^.\n]{0,30}\ tools?
|(always|must|first)\ (call|use|read|send|run)[^.\n]{0,60}(before|instead\ of|other\ tools?)
|system\ prompt|</?(important|system|instructions?|secret|admin)>|\[/?(INST|SYSTEM)\]
|\.ssh|id_rsa|\.aws/credentials|\.env\b|/etc/passwd|mcp\.json
|you\ (are|must)\ (now|never|always)|override[sn]?\ (the|all|any|previous)
"""
_PHRASES: Final = re.compile(_INTO_THE_MODEL, re.IGNORECASE | re.VERBOSE)
_AROUND: Final = 24
_MOST: Final = 200_000


def suspicions(written: Mapping[str, Any]) -> Iterator[str]:
    """What a person should look at in a definition, as clauses."""
    texts = [text[:_MOST] for text in _texts(written)]
    hidden = dict.fromkeys(each for text in texts for each in _hidden(text))
    if hidden:
        names = ", ".join(map(_called, list(hidden)[:3]))
        yield f"hides {names} in its texts, which are taken out"
    for text in texts:
        found = _PHRASES.search(unicodedata.normalize("NFKC", bare(text)))
        if found is not None:
            start = max(found.start() - _AROUND, 0)
            said = " ".join(found.string[start : found.end() + _AROUND].split())
            yield f"speaks to the model: “{visible(said, 80)}”"
            return


def _hidden(text: str) -> Iterator[str]:
    """The characters that nobody sees."""
    if bare(text) is not text:
        yield from (each for each in text if not bare(each) and not each.isspace())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _called(character: str) -> str:
    name = unicodedata.name(character, "a character without a name").lower()
    return f"U+{ord(character):04X} ({name})"
