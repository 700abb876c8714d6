"""The logs of toolrt: whatever is said there passes the redactors before any handler sees it.

Their names, for hosts: `toolrt` (bugs), `toolrt.calls`, `toolrt.http`, `toolrt.tools`.
"""

import json
import logging
import traceback

from toolrt.core.redaction import redacted, redacted_value


def message_of(record: logging.LogRecord) -> str:
    """What `record` says. Where its arguments do not fit it says its text alone from then on: their
    author would not expect a log to fail the work.
    """
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - arguments may be objects of user code
        text = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
        said = f"{text} (its arguments do not fit: {type(error).__name__})"
        record.msg, record.args = said, None
        return said


class _Masking(logging.Filter):
    """Masks the text of a record, and the traceback that formatters will show.

    The exception itself stays for handlers that look at it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        said = message_of(record)
        shown = redacted(said)
        if shown != said:
            record.msg, record.args = _line(said, shown), None
        if record.exc_info and record.exc_info[0]:
            record.exc_text = redacted("".join(traceback.format_exception(*record.exc_info))[:-1])
        return True


def _line(said: str, shown: str) -> str:
    """A line of JSON stays one, whatever is masked in it."""
    if not said.startswith("{"):
        return shown
    try:
        return json.dumps(redacted_value(json.loads(said)))
    except ValueError:
        return shown


def _log(name: str) -> logging.Logger:
    log = logging.getLogger(name)
    log.addFilter(_Masking())
    return log


BUGS, CALLS, HTTP, TOOLS = map(_log, ("toolrt", "toolrt.calls", "toolrt.http", "toolrt.tools"))


def failed(what: str, error: BaseException) -> None:
    """Tell the operator of a failure that is none of our own: one line, since a trace of the places
    that it came through would say no more. Handlers find it as `cause` of the record.
    """
    BUGS.error("%s: %s", what, error, extra={"cause": error})
