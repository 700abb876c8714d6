"""JSON text from a wire or a command line into plain data, or one refusal that says why not.

Stricter than `json.loads`: a key given twice, NaN, numbers that do not fit, half characters and
deep nesting are refused, and text that stops short is told from text that is wrong.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path
from toolrt.schemas.messages import ArgumentFault, invalid
from toolrt.schemas.phrases import place, with_article
from toolrt.schemas.plain import MAX_DEPTH, MAX_DIGITS, MAX_VALUES, NotJsonError, plain
from toolrt.schemas.shapes import json_type

MAX_BYTES = 4 * 1024 * 1024

_CUT_OFF = "the JSON is cut off (max tokens?): send the whole call again, shorter if need be"
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_UNFINISHED = re.compile(r"[\w\\.+\-]*\s*")
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def parse_arguments(text: str | bytes) -> dict[str, Any]:
    """The arguments object in `text`. Raises RefusedError, code invalid-arguments."""
    value = parse_json(text)
    if not isinstance(value, dict):
        raise not_an_object(value)
    return value


def parse_json(text: str | bytes) -> Any:
    """The value in `text`, numbers exact. Raises RefusedError, code invalid-arguments."""
    decoded = _decoded(text)
    if len(decoded) > 2 * MAX_VALUES:  # each takes two characters
        _refuse_many(decoded)
    try:
        value = _DECODER.decode(decoded)
    except json.JSONDecodeError as error:
        raise _bad_text(decoded, error) from None
    except RecursionError:
        raise _too_deep() from None
    except _RepeatedNameError as error:
        raise _repeated(decoded, error.name) from None
    if _is_too_deep(decoded, value):
        raise _too_deep()
    if not decoded.isascii() or _HALF_CHARACTER.search(decoded):
        _refuse_half_characters(value)
    return value


def not_an_object(value: Any) -> RefusedError:
    """The refusal of arguments that are something else than one JSON object."""
    got = with_article(json_type(value)) if value is not None else "null"
    message = f"the arguments must be a JSON object, not {got}"
    hint = 'send one object, like {"name": "value"}, and no text around it'
    return invalid(ArgumentFault((), message, "object", got), hint)


def not_json(error: NotJsonError) -> RefusedError:
    """The refusal of arguments that JSON cannot carry."""
    where = f"`{place(error.path)}`" if error.path else "the arguments"
    message = f"{where} {error.reason}"
    fault = ArgumentFault(error.path, message, "plain JSON", error.reason)
    return invalid(fault, f"send {where} as plain JSON")


def _refuse_half_characters(value: Any) -> None:
    try:
        plain(value)
    except NotJsonError as error:
        raise not_json(error) from None


class _RepeatedNameError(Exception):
    """An object gives `name` more than once; where it stands is not known yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _RepeatedNameError(_twice(pairs))
    return made


def _twice(pairs: list[tuple[str, Any]]) -> str:
    ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
    return name


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS and len(digits.lstrip("-")) > MAX_DIGITS:
        raise _refused(
            f"the JSON holds a number of more than {MAX_DIGITS} digits", "send a shorter number"
        )
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _refused("the JSON holds a number that is too large", "send a smaller number")
    return value


def _constant(name: str) -> NoReturn:
    raise _refused(f"JSON has no {name}", "send a number, or leave it out")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


def _decoded(text: str | bytes) -> str:
    size = len(text)
    if isinstance(text, str) and size <= MAX_BYTES and not text.isascii():
        size = len(text.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        raise _refused(f"the JSON is larger than {MAX_BYTES} bytes", "send less")
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        is_cut = error.reason == "unexpected end of data"
        raise _refused("the JSON is not UTF-8", _CUT_OFF if is_cut else "send UTF-8") from None


def _refuse_many(text: str) -> None:
    """Raise RefusedError for more values than are read in a moment, however little each says."""
    if _parts(text) > MAX_VALUES and _parts(_STRING.sub("", text)) > MAX_VALUES:
        message = f"the JSON holds more than {MAX_VALUES:,} values"
        raise _refused(message, "send less, or what is long as one text")


def _parts(text: str) -> int:
    return sum(map(text.count, ",[{"))


def _is_too_deep(text: str, value: Any) -> bool:
    """Looks into the value only when its text has enough brackets."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        members = [member for one in level for member in _members(one)]
        level = [member for member in members if isinstance(member, (dict, list))]
    return bool(level)


def _members(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _bad_text(text: str, error: json.JSONDecodeError) -> RefusedError:
    if not text.strip():
        return _refused("the JSON is empty", "send one JSON value")
    if _is_cut_off(text, error):
        return _refused("the JSON ends too early", _CUT_OFF)
    what = error.msg[0].lower() + error.msg[1:]
    where = f"line {error.lineno}, column {error.colno}"
    return _refused(f"the arguments are no valid JSON: {what} at {where}", "correct the JSON there")


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text only stops short: something is open, and the fault is where it ends."""
    brackets = _STRING.sub("", text)
    opened = brackets.count("[") + brackets.count("{")
    if opened <= brackets.count("]") + brackets.count("}"):
        return False
    is_in_string = error.msg.startswith("Unterminated string")
    return is_in_string or _UNFINISHED.fullmatch(text, error.pos) is not None


def _repeated(text: str, name: str) -> RefusedError:
    """The refusal of a name that is given twice; reads `text` once more to find its place."""
    found: list[dict[str, Any]] = []

    def noting(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs) and not found and _twice(pairs) == name:
            found.append(made)
        return made

    try:
        value = json.loads(text, object_pairs_hook=noting, parse_int=str)
    except (json.JSONDecodeError, RecursionError):
        value = found[0]
    path = (*(_path_to(found[0], value) or ()), name)
    message = f"`{place(path)}` is given twice"
    fault = ArgumentFault(path, message, "one value for each name", "two values")
    return invalid(fault, f"send `{place(path)}` once")


def _path_to(wanted: Any, value: Any) -> Path | None:
    """The path from `value` to the very object `wanted` inside it."""
    if value is wanted:
        return ()
    members: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for step, member in members:
        path = _path_to(wanted, member)
        if path is not None:
            return (step, *path)
    return None


def _too_deep() -> RefusedError:
    return _refused(f"the JSON is nested deeper than {MAX_DEPTH} levels", "send flatter values")


def _refused(message: str, hint: str) -> RefusedError:
    return invalid(ArgumentFault((), message, "JSON", "something else"), hint)
