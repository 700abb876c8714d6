"""The result of a call that a person made, before it is kept: what is broken is refused."""

import json
from typing import Any

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.errors import CallError, RefusedError
from toolrt.pipeline.answering import Supplied
from toolrt.schemas.phrases import place
from toolrt.schemas.plain import NotJsonError, plain


def supplied_text(entry: ToolEntry, supplied: Supplied | None) -> str | None:
    """What is kept of it (JSON).

    Raises RefusedError for what JSON cannot carry, and what the tool's `result` cannot read.
    """
    if supplied is None:
        return None
    if supplied.error is None:
        data = _plain(supplied.data, "result")
        _refuse_unreadable(entry, data)
        return json.dumps({"data": data})
    if supplied.data is not None:
        raise _refused("a call has a result or an error, not both", "leave one of them out")
    if not isinstance(supplied.error, str):
        raise _refused("the error must be a text", "say in words why there is no result")
    return json.dumps({"error": _plain(supplied.error, "error")})


def _plain(value: Any, what: str) -> Any:
    try:
        return plain(value)
    except NotJsonError as error:
        where = f"`{place(error.path)}` of the {what}" if error.path else f"the {what}"
        raise _refused(f"{where} {error.reason}", f"give the {what} as plain JSON") from None


def _refuse_unreadable(entry: ToolEntry, data: Any) -> None:
    if entry.shaping.select is None:
        return
    try:
        entry.shaping.select.search(data)
    except CallError as error:
        hint = "`result.select` of the tool says what it reads"
        raise _refused(error.message, hint) from error


def _refused(message: str, hint: str) -> RefusedError:
    return RefusedError(message, code="invalid-arguments", hint=hint)
