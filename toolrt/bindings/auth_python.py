"""`auth: {python: pkg:fn}`: a callable of the project gives the headers of each request.

It is called with the caller and the target's name, off the loop unless it is an `async def`, and
gives headers by name or the text of a bearer token. What it gives is secret and is checked like any
header (H5); when it fails no request is sent, and what it raised is not told.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from toolrt.bindings.base import BindContext
from toolrt.bindings.network import OWN_HEADERS, is_token
from toolrt.bindings.python_calls import InThread, Linked, OnLoop
from toolrt.bindings.python_errors import failure_of
from toolrt.bindings.python_hosts import Hosts
from toolrt.bindings.python_imports import import_from, looking_at
from toolrt.bindings.threads import ThreadPool
from toolrt.core.calls import Invocation, apart
from toolrt.core.errors import BindingError, CallError, ToolError
from toolrt.core.faults import FaultError
from toolrt.core.redaction import Redactor
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import Scope
from toolrt.expressions.slots import HEADER
from toolrt.schemas.conversion import Adaptor
from toolrt.schemas.signatures import Callee

_HINT = "it gives a mapping of headers, or the text of a bearer token"


def compile_python(
    dotted: str, target: str, context: BindContext, *path: str
) -> "PythonSigner | None":
    """The signer that `dotted` names; None with a fault, or where nothing is imported."""
    if not context.imports:
        context.lacks("it was loaded without imports", *path)
        return None
    try:
        with looking_at(dotted, context.project):
            fn = import_from(context.project, dotted)
            _check(fn, dotted, context, path)
            is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
                getattr(type(fn), "__call__", None)  # noqa: B004 - it is read, not asked for
            )
    except FaultError as error:
        context.faults.extend(error.under(*path))
        return None
    linked = _Asked(fn, dotted, context.project, Adaptor(Callee(dotted, "", ()), ()), target=target)
    hosts = context.services.share(Hosts)
    if is_async:
        asking: InThread | OnLoop = OnLoop(linked, hosts)
    else:
        asking = InThread(linked, context.services.share(ThreadPool), hosts)
    return PythonSigner(dotted, asking, context.references.redactor)


@dataclass(frozen=True, slots=True)
class _Asked(Linked):
    """The callable, which gets the caller and the target's name."""

    target: str = ""

    def prepared(self, invocation: Invocation) -> Callable[[], Any]:
        return functools.partial(self.fn, invocation.caller, self.target)

    def reraise(self, error: BaseException) -> NoReturn:
        """Raise a failure that tells what the author means to say, and else only what it was."""
        failure = failure_of(error, self.project)
        said = failure.message if isinstance(failure, ToolError) else type(error).__name__
        raise BindingError(
            f"the credential of this tool could not be made: {said}",
            code=failure.code if isinstance(failure, ToolError) else "missing-credential",
            hint=failure.hint,
            retryable=failure.retryable,
            sent="never",
        ) from error


class PythonSigner:
    """Headers by a callable."""

    names: frozenset[str] = frozenset()
    references: Sequence[Reference] = ()

    def __init__(self, label: str, asking: InThread | OnLoop, redactor: Redactor) -> None:
        self._label = label
        self._asking = asking
        self._redactor = redactor

    async def sign(self, invocation: Invocation, _scope: Scope) -> Mapping[str, str]:
        beside = apart(invocation)  # what the callable does is nothing that was sent
        try:
            answer = await self._asking.call(beside)
        finally:
            invocation.is_orphaned = invocation.is_orphaned or beside.is_orphaned
        return self._checked(answer.value)

    async def renewed(
        self, _invocation: Invocation, _scope: Scope, _rejected: Mapping[str, str]
    ) -> Mapping[str, str] | None:
        return None

    def shown(self) -> dict[str, Any]:
        return {"auth": self._label}

    def _checked(self, given: Any) -> Mapping[str, str]:
        """The headers, known as secrets from now on. Raises CallError (missing-credential)."""
        if isinstance(given, str) and given:
            given = {"Authorization": f"Bearer {given}"}
        if not isinstance(given, dict) or not given:
            raise _unfit("nothing that signs a request")
        for name, text in given.items():
            if not isinstance(text, str) or not text:
                raise _unfit("a header that is no text")
            for secret in (text, text.rpartition(" ")[2]):
                self._redactor.learn_in_passing(secret)
            if not is_token(name) or name.lower() in OWN_HEADERS:
                raise _unfit("a header that may not be set")
            try:
                HEADER.encode(text)
            except ValueError:
                raise _unfit("a header that is not printable ASCII on one line") from None
        return given


def _unfit(what: str) -> CallError:
    message = f"the code that signs requests of this tool gave {what}"
    return CallError(message, code="missing-credential", hint=_HINT)


def _check(fn: Any, dotted: str, context: BindContext, path: Sequence[str]) -> None:
    if not callable(fn) or isinstance(fn, type):
        context.fault("not-callable", f"`{dotted}` is no function", *path)
        return
    try:
        inspect.signature(fn).bind(None, "")
    except TypeError:
        message = f"`{dotted}` is called with two arguments: the caller and the target's name"
        context.fault("signature-drift", message, *path)
    except ValueError:
        return  # one written in C may not say what it takes
