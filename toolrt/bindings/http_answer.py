"""An HTTP reply read as the tool says: which statuses are success, and what the body is."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Literal, Protocol

from toolrt.bindings.answers import decode, decode_xml
from toolrt.core.binaries import Binary, encoded
from toolrt.core.errors import BindingError
from toolrt.core.results import HttpAnswer

Output = Literal["json", "jsonl", "lines", "text", "bytes", "csv", "xml", "sse"]

RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})

_CODES: Mapping[int, str] = {
    401: "access-denied",
    403: "access-denied",
    404: "not-found",
    409: "conflict",
    410: "not-found",
    412: "conflict",
    429: "rate-limited",
}
_EXCERPT = 300
_LONGEST_WAIT_S = 86_400.0
_OK = range(200, 300)
_REDIRECT = range(300, 400)
_SERVER_FAULT = 500
_JSON_LINES = frozenset(
    {"application/jsonl", "application/x-ndjson", "application/ndjson", "application/jsonlines"}
)
_TEXTS = frozenset(
    {
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/sql",
        "application/toml",
        "application/x-sh",
        "application/x-www-form-urlencoded",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)
_HTTP_DATE = re.compile(r"[A-Za-z]{3,9}, ?[0-9A-Za-z: -]+")
_OLD_CHARSET = re.compile(
    r"iso-8859-\d{1,2}|windows-\d{3,4}|koi8-[ru]|big5|gb2312|gbk|gb18030|shift_jis|euc-(?:jp|kr)"
    r"|utf-16(?:le|be)?|latin-?1"
)


class Reply(Protocol):
    """What a service sent back, read to its end; names of headers in lower case are found."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def content(self) -> bytes: ...


class Reading:
    """How the replies of one tool are read."""

    __slots__ = ("_output", "_success")

    def __init__(self, success: list[int] | None, output: Output | None) -> None:
        self._success = frozenset(success) if success is not None else _OK
        self._output = output

    def answer(self, reply: Reply, now: Callable[[], float]) -> HttpAnswer:
        """The value of a reply. `now` gives seconds since the epoch.

        Raises BindingError for a status that is no success and a body that is not as declared.
        """
        if reply.status_code not in self._success:
            raise _failure(reply, now)
        try:
            value = _value(reply, self._output)
        except BindingError as error:
            error.status = reply.status_code
            raise
        return HttpAnswer(value, reply.status_code, reply.headers)


def retry_after_s(headers: Mapping[str, str], now: Callable[[], float]) -> float | None:
    """The seconds that `Retry-After` asks for (RFC 9110, section 10.2.3); None for nonsense.

    A date that has passed, a negative number and more than one value are nonsense.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    if not _HTTP_DATE.fullmatch(text):
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp() - now()
    return seconds if seconds > 0 else None


@lru_cache(maxsize=256)
def output_of(content_type: str) -> Output:
    """What a body of that `Content-Type` is read as."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _JSON_LINES:
        return "jsonl"
    if kind.endswith(("/json", "+json")):
        return "json"
    if kind == "text/event-stream":
        return "sse"
    if kind.startswith("text/") or kind.endswith("+xml") or kind in _TEXTS:
        return "text"
    return "bytes"


def _value(reply: Reply, output: Output | None) -> Any:
    if not reply.content:
        return None
    content_type = reply.headers.get("content-type", "")
    wanted = output or (output_of(content_type) if content_type else _guessed(reply.content))
    if wanted == "bytes":
        media_type = content_type.partition(";")[0].strip() or "application/octet-stream"
        return Binary(base64=encoded(reply.content), media_type=media_type)
    if wanted == "xml":
        return _xml(reply.content, content_type)
    return decode(wanted, _as_utf8(reply.content, content_type))


def _xml(body: bytes, content_type: str) -> Any:
    """A charset of the header wins over that of the document (RFC 7303, section 3)."""
    text = _as_utf8(body, content_type)
    return decode_xml(text, None if text is body else "utf-8")


def _guessed(body: bytes) -> Output:
    try:
        body.decode()
    except UnicodeDecodeError:
        return "bytes"
    return "text"


def _as_utf8(body: bytes, content_type: str) -> bytes:
    """`body` in UTF-8, which it is taken for unless it says that it is in an older charset."""
    charset = content_type.lower().partition("charset=")[2].strip("\"' ").partition(";")[0]
    if not _OLD_CHARSET.fullmatch(charset):
        return body
    try:
        return body.decode(charset, "replace").encode("utf-8", "replace")
    except LookupError:
        return body


def _failure(reply: Reply, now: Callable[[], float]) -> BindingError:
    status = reply.status_code
    wait_s = retry_after_s(reply.headers, now)
    return BindingError(
        f"the service answered {status}",
        code=_CODES.get(status, "execution-failed"),
        hint=_hint(reply, wait_s),
        status=status,
        sent="answered",
        retryable=status in RETRYABLE,
        retry_after_s=wait_s,
        target_fault=status >= _SERVER_FAULT,
        details={"status": status, **_wait(wait_s), **_excerpt(reply)},
        body=_parsed(reply),
    )


def _hint(reply: Reply, wait_s: float | None) -> str | None:
    if reply.status_code in _REDIRECT and "location" in reply.headers:
        return "it redirects, and this tool does not follow"
    return f"it asks to wait {math.ceil(wait_s)} s" if _wait(wait_s) and wait_s else None


def _wait(wait_s: float | None) -> dict[str, float]:
    """What callers are told of a wait that somebody may live to see the end of."""
    return {"retry_after": round(wait_s, 3)} if wait_s and wait_s <= _LONGEST_WAIT_S else {}


def _parsed(reply: Reply) -> Any:
    if output_of(reply.headers.get("content-type", "")) != "json":
        return None
    try:
        return decode("json", reply.content)
    except BindingError:
        return None


def _excerpt(reply: Reply) -> dict[str, str]:
    """The start of a body that is text, with what would not show or would mislead escaped."""
    if not reply.content or output_of(reply.headers.get("content-type", "")) == "bytes":
        return {}
    text = decode("text", reply.content[: 4 * _EXCERPT])
    shown = "".join(c if c.isprintable() or c == "\n" else f"\\u{ord(c):04x}" for c in text)
    return {"body": shown[:_EXCERPT]}
