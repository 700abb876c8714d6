"""What a Python callable raised, as an error of the call.

The model gets the exception's type and first line, without traceback and without places on this
machine; the operator's log gets the exception itself, as the error's cause.
"""

import os
import re
from pathlib import Path

from toolrt.core.errors import BindingError, CallError, is_code
from toolrt.core.redaction import without_credentials

_LONGEST = 300
_PATH = re.compile(r"(?<![\w:/.~-])/(?:[^\s/'\"`,;:()<>]+/)*[^\s/'\"`,;:()<>]+")
_PERMANENT = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


def failure_of(error: BaseException, project: Path) -> CallError:
    """The error of a call whose callable raised `error`; what is one already stays as it is,
    unless its author left out some of it or put something else in its place.

    Only failures of the world outside (`OSError`, timeouts and lost connections among them) may be
    tried again: a `ValueError` or `TypeError` would come again.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, CallError) and _is_whole(error):
        return error
    made = BindingError(
        message_of(error, project),
        retryable=isinstance(error, OSError) and not isinstance(error, _PERMANENT),
        target_fault=not isinstance(error, ValueError | LookupError),
        is_midway=True,
    )
    made.__cause__ = error
    return made


def _is_whole(error: CallError) -> bool:
    """Whether its fields are what they have to be: those of a subclass may be anything."""
    try:
        texts = [error.message] if error.hint is None else [error.message, error.hint]
        return (
            is_code(error.code)
            and all(type(text) is str for text in texts)
            and type(error.retryable) is bool
            and type(error.details) is dict
        )
    except BaseException:  # noqa: BLE001 - the properties of user code
        return False


def message_of(error: BaseException, project: Path) -> str:
    """`TypeName: first line`, without absolute paths or credentials, at most 300 characters."""
    name = type(error).__name__
    text = without_paths(without_credentials(_first_line(error)), project)
    message = f"{name}: {text}" if text else name
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"


def without_paths(text: str, project: Path) -> str:
    """`text` with absolute paths made relative to the project, or cut to their last name."""

    def shorter(match: re.Match[str]) -> str:
        path = Path(match[0])
        if path.is_relative_to(project):
            return str(path.relative_to(project))
        is_real = os.path.exists(Path(*path.parts[:2]))  # noqa: PTH110 - Path's raises (long names)
        return f"…/{path.name}" if is_real else match[0]

    return _PATH.sub(shorter, text)


def _first_line(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except BaseException:  # noqa: BLE001 - the `__str__` of user code
        return ""
    return text.splitlines()[0] if text else ""
