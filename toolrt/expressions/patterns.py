"""Regular expressions that find places in texts, in time linear in the text (P11).

The only module that knows RE2: schemas and conditions only ask whether a text matches, and have
engines of their own for that.
"""

from functools import lru_cache
from typing import Any

from toolrt.core.faults import Fault, FaultError

_SAMPLE = "a b\n1."
"""A text in which whatever matches nothing at all is found."""


class Pattern:
    """A compiled regular expression."""

    __slots__ = ("_found", "text")

    def __init__(self, text: str, found: Any) -> None:
        self.text = text
        self._found = found

    def replaced(self, text: str, by: str) -> str:
        """`text` with `by` in place of each match; nothing of a text that is no Unicode is kept."""
        try:
            made: str = self._found.sub(lambda _match: by, text)
        except UnicodeEncodeError:  # lone surrogates: nobody can say what stands there
            return by
        return made

    def is_in(self, text: str) -> bool:
        """Whether it matches anywhere in `text`."""
        return self._found.search(text) is not None


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Pattern:
    """Compile a regular expression. Raises FaultError (bad-pattern) with a reason."""
    import re2  # noqa: PLC0415 - loaded with the first use

    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(text, options)
    except re2.error as error:
        raise FaultError(Fault("bad-pattern", _why(text, error))) from None
    except UnicodeEncodeError:
        raise FaultError(Fault("bad-pattern", "it holds broken text")) from None
    if any(not match[0] for match in found.finditer(_SAMPLE)):
        hint = "ask for at least one character: `+` in place of `*`"
        message = f"`{text}` also matches where nothing stands, so it would match everywhere"
        raise FaultError(Fault("bad-pattern", message, hint=hint))
    return Pattern(text, found)


def _why(text: str, error: Exception) -> str:
    said = error.args[0] if error.args else ""
    reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    if "(?=" in text or "(?!" in text or "(?<" in text:
        return f"look-around is not supported: patterns run in linear time ({reason})"
    return f"it is no regular expression that runs in linear time: {reason}"
