"""What a Python callable raised, as an error of the call.

The model gets the exception's type and first line, without traceback and without places on this
machine; the operator's log gets the exception itself, as the error's cause.
"""

import re
from pathlib import Path

from toolrt.core.errors import BindingError, CallError
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
    unless its own constructor left out the rest of it.

    Only failures of the world outside (`OSError`, timeouts and lost connections among them) may be
    tried again: a `ValueError` or `TypeError` would come again.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, CallError) and hasattr(error, "details"):
        return error
    made = BindingError(
        message_of(error, project),
        retryable=isinstance(error, OSError) and not isinstance(error, _PERMANENT),
        target_fault=not isinstance(error, ValueError | LookupError),
    )
    made.__cause__ = error
    return made


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
        return f"…/{path.name}" if Path(*path.parts[:2]).exists() else match[0]

    return _PATH.sub(shorter, text)


def _first_line(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except BaseException:  # noqa: BLE001 - the `__str__` of user code
        return ""
    return text.splitlines()[0] if text else ""
