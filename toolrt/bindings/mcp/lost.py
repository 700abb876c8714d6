"""How connections end, in words: for the model that there is none, for the operator why."""

from typing import Final, NamedTuple

from toolrt.core.errors import BindingError, Sent


class Ending(NamedTuple):
    """Why a connection is over: `why` may be told to anybody, `said` is what the server printed."""

    why: str
    said: str = ""


CLOSED: Final = Ending("the connection was closed")
"""It was ended on our side, or can be made again at once."""


class LostError(Exception):
    """The connection is gone; `sent` says whether what was asked may have been done."""

    def __init__(self, message: str, sent: Sent = "maybe") -> None:
        super().__init__(message)
        self.sent: Sent = sent


class UnreachableError(BindingError):
    """There is no connection; `ending` says why."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.why, code="unavailable", sent="never")
        self.ending = ending


def ending_of(error: BaseException) -> Ending:
    """Why a connection ended, of whatever the SDK came out with: often a group in a group."""
    leaf = leaf_of(error)
    if isinstance(leaf, UnreachableError):
        return leaf.ending
    if isinstance(leaf, BindingError):
        return Ending(leaf.message)
    if isinstance(leaf, LostError):
        return Ending(str(leaf))
    return Ending(f"the connection failed ({type(leaf).__name__})")


def leaf_of(error: BaseException) -> BaseException:
    """The first failure inside groups of failures."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
