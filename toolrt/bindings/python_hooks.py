"""Hooks: callables of the project's own that stand around the calls of a tool (U21).

A hook is resolved like a python tool when the project is loaded. It gets a value and the call's
Context, on the loop or in a thread as it is written; whatever it gives is awaited, and whatever it
raises fails the call: never silently.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from toolrt.bindings.base import BindContext
from toolrt.bindings.python_calls import is_async, is_awaitable
from toolrt.bindings.python_errors import failure_of
from toolrt.bindings.python_hosts import Hosts, Ran, Work
from toolrt.bindings.python_imports import import_from, looking_at
from toolrt.bindings.threads import ThreadPool
from toolrt.core import logs
from toolrt.core.calls import Invocation
from toolrt.core.context import Context
from toolrt.core.errors import CallError
from toolrt.core.faults import Fault, FaultError
from toolrt.core.results import Answer
from toolrt.schemas.phrases import with_article

_WITH_CONTEXT, _ALONE = 2, 1


class HookError(CallError):
    """A hook failed in a way that its author did not mean; the log has the trace."""

    def __init__(self, label: str, why: str = "failed") -> None:
        super().__init__(f"the hook `{label}` {why}", details={"hook": label})


class Hook:
    """One hook; `label` is its dotted name."""

    __slots__ = ("_context", "_fn", "_hosts", "_is_async", "_takes_context", "label")

    def __init__(self, label: str, fn: Callable[..., Any], context: BindContext) -> None:
        self.label = label
        self._fn = fn
        self._context = context
        self._is_async = is_async(fn)
        self._takes_context = _takes(fn, _WITH_CONTEXT)
        self._hosts = context.services.share(Hosts)

    async def run(self, value: Any, invocation: Invocation) -> Answer:
        """What it gives for `value`. Raises CallError: what its author means, or HookError.

        CancelledError is its caller's alone: a hook that raises one has failed.
        """
        made, error = await self._ran(value, invocation)
        if error is None:
            return Answer(made)
        failure = failure_of(error, self._context.project)
        if failure is error:
            raise failure
        self.complain(invocation, error)
        raise HookError(self.label) from error

    def complain(self, invocation: Invocation, error: BaseException | None, why: str = "") -> None:
        """Tell the operator what went wrong with it."""
        details = {"call_id": invocation.call_id, "tool": invocation.tool}
        logs.TOOLS.error(
            "%s [%s]: the hook `%s` %s",
            invocation.tool,
            invocation.call_id,
            self.label,
            why or "failed",
            exc_info=error,
            extra=details,
        )

    async def _ran(self, value: Any, invocation: Invocation) -> Ran:
        given: tuple[Any, ...] = (value,)
        if self._takes_context:
            given = (value, Context(invocation, self._context.project))
        call = partial(self._fn, *given)
        made, error = _caught(call) if self._is_async else await self._in_thread(call, invocation)
        if error is not None or not is_awaitable(made):
            return made, error
        begun, error = _caught(partial(self._hosts.start, made))
        return await begun.outcome(invocation) if type(begun) is Work else (begun, error)

    async def _in_thread(self, call: Callable[[], Any], invocation: Invocation) -> Ran:
        """As a tool's own function; one that is cancelled meanwhile is left behind."""
        pool = self._context.services.share(ThreadPool)
        job = pool.start(call, invocation.tool)
        try:
            return await job.done
        except BaseException:
            pool.abandon(job)
            raise


def bind_hook(dotted: str, context: BindContext) -> Hook:
    """The hook of that name. Raises FaultError where there is none, or it takes something else."""
    found = import_from(context.project, dotted)
    with looking_at(dotted, context.project):
        if isinstance(found, type) or not callable(found):
            kind = "class" if isinstance(found, type) else type(found).__name__
            message = f"`{dotted}` is {with_article(kind)}, and a hook is a function"
            raise FaultError(Fault("not-callable", message))
        if not _takes(found, _WITH_CONTEXT) and not _takes(found, _ALONE):
            message = f"the hook `{dotted}` does not take what it is given"
            hint = "write it as `def hook(value, context)`, or with the value alone"
            raise FaultError(Fault("signature-drift", message, hint=hint))
        return Hook(dotted, found, context)


def _caught(call: Callable[[], Any]) -> Ran:
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - the call into user code
        return None, error


def _takes(fn: Callable[..., Any], count: int) -> bool:
    """Whether it can be called with so many arguments; what says nothing takes the value alone."""
    try:
        inspect.signature(fn).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return count == _ALONE
    return True
