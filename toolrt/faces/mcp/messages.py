"""JSON-RPC messages: read with care, written as bytes.

What comes in is whole JSON (no key twice, no half characters, no NaN, 64 levels at most) and one
request, notification or response; what is wrong with it is a `Wrong`, which knows its code.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from toolrt.core.errors import RefusedError
from toolrt.faces.mcp.incoming import NEAR, id_near
from toolrt.schemas.plain import MAX_DEPTH
from toolrt.schemas.text import MAX_BYTES, parse_json

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, CANCELLED = -32602, -32603, -32800
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022

_LONGEST_ID = 256
_JSON_WHITE = b" \t\r\n"


class Wrong(Exception):  # noqa: N818 - an answer of the protocol like any other
    """The JSON-RPC error that a request is answered with; `message` is for whoever sent it."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def written(self, id_: Any = None) -> bytes:
        """The whole answer to the request of that id."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return to_json({"jsonrpc": "2.0", "id": id_, "error": error})


class Message:
    """One message: a request (`method` and an id), a notification (a method alone), or a response
    to a request of ours (no method; `result`, or `error`).
    """

    __slots__ = ("error", "id", "is_request", "method", "params", "result")

    def __init__(self, raw: dict[str, Any]) -> None:
        self.method: str = raw.get("method", "")
        self.id: Any = raw.get("id")
        self.is_request = "id" in raw and "method" in raw
        self.params: dict[str, Any] = raw.get("params") or {}
        self.result = raw.get("result")
        self.error = raw.get("error")


def read(body: bytes) -> Message:
    """The one message in `body`. Raises Wrong; where its id is known, in the attribute `id`."""
    if len(body) > MAX_BYTES:
        raise too_long(id_near(body[:NEAR], body[-NEAR:]))
    try:
        raw = from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        raise Wrong(PARSE_ERROR, f"parse error: {_why_not(body)}") from None
    if type(raw) is not dict:
        what = "a batch: send one message at a time" if type(raw) is list else "no JSON object"
        raise Wrong(INVALID_REQUEST, f"the message is {what}")
    if not _is_surely_whole(body, raw):
        _check_whole(body, raw)
    return _checked(raw)


def too_long(id_: Any) -> Wrong:
    """What a request of that id is answered with that is longer than any may be."""
    return _with_id(Wrong(INVALID_REQUEST, f"the message is longer than {MAX_BYTES} bytes"), id_)


def answer(id_: Any, result: Any) -> bytes:
    """The response to the request of that id."""
    return to_json({"jsonrpc": "2.0", "id": id_, "result": result})


def answer_of_bytes(id_: Any, result: bytes) -> bytes:
    """The same of a result that is written already."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (to_json(id_), result)


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    return to_json({"jsonrpc": "2.0", "method": method, "params": params or {}})


def request(id_: str, method: str, params: Any) -> bytes:
    return to_json({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def text_of(params: Mapping[str, Any], name: str) -> str:
    """A text that the request must have. Raises Wrong."""
    value = params.get(name)
    if type(value) is not str or not value:
        raise Wrong(INVALID_PARAMS, f"`params.{name}` must be a text")
    return value


def object_of(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object that the request may have. Raises Wrong."""
    value = params.get(name)
    if value is None:
        return {}
    if type(value) is not dict:
        raise Wrong(INVALID_PARAMS, f"`params.{name}` must be an object")
    return value


def _checked(raw: dict[str, Any]) -> Message:
    """The message, once its envelope is right."""
    message = Message(raw)
    kind = type(message.id)
    is_usual = type(message.method) is str and type(message.params) is dict and message.method
    if is_usual and kind is int and raw.get("jsonrpc") == "2.0":
        return message
    is_id = kind is int or kind is str or kind is float
    if not is_id and "id" in raw and not ("error" in raw and message.id is None):
        raise Wrong(INVALID_REQUEST, "`id` must be a number or a text")
    if kind is str and len(message.id) > _LONGEST_ID:
        raise Wrong(INVALID_REQUEST, f"`id` is longer than {_LONGEST_ID} characters")
    why = _why_wrong(message, raw)
    if why is not None:
        raise _with_id(Wrong(INVALID_REQUEST, why), message.id)
    return message


def _why_wrong(message: Message, raw: dict[str, Any]) -> str | None:
    if raw.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0"'
    if type(message.method) is not str:
        return "`method` must be a text"
    if type(message.params) is not dict:
        return "`params` must be an object"
    if not message.method and "result" not in raw and "error" not in raw:
        return "the message has no `method`"
    return None


def id_of(wrong: Wrong) -> Any:
    """The id of the request that is wrong, where it could be read."""
    return getattr(wrong, "id", None)


def _with_id(wrong: Wrong, id_: Any) -> Wrong:
    wrong.id = id_  # type: ignore[attr-defined] # known to few of them
    return wrong


def _is_surely_whole(body: bytes, raw: dict[str, Any]) -> bool:
    """Whether no key was written twice, each number has an end, and nothing is nested too deep, for
    all one sees at once.

    What is the same when it is written again is whole. Else, each key has one colon: with as many
    in what was read as in what was written, none was dropped; unless some were written as escapes.
    """
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        return False
    written = to_json(raw)
    if written == body:
        return True
    if b"\\u003" in body:
        return False
    return body.count(b":") == written.count(b":") and b"Infinity" not in written


def _check_whole(body: bytes, raw: dict[str, Any]) -> None:
    try:
        parse_json(body)
    except RefusedError as error:
        raise _with_id(Wrong(INVALID_REQUEST, error.message), _id_in(raw)) from None


def _id_in(raw: dict[str, Any]) -> Any:
    id_ = raw.get("id")
    return id_ if type(id_) in {int, str} else None


def _why_not(body: bytes) -> str:
    if not body.strip(_JSON_WHITE):
        return "the message is empty"
    try:
        parse_json(body)
    except RefusedError as error:
        return error.message
    return "this is no JSON"
