"""A target as its tools use it: origin, path, headers and credential, compiled once for each."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from toolrt.bindings.auth import Credential, compile_auth
from toolrt.bindings.base import TARGET, BindContext
from toolrt.bindings.http_fields import Headers
from toolrt.bindings.http_url import compile_path, read_written
from toolrt.bindings.network import Guard, Origin, TlsFiles
from toolrt.expressions.templates import Template
from toolrt.manifest.target import Target, Tls


@dataclass(frozen=True, slots=True)
class Service:
    """What a target says, ready for the tools that name it. `path` ends in no slash."""

    origin: Origin
    path: Template
    headers: Headers
    credential: Credential | None
    guard: Guard
    tls: TlsFiles | None
    target: Target


def compile_target(target: Target, context: BindContext) -> Service | None:
    """Compile a target; what is wrong is reported with paths from the target."""
    url = read_written(target.url, context, "url")
    headers = Headers()
    headers.add(target.headers, context, "headers")
    credential = compile_auth(target.auth, context, "auth") if target.auth else None
    check_twice(target.headers, credential, context)
    guard = compile_guard(target.allow_private, context)
    if url is None:
        return None
    if url.origin is None or url.query is not None:
        message = "the `url` of a target is a host and perhaps a path"
        hint = "such as https://api.example.com/v1; a query belongs to its tools"
        context.fault("invalid-url", message, "url", hint=hint)
        return None
    path = compile_path(replace(url, path=url.path.rstrip("/")), context, "url")
    check_host(url.origin, guard, context)
    tls = _files(target.tls, context)
    return Service(url.origin, path, headers, credential, guard, tls, target)


def service_of(name: str, context: BindContext) -> Service | None:
    """The target `name` for one tool; its faults are the target's own, and reported there."""
    own = replace(
        context,
        faults=[],
        used=set(),
        unavailable=None,
        names=replace(context.names, parameters=frozenset(), optional=frozenset()),
    )
    service = compile_target(context.targets[name], own)
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


def check_twice(
    written: Iterable[str], credential: Credential | None, context: BindContext
) -> None:
    """Report a header of `headers` that the credential sets too."""
    if credential is None or credential.place != "header":
        return
    for name in written:
        if name.lower() == credential.name.lower():
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
