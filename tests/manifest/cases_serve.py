"""Cases about servers: who calls them, by which names, from which pages."""

import time
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ed25519
from jwt.algorithms import OKPAlgorithm
from manifest.key_case import PROJECT as FILE
from manifest.key_case import Bench, Later, Works, Wrong, file, project

from toolrt.core.calls import Caller
from toolrt.faces.cli.serving import Plan
from toolrt.faces.http.access import Access, Starting
from toolrt.faces.http.guards import Guards
from toolrt.faces.http.problems import ProblemError

T = "tools: {t: {description: T., command: [printf, hello]}}"
KEY = sha256(b"key").hexdigest()
SIGNING = ed25519.Ed25519PrivateKey.generate()
KEYS = {"keys.json": f'{{"keys": [{OKPAlgorithm.to_jwk(SIGNING.public_key())}]}}'}
CLAIMS = {"iss": "https://login", "aud": "us", "sub": "s-1", "team": "blue"}
PEOPLE = f"identities: [{{token_hash: {KEY}, principal: ada}}]\n"
JWT = "jwks: keys.json, algorithms: [EdDSA]"


def token(**claims: Any) -> bytes:
    said = {**CLAIMS, "exp": time.time() + 3600, **claims}
    return b"Bearer " + jwt.encode(said, SIGNING, "EdDSA").encode()


def known(
    of: Callable[[Caller], Any] = lambda caller: caller.principal,
    proof: bytes | None = b"Bearer key",
    **headers: str,
) -> Callable[[Bench], Awaitable[Any]]:
    """Who a request is from, or the code of why it is nobody's."""

    async def look(bench: Bench) -> Any:
        starting = Starting(True, "start", lambda _: Caller("me"), "127.0.0.1", "http://localhost")
        head = {name.replace("_", "-").encode(): text.encode() for name, text in headers.items()}
        if proof is not None:
            head[b"authorization"] = proof
        try:
            return of(await Access(bench.runtime, starting).caller(head))
        except ProblemError as problem:
            return problem.code

    return look


def taken(**headers: str) -> Callable[[Bench], Awaitable[Any]]:
    """Whether a request with these headers is taken."""

    async def look(bench: Bench) -> Any:
        serve = bench.runtime.written.serve
        guards = Guards(serve.hosts, serve.origins, serve.public_url)
        head = {b"host": b"localhost"} | {k.encode(): v.encode() for k, v in headers.items()}
        try:
            guards.check("GET", head)
        except ProblemError as problem:
            return problem.code
        return "taken"

    return look


class _Settings:
    """What a plan asks of the options of a command."""

    def __init__(self, bench: Bench) -> None:
        self.project = lambda: bench.runtime.project


def planned(of: str) -> Callable[[Bench], Awaitable[Any]]:
    """Where a server would listen."""

    async def look(bench: Bench) -> Any:
        plan = Plan.of(
            _Settings(bench), host=None, port=None, public_url=None, workers=1, drain=None,
            no_watch=True, allow_foreign_config=True,
        )  # fmt: skip
        return getattr(plan, of)

    return look


def credentials(caller: Caller) -> Any:
    return {name: secret.reveal() for name, secret in caller.credentials.items()}


def _jwt(text: str) -> dict[str, str]:
    people = "identities: [{claim: {team: blue}, principal: ada}]\n"
    return project(f"{people}serve: {{auth: {{jwt: {{{text}}}}}}}", T) | KEYS


CASES = [
    Works("project.credentials project.credentials.header",
        project("«credentials: {github: {header: X-GitHub-Token}}»", T),
        known(credentials, None, x_github_token="gh"), {"github": "gh"}, {}),
    Wrong("project.credentials.header",
        file("credentials: {github: {header: §Authorization}}", FILE), "invalid-value"),
    Works("project.identities.token_hash",
        project(f"«identities: [{{token_hash: sha256:{KEY}, principal: ada}}]»", T), known(), "ada",
        "unauthorized"),
    Later("project.identities.token_hash",
        file("identities: [{token_hash: §a-key-and-not-its-hash, principal: ada}]", FILE),
        "token_hash", "constant-credential"),
    Later("project.identities.token_hash",
        file(f"identities: [{{token_hash: §sha256:{sha256(b'').hexdigest()}, principal: ada}}]", FILE),
        "token_hash", "constant-credential"),
    Works("project.identities.claim", _jwt(f"issuer: https://login, audience: us, {JWT}") | file(
        "identities: [{claim: {team: «blue¦red»}, principal: ada}]\n"
        f"serve: {{auth: {{jwt: {{issuer: https://login, audience: us, {JWT}}}}}}}", FILE),
        known(proof=token()), "ada", "access-denied"),
    Works("project.serve project.serve.auth project.serve.auth.required",
        project("serve: {auth: {required: «true¦false»}}", T), known(proof=None), "unauthorized",
        "anonymous"),
    Works("project.serve.auth.jwt project.serve.auth.jwt.jwks",
        _jwt(f"issuer: https://login, audience: us, {JWT}") | file(
        "identities: [{claim: {team: blue}, principal: ada}]\n"
        f"serve: {{auth: {{«jwt: {{issuer: https://login, audience: us, {JWT}}}»}}}}", FILE),
        known(proof=token()), "ada", "unauthorized"),
    Works("project.serve.auth.jwt.issuer", _jwt(f"issuer: «https://login¦other», audience: us, {JWT}"),
        known(proof=token()), "ada", "unauthorized"),
    Works("project.serve.auth.jwt.audience", _jwt(f"issuer: https://login, audience: «us¦them», {JWT}"),
        known(proof=token()), "ada", "unauthorized"),
    Works("project.serve.auth.jwt.algorithms", _jwt(
        "issuer: https://login, audience: us, jwks: keys.json, «algorithms: [EdDSA]»"),
        known(proof=token()), "ada", "unauthorized"),
    Works("project.serve.hosts", project(f"{PEOPLE}serve: {{hosts: [«tools.internal»]}}", T),
        taken(host="tools.internal:80"), "taken", "wrong-host"),
    Works("project.serve.origins", project("serve: {origins: [«'https://app.example'»]}", T),
        taken(origin="https://app.example"), "taken", "wrong-origin"),
    Works("project.serve.public_url",
        project(f"{PEOPLE}serve: {{«public_url: 'https://tools.example'»}}", T),
        taken(host="tools.example"), "taken", "wrong-host"),
    Works("project.serve.host", project("serve: {host: «127.0.0.9¦127.0.0.1»}", T), planned("host"),
        "127.0.0.9", "127.0.0.1"),
    Works("project.serve.port", project("serve: {port: «9000¦8080»}", T), planned("port"), 9000, 8080),
    Wrong("project.serve.public_url",
        file("serve: {public_url: §https://a.example/path}", FILE), "invalid-value"),
    Later("project.serve.host", file("serve: {host: §0.0.0.0}", FILE), "0.0.0.0", "no-credentials"),
    Later("project.serve.public_url", file("serve: {public_url: §https://a.example}", FILE),
        "https://a.example", "no-credentials"),
    Wrong("project.serve.hosts", file("serve: {hosts: §a}", FILE)),
    Wrong("project.serve.origins", file("serve: {origins: §a}", FILE)),
    Wrong("project.serve.hosts", file("serve: {hosts: §['*.example']}", FILE), "invalid-value"),
    Wrong("project.serve.origins", file("serve: {origins: §['null']}", FILE), "invalid-value"),
    Wrong("project.serve.origins", file("serve: {origins: §['*']}", FILE), "invalid-value"),
    Wrong("project.serve.origins", file("serve: {origins: §['https://*.example']}", FILE), "invalid-value"),
    Wrong("project.serve.auth", file("serve: {auth: §token}", FILE)),
    Wrong("project.serve.auth.required", file("serve: {auth: {required: §maybe}}", FILE)),
    Wrong("project.serve.auth.jwt", file("serve: {auth: {§jwt: {issuer: a, audience: b}}}", FILE),
        "missing-key"),
    Wrong("project.serve.auth.jwt.jwks", file(
        "serve: {auth: {jwt: {issuer: a, audience: b, jwks: §http://keys.example/}}}", FILE),
        "invalid-value"),
    Wrong("project.serve.auth.jwt.algorithms", file(
        "serve: {auth: {jwt: {issuer: a, audience: b, jwks: k, algorithms: [§HS256]}}}", FILE),
        "invalid-value"),
    Wrong("project.serve.auth.jwt.issuer", file(
        "serve: {auth: {jwt: {issuer: §[a], audience: b, jwks: k}}}", FILE)),
    Wrong("project.serve.auth.jwt.audience", file(
        "serve: {auth: {jwt: {issuer: a, audience: §[a], jwks: k}}}", FILE)),
]  # fmt: skip
