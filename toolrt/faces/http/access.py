"""Who calls over HTTP: a bearer key or a signed token that the project knows, or nobody (X4-X6).

Where only this machine can reach the server, and the project does not say otherwise, somebody
without a credential may call tools, and no more. What was proven is remembered for as long as the
generation lives.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from toolrt.core.calls import MAY_CALL, Caller
from toolrt.core.errors import ProjectError
from toolrt.core.hosts import reached
from toolrt.core.redaction import Secret
from toolrt.faces.http.brake import Brake
from toolrt.faces.http.calling import ending
from toolrt.faces.http.problems import ProblemError, forbidden, unauthorized
from toolrt.faces.http.wire import Head, Scope
from toolrt.manifest.project import Identity, Jwt, ProjectFile
from toolrt.pipeline.gateway import ANONYMOUS

if TYPE_CHECKING:
    from toolrt.faces.http.tokens import Tokens
    from toolrt.opened import Runtime
    from toolrt.reloading.outcome import Reload

_MOST_SEEN: Final = 4096
_HINT: Final = "send Authorization: Bearer KEY, with a key of `identities` in toolrt.yaml"
_NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Starting:
    """What is fixed when a server starts: whether all its callers are on this machine, the key of
    this one start, whose that is among these people, where it listens, and how people reach it.
    """

    is_local: bool
    key: str
    operator: Callable[[Sequence[Identity]], Caller]
    host: str
    url: str


@dataclass(frozen=True, slots=True)
class Known:
    """Somebody who has proven who they are; `ends` is wall time in seconds.

    `proof` names what they proved it with, and cannot stand in for it; it is empty for who is
    nobody in particular to the project.
    """

    caller: Caller
    ends: float = _NEVER
    proof: str = ""


class Access:
    """Tells callers from what requests carry; follows the generations of a runtime."""

    def __init__(self, runtime: "Runtime", starting: Starting) -> None:
        self.starting = starting
        self._runtime = runtime
        self.brake = Brake()
        self._seen: dict[bytes, Known] = {}
        self._tokens: Tokens | None = None
        self._refresh(runtime.written)
        runtime.on_reload(self._reloaded)

    def page_of(self, approval_id: str) -> str:
        """The page on which people decide about an approval."""
        return f"{self.starting.url}/approvals/{approval_id}"

    async def caller(self, head: Head, scope: Scope | None = None) -> Caller:
        """Who sends this, or somebody anonymous. Raises ProblemError for who may not even ask.

        With the `scope` of a request, few wrong keys are taken at a time from where it comes.
        """
        known = self.known(head)
        if known is not None:
            return known
        return self._whole(await self._proven(head[b"authorization"], scope), head)

    def known(self, head: Head) -> Caller | None:
        """The same, where it needs no looking up; else None."""
        proof = head.get(b"authorization")
        if proof is None:
            if not self.is_open:
                raise unauthorized("this server wants to know who calls", _HINT)
            return ANONYMOUS if not self._credentials else self._whole(_NOBODY, head)
        known = self._seen.get(proof)
        if known is None or (known.ends is not _NEVER and known.ends <= time.time()):
            return None
        return known.caller if not self._credentials else self._whole(known, head)

    async def is_still(self, head: Head, caller: Caller) -> bool:
        """Whether a request that goes on is still from who sent it, with no less rights."""
        try:
            now = await self.caller(head)
        except ProblemError:
            return False
        is_same = (now.principal, now.tenant) == (caller.principal, caller.tenant)
        return is_same and now.may >= caller.may

    async def of_key(self, key: str, scope: Scope) -> Known:
        """Who logs in with a key or a token. Raises ProblemError."""
        return await self._proven(b"Bearer " + key.strip().encode(), scope)

    def still(self, proof: str) -> Caller | None:
        """Who logged in with that proof before, as they are known now; None where they are not."""
        caller = self._proofs.get(proof)
        return caller if caller is not None and caller.may else None

    def _reloaded(self, outcome: "Reload") -> None:
        if outcome.is_new:
            self._refresh(self._runtime.written)

    def _refresh(self, written: ProjectFile) -> None:
        """Know the people of another generation, and nobody of the one before."""
        self._seen = {}
        serve = written.serve
        auth = serve.auth if serve is not None else None
        names = serve.hosts if serve is not None else ()
        is_local = self.starting.is_local and reached(self.starting.host, None, names) is None
        self.is_open = is_local and not (auth is not None and auth.required)
        self._credentials = written.credentials
        operator = self.starting.operator(written.identities)
        self._keys: dict[str, Caller] = {_hash(self.starting.key.encode()): operator}
        for each in written.identities:
            if each.token_hash is not None:
                self._keys[plain_hash(each.token_hash)] = _caller(each)
        self._by_claim = [each for each in written.identities if each.claim is not None]
        self._proofs = {_proof(key): caller for key, caller in self._keys.items()}
        self._proofs |= {_proof(repr(each.claim)): _caller(each) for each in self._by_claim}
        self._has_identities = bool(written.identities)
        self._take_jwt(auth.jwt if auth is not None else None)

    def _take_jwt(self, jwt: Jwt | None) -> None:
        """Believe this issuer, or none. Raises ProjectError where its tokens cannot be checked."""
        if jwt is not None and self._tokens is not None and self._tokens.jwt == jwt:
            return
        self._tokens = None
        if jwt is None:
            return
        try:
            from toolrt.faces.http.tokens import Tokens  # noqa: PLC0415 - few projects have them
        except ModuleNotFoundError as error:
            message = "`serve.auth.jwt` needs what `pip install 'toolrt[jwt]'` brings"
            raise ProjectError(message, hint="pip install 'toolrt[jwt]'") from error
        self._tokens = Tokens(jwt, self._runtime.project)

    async def _proven(self, proof: bytes, scope: Scope | None) -> Known:
        scheme, _, key = proof.partition(b" ")
        key = key.strip()
        if scheme.lower() != b"bearer" or not key:
            raise unauthorized("only bearer keys are taken", _HINT, "invalid_request")
        if scope is not None:
            with ending(scope):
                await self.brake.hold(address_of(scope))
        hash_ = _hash(key)
        caller = self._keys.get(hash_)
        if caller is not None:
            known = Known(caller, proof=_proof(hash_))
        elif self._tokens is not None and _is_token(key):
            known = await self._of_token(self._tokens, key)
        else:
            if scope is not None:
                self.brake.check(address_of(scope))
            raise unauthorized("nobody has this key", _HINT, "invalid_token")
        if not known.caller.may:
            raise forbidden(
                f"{known.caller.principal} is not among the `identities` of toolrt.yaml",
                "an identity of toolrt.yaml says who may do what",
            )
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[proof] = known
        return known

    async def _of_token(self, tokens: "Tokens", key: bytes) -> Known:
        claims = await tokens.claims(key)
        ends = float(claims["exp"])
        found = next((each for each in self._by_claim if _holds(each, claims)), None)
        if found is not None:
            caller = replace(_caller(found), claims=claims)
            return Known(caller, ends, _proof(repr(found.claim)))
        principal = str(claims["sub"])
        if self._has_identities:
            return Known(Caller(principal, may=frozenset()))
        return Known(Caller(principal, claims=claims), ends)

    def _whole(self, known: Known, head: Head) -> Caller:
        """The caller with what they brought for services behind tools."""
        brought = {
            name: Secret(value.decode("latin-1"))
            for name, each in self._credentials.items()
            if (value := head.get(each.header.lower().encode())) is not None
        }
        return replace(known.caller, credentials=brought) if brought else known.caller


_NOBODY: Final = Known(ANONYMOUS)


def needs_known(caller: Caller, head: Head, what: str) -> None:
    """Raise ProblemError for somebody who has not said who they are."""
    if b"authorization" not in head:
        raise unauthorized(f"{what} needs a credential, on this machine too", _HINT)
    if not caller.may:
        raise forbidden(f"{caller.principal} may do nothing here")


def needs_right(caller: Caller, head: Head, right: str, what: str) -> None:
    """Raise ProblemError for somebody without a right to it."""
    needs_known(caller, head, what)
    if right not in caller.may:
        hint = f"`may: [{right}]` of an identity in toolrt.yaml lets somebody do that"
        raise forbidden(f"{caller.principal} may not do that", hint)


def plain_hash(written: str) -> str:
    """A hash as it is compared, of what a project says."""
    return written.strip().lower().removeprefix("sha256:")


def address_of(scope: Scope) -> str:
    """Where a request comes from; nothing for what has no address."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _is_token(key: bytes) -> bool:
    """Whether it looks like head.claims.signature."""
    return key.count(b".") == 2 and key.isascii()  # noqa: PLR2004 - as above


def _hash(key: bytes) -> str:
    return sha256(key).hexdigest()


def _proof(of: str) -> str:
    """A name for a proof, from which nobody learns it."""
    return sha256(f"proof\0{of}".encode()).hexdigest()


def _caller(identity: Identity) -> Caller:
    may = frozenset(identity.may)
    known = MAY_CALL if may == MAY_CALL else may  # the gateway knows it by its identity
    return Caller(identity.principal, tuple(identity.roles), identity.tenant, may=known)


def _holds(identity: Identity, claims: Mapping[str, Any]) -> bool:
    """Whether each claim that the identity names is there; of a list, one of its items will do."""
    for name, wanted in (identity.claim or {}).items():
        value = claims.get(name)
        values = value if isinstance(value, list) else [value]
        if not any(type(each) is type(wanted) and each == wanted for each in values):
            return False
    return bool(identity.claim)
