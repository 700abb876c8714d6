"""Text statistics: the callables behind `text.*` in tools.d/text.yaml."""

import re
from collections import Counter
from typing import Literal

WORD = re.compile(r"\w[\w'-]*")


async def statistics(text: str, unit: Literal["words", "lines", "characters"] = "words") -> dict:
    """Count a text, and say how long its pieces are.

    Args:
        text: The text to look at.
        unit: What the pieces are.
    """
    pieces = {"words": WORD.findall, "lines": str.splitlines, "characters": list}[unit](text)
    lengths = sorted(map(len, pieces))
    return {
        "unit": unit,
        "count": len(pieces),
        "distinct": len(set(pieces)),
        "longest": lengths[-1] if lengths else 0,
        "median": lengths[len(lengths) // 2] if lengths else 0,
    }


def frequent_words(text: str, top: int = 5, shortest: int = 4) -> dict[str, int]:
    """The most frequent words of a text, with how often each stands there.

    Args:
        text: The text to look at.
        top: How many words to give.
        shortest: Words with fewer letters are left out.
    """
    words = (word.lower() for word in WORD.findall(text) if len(word) >= shortest)
    return dict(Counter(words).most_common(top))
