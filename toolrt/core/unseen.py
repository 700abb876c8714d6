"""Characters that no reader sees but that act on terminals, or speak to models alone (O3).

Control characters, and with them escape sequences, are shown as escapes; what turns text around or
hides in it (bidirectional signs, zero width, tags) is removed from texts, and shown in names. Who
searches texts for what nobody may see looks at them `bare`.
"""

import re
from typing import Any

CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"
"""C0 without tab and line ends, DEL, C1, and two ends of lines that terminals do not know."""
HIDING = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""Bidirectional signs, zero width, fillers, marks of annotations, tags: what Unicode says is not to
be seen (Default_Ignorable_Code_Point), but for selectors.
"""
SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Each chooses a form of the character before it, as of an emoji; more than one hide a message."""

_SUSPECT = re.compile(
    rf"[{CONTROL}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001d17a\U000e0000-\U000e0fff]"
)
"""All of these and some more, in one set with few ranges: three times as fast as the exact ones."""
_ACTING = re.compile(rf"[{CONTROL}{HIDING}]|\r(?!\n)|[{SELECTORS}]{{2}}")
_ACTING_IN_JSON = re.compile(rf"[\x7f-\x9f\u2028\u2029{HIDING}]|[{SELECTORS}]{{2}}")
_ESCAPED = (b"\\u00", b"\\r", b"\\b", b"\\f")
_HIDING = re.compile(f"[{HIDING}{SELECTORS}]+")
_SELECTOR = re.compile(f"[{SELECTORS}]")
_RETURN = re.compile(r"\r(?!\n)")
_CODES = (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x2028, 0x2029)
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _CODES}
_CONTROLS = bytes(code for code in _CODES if code < 0x80)  # noqa: PLR2004 - those of ASCII
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
)
"""Of ECMA-48: those that colour text and move the cursor, and those of titles and links."""
_UNSEEN = re.compile(rf"[{CONTROL}{HIDING}{SELECTORS}]+")


def is_plainly_harmless(written: bytes) -> bool:
    """Whether JSON holds nothing but what anybody can see and type: soonest told."""
    return written.isascii() and b"\\" not in written and b"\x7f" not in written


def is_harmless_json(written: bytes) -> bool:
    """Whether JSON surely holds none of them; false for some that holds none, too.

    Few searches in C, for every result passes here.
    """
    if b"\\" in written and any(escape in written for escape in _ESCAPED):
        return False
    if written.isascii():
        return b"\x7f" not in written
    text = written.decode()
    return _SUSPECT.search(text) is None or _ACTING_IN_JSON.search(text) is None


def harmless(text: str) -> str:
    """`text` without what hides in it, and with control characters as escapes; the same text where
    there is none of either. Tabs, line feeds and CRLF stay.
    """
    is_suspect = _SUSPECT.search(text) is not None or "\r" in text
    if not is_suspect or _ACTING.search(text) is None:
        return text
    return _RETURN.sub(r"\\r", _HIDING.sub(_selected, text)).translate(_ESCAPES)


def bare(text: str) -> str:
    """`text` as it is read: without all that acts or hides, and without whole escape sequences; the
    same text where there is none of it. No result is like that: it is for what searches texts.
    """
    if text.isascii():
        if text.isprintable() or len(text.encode().translate(None, _CONTROLS)) == len(text):
            return text
    elif _SUSPECT.search(text) is None:
        return text
    made = _UNSEEN.sub("", _SEQUENCE.sub("", text))
    return text if made == text else made


def harmless_value(value: Any) -> tuple[Any, int]:
    """A JSON value with every text in it `harmless`, and how many characters were removed.

    In names nothing is removed, or two could become one: all is shown as escapes there. The same
    value where nothing had to be done.
    """
    cleaning = _Cleaning()
    return cleaning.value(value), cleaning.removed


def removed_from(text: str) -> int:
    """How many characters `harmless` removes from `text`."""
    return 0 if text.isascii() else len(text) - len(_HIDING.sub(_selected, text))


class _Cleaning:
    """One value on its way; `removed` counts characters."""

    def __init__(self) -> None:
        self.removed = 0

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            made = harmless(value)
            if made is not value:
                self.removed += removed_from(value)
            return made
        if type(value) is dict:
            return {_shown(name): self.value(each) for name, each in value.items()}
        if type(value) is list:
            return [self.value(each) for each in value]
        return value


def _selected(run: re.Match[str]) -> str:
    """What stays of characters in a row that hide: the first selector."""
    first = _SELECTOR.search(run[0])
    return first[0] if first else ""


def _shown(name: str) -> str:
    return _ACTING.sub(lambda one: one[0].encode("unicode_escape").decode(), name)
