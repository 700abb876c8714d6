"""How a request is signed when that takes more than writing a text: the ways of `auth` that ask.

A signer gives headers before a request is made. When it fails no request is sent, and the failure
says `never` of it. `auth` compiles the ways that only write.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from toolrt.core.calls import Invocation
from toolrt.core.errors import CallError
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import Scope


class Signer(Protocol):
    """What makes requests known to the service of one target.

    `names` are the headers that it is known to set.
    """

    names: frozenset[str]

    @property
    def references(self) -> Sequence[Reference]: ...

    async def sign(self, invocation: Invocation, scope: Scope, /) -> Mapping[str, str]:
        """The headers of one request. Raises CallError."""
        ...

    async def renewed(
        self, invocation: Invocation, scope: Scope, rejected: Mapping[str, str], /
    ) -> Mapping[str, str] | None:
        """The same after a 401 to `rejected`; None when there is nothing else to try."""
        ...

    def shown(self) -> dict[str, Any]:
        """What a preview says of it: `headers`, masked, or `auth` where those are not known."""
        ...


class Unable:
    """Stands where a signer is at fault: no request is sent."""

    names: frozenset[str] = frozenset()
    references: Sequence[Reference] = ()

    async def sign(self, _invocation: Invocation, _scope: Scope) -> Mapping[str, str]:
        raise CallError("the `auth` of this tool's target is at fault", code="missing-credential")

    async def renewed(
        self, _invocation: Invocation, _scope: Scope, _rejected: Mapping[str, str]
    ) -> Mapping[str, str] | None:
        return None

    def shown(self) -> dict[str, Any]:
        return {}
