"""How a connection fails, as the pipeline wants to know it: whether anything was sent.

The sentences are for a model, so they do not name the service.
"""

from toolrt.core.errors import AttemptTimeoutError, BindingError


def no_connection() -> AttemptTimeoutError:
    """Connecting took too long."""
    return AttemptTimeoutError("no connection to the service in time", sent="never")


def never_sent(message: str) -> BindingError:
    """Nothing has left this machine, so any method may be tried again."""
    return BindingError(message, sent="never", retryable=True, target_fault=True)


def lost(message: str, code: str = "execution-failed") -> BindingError:
    """The request may have arrived, and what came of it is not known."""
    return BindingError(message, code=code, sent="maybe", retryable=True, target_fault=True)
