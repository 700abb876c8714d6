"""What toolrt.yaml names beyond itself: folders that must be there, constants without secrets."""

import json
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any, Final

from toolrt.core.faults import Fault, Path
from toolrt.core.hosts import reached
from toolrt.expressions.references import REFERENCE
from toolrt.loading.files import is_missing
from toolrt.loading.loader import LoadedFiles
from toolrt.manifest.project import is_key_hash
from toolrt.schemas.phrases import visible

_OF_NOTHING: Final = sha256(b"").hexdigest()


def check_project(files: LoadedFiles) -> None:
    """Report what is wrong with a toolrt.yaml that is right by itself."""
    if files.project_document is None:
        return
    faults = [
        *_of_folders(files),
        *_of_constants(files.project.vars, ("vars",)),
        *_of_keys(files),
        *_of_server(files),
        *_of_tokens(files),
    ]
    files.report(files.project_document, (), *faults)


def _of_folders(files: LoadedFiles) -> Iterator[Fault]:
    """Folders that are not there; those that nobody named need not be."""
    for key in ("tools_dir", "policies_dir"):
        folder = getattr(files.project, key)
        if key in files.project.model_fields_set and is_missing(files.root / folder):
            message = f"there is no folder `{visible(folder)}` in this project"
            yield Fault("file-not-found", message, (key,))


def _of_constants(value: Any, path: Path) -> Iterator[Fault]:
    """References, which nothing looks up here."""
    if isinstance(value, dict | list):
        steps = value.items() if isinstance(value, dict) else enumerate(value)
        for step, below in steps:
            yield from _of_constants(below, (*path, step))
    elif isinstance(value, str) and (found := REFERENCE.search(value)):
        message = f"`{found[0]}` stays as it is here: `vars` are constants"
        hint = "write the reference where the value is used"
        yield Fault("bad-reference", message, path, hint, offset=found.start())


def _of_keys(files: LoadedFiles) -> Iterator[Fault]:
    """What stands where the hash of a key belongs, and is none."""
    for number, each in enumerate(files.project.identities):
        message = _wrong_with(each.token_hash)
        if message is not None:
            hint = "write what `printf %s KEY | sha256sum` prints, and make a new key"
            path = ("identities", number, "token_hash")
            yield Fault("constant-credential", message, path, hint, severity="warning")


def _wrong_with(hash_: str | None) -> str | None:
    if hash_ is None:
        return None
    if not is_key_hash(hash_):
        return "`token_hash` is no SHA-256: nobody can come in with it; is it the key itself?"
    if hash_.strip().lower().endswith(_OF_NOTHING):
        return "`token_hash` is that of an empty key: nobody can come in with it"
    return None


def _of_server(files: LoadedFiles) -> Iterator[Fault]:
    """A server that others could reach, and that does not start: nobody asks who they are."""
    serve = files.project.serve
    if serve is None or files.project.knows_callers:
        return
    others = reached(serve.host, serve.public_url, serve.hosts)
    if others is not None:
        key = "host" if others == serve.host else "public_url"
        key = "hosts" if others in serve.hosts else key
        message = f"others can reach `{visible(others)}`, and no identity says who they are"
        hint = "`toolrt serve` does not start like this: write `identities` with a `token_hash`"
        yield Fault("no-credentials", message, ("serve", key), hint, severity="warning")


def _of_tokens(files: LoadedFiles) -> Iterator[Fault]:
    """Signed tokens that could not be checked: without the library, or the keys of the issuer."""
    serve = files.project.serve
    jwt = serve.auth.jwt if serve is not None and serve.auth is not None else None
    if jwt is None:
        return
    path: Path = ("serve", "auth", "jwt")
    if find_spec("jwt") is None:
        message = "signed tokens need a library that is not installed here"
        hint = "pip install 'toolrt[jwt]'"
        yield Fault("import-failed", message, path, hint, severity="warning", on_key=True)
    if jwt.jwks.startswith(("http://", "https://")):
        return
    why = _wrong_with_keys(files.root / jwt.jwks)
    if why is not None:
        code = "file-not-found" if is_missing(files.root / jwt.jwks) else "unreadable-file"
        hint = 'it holds the keys of the issuer, {"keys": […]}, or is a URL with https://'
        yield Fault(code, f"`{visible(jwt.jwks)}` {why}", (*path, "jwks"), hint)


def _wrong_with_keys(file: FilePath) -> str | None:
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        return "is no file of this project"
    except (OSError, ValueError):
        return "cannot be read"
    is_set = isinstance(found, dict) and isinstance(found.get("keys"), list) and found["keys"]
    return None if is_set else "holds no keys"
