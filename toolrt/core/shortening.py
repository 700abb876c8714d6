"""Long texts for models, as short as somebody wants them."""

import re
from typing import Final

_ENDS: Final = re.compile(r"[.!?]+(?=\s)|[\u3002\uff01\uff1f]+|\n")


def shortened(text: str, longest: int | None) -> str:
    """The first sentences of `text` that fit into `longest` characters; where not even one does,
    its first words.
    """
    if longest is None or len(text) <= longest:
        return text
    ends = [found.end() for found in _ENDS.finditer(text) if found.end() <= longest]
    if ends:
        return text[: ends[-1]].rstrip()
    head = text[: longest - 1]
    space = head.rfind(" ")
    return f"{head[:space] if space > 0 else head}…"
