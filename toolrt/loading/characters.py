r"""Bytes of a file to text, and the characters that make a file read otherwise than it is.

First step of reading: what is not UTF-8, control characters and the line breaks that only YAML sees
end it. Bidirectional controls and tag characters are errors anywhere, comments included, since
they change what a reviewer sees; other invisible characters are errors in keys and names, and a
warning elsewhere. Written as an escape ("\u202e") they are visible, and allowed in values.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolrt.core.faults import Fault, Severity
from toolrt.loading.diagnostics import Diagnosis

_DECEIVING: Final = "\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
_INVISIBLE: Final = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f\U000e0100-\U000e01ef"
)
# joiners belong to emoji and to several scripts; beside ASCII they only hide
_LONE_JOINER: Final = "(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
_HIDDEN: Final = re.compile(f"[{_DECEIVING}{_INVISIBLE}]|{_LONE_JOINER}")
_DECEIVES: Final = re.compile(f"[{_DECEIVING}]")
_IN_NAME: Final = re.compile(
    f"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200c\u200d\ufeff{_DECEIVING}{_INVISIBLE}]"
)
_CONTROL: Final = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
)
_BREAKS: Final = frozenset("\r\x85\u2028\u2029")
_OTHER_ENCODINGS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(source: bytes) -> tuple[str, tuple[Fault, int] | None]:
    """The text of a file, and the fault that makes it unusable with its character index."""
    for mark, encoding in _OTHER_ENCODINGS:
        if source.startswith(mark):
            return source.decode(encoding, "replace"), (_other_encoding(encoding.upper()), 0)
    body = source.removeprefix(codecs.BOM_UTF8)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        fault = _not_utf8(source, error.start + len(source) - len(body))
        return body.decode(errors="replace"), (fault, len(body[: error.start].decode()))
    control = _CONTROL.search(text)
    return text, (_control_character(text, control[0]), control.start()) if control else None


def report_hidden(text: str, diagnosis: Diagnosis) -> None:
    """Add a diagnostic for each line with raw hidden characters that has none yet."""
    if text.isascii():
        return
    known = {one.line for one in diagnosis.found if one.code == "hidden-characters"}
    for pattern in (_DECEIVES, _HIDDEN):
        for match in _first_of_each_line(pattern, text):
            line, _ = diagnosis.lines.place(match.start())
            if line not in known:
                known.add(line)
                diagnosis.add(_hidden(match[0]), *match.span())


def hidden_in_name(text: str) -> Fault | None:
    """What is wrong with a key or an id that holds characters nobody sees, however written."""
    match = _IN_NAME.search(text)
    if match is None:
        return None
    message = f"a name with a character that nobody sees: {_named(match[0])}"
    return Fault("hidden-characters", message, hint="type the name again")


def _first_of_each_line(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at >= 0 and (match := pattern.search(text, at)):
        yield match
        at = text.find("\n", match.end())


def _hidden(character: str) -> Fault:
    severity: Severity = "error" if _DECEIVES.match(character) else "warning"
    message = f"a character that nobody sees: {_named(character)}"
    escape = character.encode("unicode_escape").decode()
    hint = f'delete it, or write "{escape}" in double quotes'
    return Fault("hidden-characters", message, hint=hint, severity=severity)


def _other_encoding(name: str) -> Fault:
    return Fault("not-utf8", f"the file is {name}", hint="save it as UTF-8")


def _not_utf8(source: bytes, at: int) -> Fault:
    message = f"not UTF-8: byte 0x{source[at]:02x} at offset {at}"
    return Fault("not-utf8", message, hint="save the file as UTF-8")


def _control_character(text: str, character: str) -> Fault:
    message = f"{_named(character)} is not allowed in a file"
    if character in _BREAKS:
        hint = "YAML begins a new line here, editors do not: delete it"
    elif text[:200].count("\0") * 3 > len(text[:200]):
        hint = "the file looks like UTF-16: save it as UTF-8"
    else:
        hint = "delete it; in double quotes it can be written as an escape"
    return Fault("control-characters", message, hint=hint)


def _named(character: str) -> str:
    name = unicodedata.name(character, "") or _CONTROL_NAMES.get(character, "control character")
    return f"U+{ord(character):04X} {name}"


_CONTROL_NAMES: Final = {
    "\0": "NUL",
    "\r": "CARRIAGE RETURN",
    "\x08": "BACKSPACE",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
}
