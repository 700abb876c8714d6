"""Whoever asks or decides, before a store hears of them: names of whole characters."""

import json
from typing import Any

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.schemas.plain import NotJsonError, plain

_HINT = "send text that UTF-8 can write"


def check_caller(caller: Caller) -> None:
    """Raise RefusedError for somebody whose names, roles or claims hold broken text."""
    for name, value in caller.document().items():
        text = value if name != "claims" else json.dumps(value, ensure_ascii=False, default=str)
        check_text(text, f"`{name}` of the caller")


def check_text(value: Any, what: str) -> None:
    """Raise RefusedError for broken text; `what` says whose it is."""
    try:
        plain(value)
    except NotJsonError as error:
        message = f"{what} {error.reason}"
        raise RefusedError(message, code="invalid-arguments", hint=_HINT) from None
