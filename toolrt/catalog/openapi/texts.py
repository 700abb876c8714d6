"""Descriptions: Markdown for people to a few sentences for a model.

What nobody sees is taken out, links become their texts, and what is long ends with a sentence.
"""

import json
import re
from typing import Any

from toolrt.core.unseen import bare

MOST_OF_TOOL = 800
MOST_OF_ARGUMENT = 300

DOTS = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
"""Segments of a path that lead elsewhere."""
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}(?:\s+\"[^\"]{0,200}\")?\)")
_MARKED = re.compile(r"[<\[]")
_BLANKS = re.compile(r"[ \t]+")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_ENDS = re.compile(r"[.!?][)\"'`]?(?=\s|$)")
_SENTENCES_FROM = 3
"""A text that is cut ends with a sentence, unless that would leave less than a third of it."""


def tool_text(summary: str, description: str, otherwise: str) -> str:
    """What an operation does: its summary, then as much of its description as fits."""
    head, rest = plain_text(summary), plain_text(description)
    if not head or rest.startswith(head.rstrip(".")):
        return shortened(rest, MOST_OF_TOOL) or otherwise
    if not rest:
        return shortened(head, MOST_OF_TOOL)
    head = head if head.endswith((".", "!", "?")) else f"{head}."
    return shortened(f"{head}\n\n{rest}", MOST_OF_TOOL)


def argument_text(description: str, default: Any = None) -> str:
    """What an argument is; a default of the service is told, never sent."""
    text = shortened(plain_text(description), MOST_OF_ARGUMENT)
    told = default_text(default)
    return f"{text} {told}".strip() if told and told not in text else text


def default_text(default: Any) -> str:
    """A default that is short enough to be told."""
    if default is None or isinstance(default, (dict, list)):
        return ""
    written = default if isinstance(default, str) else json.dumps(default)
    is_short = 0 < len(written) <= MOST_OF_ARGUMENT // 4 and written.isprintable()
    return f"Default: {bare(written)}." if is_short else ""


def plain_text(text: str) -> str:
    """Markdown or HTML as a text of paragraphs."""
    if text.isascii() and text.isprintable() and _MARKED.search(text) is None:  # most are
        return _paragraph(text[: MOST_OF_TOOL * 10])
    text = bare(text[: MOST_OF_TOOL * 10]).replace("\r", "")
    text = _LINK.sub(r"\1", _TAG.sub("", text) if "<" in text else text)
    paragraphs = (_paragraph(each) for each in _PARAGRAPHS.split(text))
    return "\n\n".join(each for each in paragraphs if each)


def shortened(text: str, most: int) -> str:
    """At most `most` characters of a text, up to the end of a sentence or else of a word."""
    if len(text) <= most:
        return text
    cut = text[:most]
    ends = [match.end() for match in _ENDS.finditer(cut)]
    if ends and ends[-1] >= most // _SENTENCES_FROM:
        return cut[: ends[-1]]
    return f"{cut[: most - 1].rpartition(' ')[0] or cut[: most - 1]}…"


def _paragraph(text: str) -> str:
    lines = (_BLANKS.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line.lstrip("#").strip() for line in lines if line.strip("-=* "))
