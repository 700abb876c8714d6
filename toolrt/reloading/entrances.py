"""What a change of `serve` would let in that was kept out: a loss for somebody to confirm (L6)."""

from collections.abc import Iterator

from toolrt.manifest.project import Jwt, ProjectFile, Serve, ServeAuth


def opened_up(before: ProjectFile, after: ProjectFile) -> Iterator[str]:
    """Each way in that is new, in words that name all that it is made of."""
    was, now = before.serve or Serve(), after.serve or Serve()
    auth_was, auth_now = was.auth or ServeAuth(), now.auth or ServeAuth()
    if auth_was.required and not auth_now.required:
        yield "callers on this machine would need no credential (`serve.auth.required`)"
    if auth_now.jwt is not None and auth_now.jwt != auth_was.jwt:
        yield f"{_tokens(auth_now.jwt)} would be believed (`serve.auth.jwt`)"
    for origin in now.origins:
        if origin not in was.origins:
            yield f"pages of `{origin}` could call (`serve.origins`)"


def _tokens(jwt: Jwt) -> str:
    how = ", ".join(jwt.algorithms)
    return f"tokens of `{jwt.issuer}` for `{jwt.audience}`, signed by `{jwt.jwks}` ({how}),"
