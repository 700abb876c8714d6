"""JSON-ready values as YAML text, one scalar a line, with room for a comment behind each.

Only for showing: reading YAML is `loading.reader`'s. What a scalar could be mistaken for is quoted
as JSON, which YAML 1.2 takes as it is.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]

_PLAIN = re.compile(r"[A-Za-z_/.][A-Za-z0-9_/.+@=()-]*(?:,? [A-Za-z0-9_/.+@=()-]+)*")
_MEASURE = re.compile(r"\d+(?:\.\d+)?(?:ms|[smhdB]|[KMG]i?B)")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_NUMBER = re.compile(r"[-+.0-9][0-9_.eE+:-]*")
_ACTING = re.compile(
    r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    r"\U000e0000-\U000e007f]"
)


def to_yaml(value: Any, comment: Callable[[Path], str | None] = lambda _: None) -> str:
    """The text of `value`; `comment` gives what to say about the scalar at a path, aligned."""
    lines = [(text, path and comment(path)) for text, path in _lines(value, (), "")]
    width = max((len(text) for text, note in lines if note), default=0)
    return "".join(f"{text:<{width}}  # {note}\n" if note else f"{text}\n" for text, note in lines)


def _lines(value: Any, path: Path, indent: str) -> Iterator[tuple[str, Path]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", item, (*path, str(key)), indent)
    elif isinstance(value, (list, tuple)) and value:
        for index, item in enumerate(value):
            yield from _item(item, (*path, index), indent)
    else:
        yield f"{indent}{_scalar(value)}", path


def _entry(head: str, item: Any, path: Path, indent: str) -> Iterator[tuple[str, Path]]:
    if isinstance(item, (dict, list, tuple)) and item:
        yield head, ()
        yield from _lines(item, path, f"{indent}  ")
        return
    yield f"{head} {_scalar(item)}", path


def _item(item: Any, path: Path, indent: str) -> Iterator[tuple[str, Path]]:
    inner = f"{indent}  "
    for number, (text, at) in enumerate(_lines(item, path, inner)):
        yield (text if number else f"{indent}- {text[len(inner) :]}"), at


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _is_plain(value):
        return value
    if isinstance(value, str) and '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    made = json.dumps(value, ensure_ascii=False, default=str)
    return _ACTING.sub(lambda match: f"\\U{ord(match[0]):08x}", made)


def _is_plain(text: str) -> bool:
    if text.lower() in _WORDS or _NUMBER.fullmatch(text):
        return False
    if _MEASURE.fullmatch(text):
        return True
    return _PLAIN.fullmatch(text) is not None
