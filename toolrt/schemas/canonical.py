"""Canonical JSON: one text for one value, for every hash that toolrt takes of data.

RFC 8785 (key order, escapes, shortest numbers), with two changes of our own: integers are written
exactly, and floats without a fraction as integers, so that 1 and 1.0 hash alike.
"""

from json.encoder import encode_basestring
from typing import Any

from toolrt.schemas.plain import plain

_SMALLEST_FIXED_EXPONENT = -6  # ECMA-262, Number::toString: 1e-7 is the first in exponent form


def canonical_json(value: Any) -> bytes:
    """The canonical UTF-8 text of a JSON value. Raises NotJsonError for anything else."""
    return _text(plain(value)).encode()


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return f"[{','.join([_text(item) for item in value])}]"
    members = [f"{encode_basestring(key)}:{_text(value[key])}" for key in sorted(value, key=_order)]
    return f"{{{','.join(members)}}}"


def _order(key: str) -> bytes:
    """RFC 8785, section 3.2.3: by UTF-16 code units."""
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    if value.is_integer():
        return str(int(value))
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    power = int(exponent)
    if power < _SMALLEST_FIXED_EXPONENT:
        return f"{mantissa}e{power}"
    sign = "-" if value < 0 else ""
    digits = mantissa.lstrip("-").replace(".", "")
    return f"{sign}0.{'0' * (-power - 1)}{digits}"
