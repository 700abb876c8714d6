"""Refusals that people are told: what they typed comes back without known secrets (O1)."""

import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from toolrt.core.errors import CallError
from toolrt.core.hiding import hiding, leaves
from toolrt.core.redaction import redacted_value
from toolrt.stores.approvals import Approval

P = ParamSpec("P")
T = TypeVar("T")


def told_safely(
    method: Callable[P, Awaitable[T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same, with every CallError that it raises masked."""

    @wraps(method)
    async def safe(*given: P.args, **named: P.kwargs) -> T:
        try:
            return await method(*given, **named)
        except CallError as error:
            _mask(error, redacted_value)
            raise

    return safe


@contextmanager
def keeping_sealed(record: Approval) -> Iterator[None]:
    """A CallError from within tells nothing of the sensitive arguments of the record."""
    try:
        yield
    except CallError as error:
        if record.sealed is not None:
            _mask(error, hiding(leaves(json.loads(record.sealed))))
        raise


def _mask(error: CallError, mask: Callable[[Any], Any]) -> None:
    error.message, error.hint = mask(error.message), mask(error.hint)
    error.details, error.args = mask(error.details), (error.message,)
