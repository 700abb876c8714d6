"""What somebody looks for in a store, before it gets there: the beginning of an id, how many."""

from toolrt.core.errors import RefusedError
from toolrt.schemas.plain import NotJsonError, plain

MOST = 1_000_000
"""So many rows are more than anybody looks at."""

_LONGEST_SHOWN = 40


def id_of(prefix: object) -> str:
    """An id, or its beginning, as ids are written. Raises RefusedError for broken text, and for
    what is none.
    """
    if not isinstance(prefix, str):
        message = f"an id is a text, not {type(prefix).__name__}"
        raise RefusedError(message, code="invalid-arguments", hint="copy it from a list")
    try:
        whole: str = plain(prefix)
    except NotJsonError as error:
        hint = "copy it from a list"
        raise RefusedError(f"an id {error.reason}", code="invalid-arguments", hint=hint) from None
    return whole.strip().lower()


def shown(prefix: str) -> str:
    """The beginning of what was looked for, to be named in an error."""
    cut = f"{prefix[: _LONGEST_SHOWN - 1]}…" if len(prefix) > _LONGEST_SHOWN else prefix
    return repr(cut)


def check_limit(limit: int) -> None:
    """Raise RefusedError for a list of no length, or of one that no store can count."""
    if not 1 <= limit <= MOST:
        hint = "a list without a limit of yours has 100"
        message = f"a list has 1 to {MOST} entries"
        raise RefusedError(message, code="invalid-arguments", hint=hint)
