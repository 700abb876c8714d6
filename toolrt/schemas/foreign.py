"""What user code raises while its types are looked at, as a clause for their author.

Annotations, metaclasses and the hooks that pydantic calls may run any code; who looks at them goes
through here, so that one bad parameter is one fault.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST = 200


class ForeignError(Exception):
    """User code failed; the message says how, and is empty where nobody would learn from it."""


@contextmanager
def looking() -> Iterator[None]:
    """Turns whatever is raised inside into a ForeignError."""
    try:
        yield
    except (ForeignError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ForeignError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    text = _text(error)
    if type(error).__module__.startswith("pydantic"):
        _, found, why = text.rpartition("\nerror: ")
        return f"its pattern is refused: {why.strip()}" if found else ""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    first = text.partition("\n")[0]
    said = first if isinstance(error, NameError) else f"{type(error).__name__}: {first}"
    return said[:_LONGEST].rstrip(": ")


def _text(error: BaseException) -> str:
    try:
        return str(error).strip()
    except BaseException:  # noqa: BLE001 - the `__str__` of user code
        return ""
