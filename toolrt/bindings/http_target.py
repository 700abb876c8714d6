"""A target as its tools use it: origin, path, headers and credential, compiled once for each."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from toolrt.bindings.auth import Credential, compile_auth
from toolrt.bindings.base import TARGET, BindContext
from toolrt.bindings.http_fields import Headers
from toolrt.bindings.http_url import compile_path, read_written
from toolrt.bindings.network import Endpoint, Guard, Origin, TlsFiles
from toolrt.bindings.signing import Signer, Unable
from toolrt.expressions.templates import Template
from toolrt.manifest.target import Auth, Target, Tls

_CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class Service:
    """What a target says, ready for the tools that name it. `path` ends in no slash."""

    origin: Origin
    path: Template
    headers: Headers
    credential: Credential | None
    signer: Signer | None
    guard: Guard
    tls: TlsFiles | None
    target: Target

    @property
    def signs_with(self) -> frozenset[str]:
        """The headers that its `auth` sets."""
        if self.signer is not None:
            return self.signer.names
        credential = self.credential
        is_header = credential is not None and credential.place == "header"
        return frozenset([credential.name]) if credential and is_header else frozenset()


def compile_target(target: Target, context: BindContext, name: str = "") -> Service | None:
    """Compile the target `name`; what is wrong is reported with paths from the target."""
    url = read_written(target.url, context, "url")
    headers = Headers()
    headers.add(target.headers, context, "headers")
    credential = compile_auth(target.auth, context, "auth") if target.auth else None
    guard = compile_guard(target.allow_private, context)
    tls = _files(target.tls, context)
    if url is None:
        return None
    if url.origin is None or url.query is not None:
        message = "the `url` of a target is a host and perhaps a path"
        hint = "such as https://api.example.com/v1; a query belongs to its tools"
        context.fault("invalid-url", message, "url", hint=hint)
        return None
    path = compile_path(replace(url, path=url.path.rstrip("/")), context, "url")
    check_host(url.origin, guard, context)
    timeout_s = target.timeout or _CONNECT_S
    endpoint = Endpoint(url.origin, guard, timeout_s, tls=tls)
    signer = _signer(target.auth, name, endpoint, context) if target.auth else None
    service = Service(url.origin, path, headers, credential, signer, guard, tls, target)
    check_twice(target.headers, service, context)
    return service


def _signer(auth: Auth, name: str, endpoint: Endpoint, context: BindContext) -> Signer | None:
    """What has to be asked before a request is made, if anything."""
    if auth.oauth2 is not None:
        from toolrt.bindings.oauth2 import compile_oauth2  # noqa: PLC0415 - few targets need it

        return compile_oauth2(auth.oauth2, endpoint, context, "auth", "oauth2") or Unable()
    if auth.python is not None:
        from toolrt.bindings.auth_python import compile_python  # noqa: PLC0415 - as above

        return compile_python(auth.python, name, context, "auth", "python") or Unable()
    return None


def service_of(name: str, context: BindContext) -> Service | None:
    """The target `name` for one tool; its faults are the target's own, and reported there."""
    own = replace(
        context,
        faults=[],
        used=set(),
        unavailable=None,
        names=replace(context.names, parameters=frozenset(), optional=frozenset()),
    )
    service = compile_target(context.targets[name], own, name)
    if context.unavailable is None and own.unavailable is not None:
        context.unavailable = own.unavailable
        context.unavailable_at = (TARGET, name, *own.unavailable_at)
    return service


def compile_guard(allow_private: bool | list[str], context: BindContext) -> Guard:
    """What `allow_private` opens; a network that is none is reported."""
    if isinstance(allow_private, bool):
        return Guard.of(allow_private)
    networks = [
        text for index, text in enumerate(allow_private) if _is_network(text, index, context)
    ]
    return Guard.of(networks)


def check_twice(written: Iterable[str], service: Service | None, context: BindContext) -> None:
    """Report a header of `headers` that the target's `auth` sets too."""
    if service is None:
        return
    taken = {name.lower() for name in service.signs_with}
    for name in written:
        if name.lower() in taken:
            message = f"`auth` of the target sets `{name}` already"
            context.fault("header-twice", message, "headers", name, on_key=True)


def check_host(origin: Origin, guard: Guard, context: BindContext) -> None:
    """Report a literal host that is never dialled, such as that of a cloud's metadata."""
    literal = origin.host.strip("[]")
    own = guard.with_own(origin.host)
    if own != guard and origin.host != "localhost" and not own.permits(literal):
        message = "this address hands out a cloud's credentials and is never called"
        context.fault("blocked-target", message, "url")


def _is_network(text: str, index: int, context: BindContext) -> bool:
    try:
        Guard.of([text])
    except ValueError:
        hint = "write `true`, or networks such as 10.0.0.0/8"
        context.fault("invalid-value", f"`{text}` is no network", "allow_private", index, hint=hint)
        return False
    return True


def _files(tls: Tls | None, context: BindContext) -> TlsFiles | None:
    if tls is None:
        return None
    if (tls.key is None) != (tls.cert is None):
        context.fault("invalid-value", "`cert` and `key` go together", "tls")
    return TlsFiles(*(_file(name, getattr(tls, name), context) for name in ("ca", "cert", "key")))


def _file(name: str, written: str | None, context: BindContext) -> Path | None:
    if written is None:
        return None
    file = context.project / written
    if not file.is_file():
        message = f"there is no file `{written}` in this project"
        context.fault("file-not-found", message, "tls", name)
    return file
