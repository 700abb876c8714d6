"""How a connection fails, as the pipeline wants to know it: whether anything was sent.

The sentences are for a model: they say why, and do not name the service.
"""

import errno
import re
import socket
import ssl
from collections.abc import Mapping

from toolrt.core.errors import AttemptTimeoutError, BindingError

_BY_ERRNO: Mapping[int, str] = {
    errno.EACCES: "this machine does not permit it",
    errno.EADDRNOTAVAIL: "this machine has no address for it",
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.EHOSTUNREACH: "no route to it",
    errno.EMFILE: "too many files are open here",
    errno.ENETUNREACH: "the network is unreachable",
    errno.EPERM: "this machine does not permit it",
    errno.ETIMEDOUT: "no answer to the attempt to connect",
}
_BY_CERTIFICATE: Mapping[int, str] = {
    9: "certificate not valid yet",
    10: "certificate has expired",
    23: "certificate was revoked",
    62: "certificate is for another name",
    64: "certificate is for another address",
}
"""Verify codes of OpenSSL (x509_vfy.h); all others mean that nobody whom we trust signed it."""

_UNTRUSTED = "certificate not trusted"
_NOT_FOUND = "its name was not found"
_OF_PLAIN_TEXT = frozenset({"HTTP_REQUEST", "RECORD_LAYER_FAILURE", "WRONG_VERSION_NUMBER"})
_ERRNO = re.compile(r"\[Errno (\d+)\]")


def no_connection() -> AttemptTimeoutError:
    """Connecting took too long."""
    return AttemptTimeoutError("no connection to the service in time", sent="never")


def never_sent(message: str) -> BindingError:
    """Nothing has left this machine, so any method may be tried again."""
    return BindingError(message, sent="never", retryable=True, target_fault=True)


def no_address(error: OSError) -> BindingError:
    """The name of the service gave no address."""
    is_silent = error.errno == socket.EAI_AGAIN
    return _unreachable("the name service did not answer" if is_silent else _NOT_FOUND)


def unreachable(error: Exception) -> BindingError:
    """No connection came about; `error` is what the system or TLS said."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _unreachable(f"TLS: {_BY_CERTIFICATE.get(error.verify_code, _UNTRUSTED)}")
    if isinstance(error, ssl.SSLError):
        is_plain = getattr(error, "reason", None) in _OF_PLAIN_TEXT
        return _unreachable("TLS: it does not speak TLS" if is_plain else "TLS: no agreement")
    return _unreachable(_by_errno(error))


def _unreachable(reason: str | None) -> BindingError:
    message = "the service could not be reached"
    return never_sent(f"{message}: {reason}" if reason else message)


def _by_errno(error: Exception) -> str | None:
    """The reason of one address, or of the first of several that failed differently."""
    number = getattr(error, "errno", None)
    numbers = [number] if number else map(int, _ERRNO.findall(str(error)))
    return next((_BY_ERRNO[each] for each in numbers if each in _BY_ERRNO), None)


def lost(message: str, code: str = "execution-failed") -> BindingError:
    """The request may have arrived, and what came of it is not known."""
    return BindingError(message, code=code, sent="maybe", retryable=True, target_fault=True)
