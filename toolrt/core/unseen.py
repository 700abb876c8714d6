"""Characters that no reader sees but that act on terminals, or speak to models alone (O3).

Control characters, and with them escape sequences, are shown as escapes; what turns text around or
hides in it (bidirectional signs, zero width, tags) is removed from texts, and shown in names.
"""

import re
from typing import Any

CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"
"""C0 without tab and line ends, DEL, C1, and two ends of lines that terminals do not know."""
HIDING = (
    "\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
"""Bidirectional signs, zero width, marks of annotations, tags."""

_ACTING = re.compile(rf"[{CONTROL}{HIDING}]|\r(?!\n)")
_ACTING_IN_JSON = re.compile(rf"[\x7f-\x9f\u2028\u2029{HIDING}]|\\u00|\\[rbf]")
_HIDING = re.compile(f"[{HIDING}]+")
_RETURN = re.compile(r"\r(?!\n)")
_CODES = (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x2028, 0x2029)
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _CODES}


def is_harmless_json(written: bytes) -> bool:
    """Whether JSON surely holds none of them; false for some that holds none, too.

    Few searches in C, for every result passes here.
    """
    if not written.isascii() or b"\x7f" in written:
        return _ACTING_IN_JSON.search(written.decode()) is None
    if b"\\" not in written:
        return True
    return not any(escape in written for escape in (b"\\u00", b"\\r", b"\\b", b"\\f"))


def harmless(text: str) -> str:
    """`text` without what hides in it, and with control characters as escapes; the same text where
    there is none of either. Tabs, line feeds and CRLF stay.
    """
    if _ACTING.search(text) is None:
        return text
    return _RETURN.sub(r"\\r", _HIDING.sub("", text)).translate(_ESCAPES)


def harmless_value(value: Any) -> tuple[Any, int]:
    """A JSON value with every text in it `harmless`, and how many characters were removed.

    In names nothing is removed, or two could become one: all is shown as escapes there. The same
    value where nothing had to be done.
    """
    cleaning = _Cleaning()
    return cleaning.value(value), cleaning.removed


def removed_from(text: str) -> int:
    """How many characters `harmless` removes from `text`."""
    return 0 if text.isascii() else len(text) - len(_HIDING.sub("", text))


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


def _shown(name: str) -> str:
    return _ACTING.sub(lambda one: one[0].encode("unicode_escape").decode(), name)
