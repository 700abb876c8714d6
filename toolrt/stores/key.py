"""The lasting key: what seals the journal and hides sensitive arguments inside hashes.

It lives beside the database, not in it (`.toolrt/key`, 0600), and is made on first use, never where
something was made with one that is gone; replicas that share a database are given one text instead.
"""

import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from toolrt.core.errors import ProjectError
from toolrt.stores.base import StoreError
from toolrt.stores.private import (
    check_plain,
    close_to_others,
    is_there,
    make_folder,
    new_file,
    reaching,
)

_BYTES = 32
_SHORTEST_TEXT = 16


BRING_BACK = (
    "bring the key back from a backup; or move the database away, with all that begins with its"
    " name: a new key is made for a new one"
)
"""What to do about a key that is gone."""


def nothing_is_sealed() -> bool:
    """Where there is no database."""
    return False


def lasting_key(path: Path, is_needed: Callable[[], bool] = nothing_is_sealed) -> bytes:
    """The 32 bytes kept at `path`; made at random the first time, and never a second time.

    `is_needed` says whether something was made with a key already, asked where none is there.
    Raises `StoreError` when they cannot be read or made, or are no key.
    """
    make_folder(path.parent)
    check_plain(path)
    if not is_there(path):
        if is_needed() and not is_there(path):  # another process may have made it meanwhile
            raise key_gone(path)
        _make(path)
    close_to_others(path)
    with reaching(path):
        text = path.read_bytes().strip()
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise StoreError(
            "corrupt",
            f"{path} is no key: it should hold {2 * _BYTES} hexadecimal digits",
            hint="bring back the file from a backup; with a new key nothing old can be verified",
        )
    return key


def key_gone(path: Path) -> StoreError:
    """What is told where the key is not, and something was made with it."""
    message = f"{path} is gone: it is the key to what the database beside it holds"
    return StoreError("sealed", message, hint=BRING_BACK)


def key_id(key: bytes) -> str:
    """What a key is known by, kept in the database; says nothing about the key."""
    return derived(key, "key id")[:16].hex()


def given_key(text: str) -> bytes:
    """A key from a text of the project. Raises `ProjectError` for one that is easily guessed."""
    if len(text) < _SHORTEST_TEXT:
        raise ProjectError(
            f"the key of the journal has fewer than {_SHORTEST_TEXT} characters",
            hint="make one with `openssl rand -hex 32`",
        )
    return text.encode()


def derived(key: bytes, purpose: str) -> bytes:
    """A key for one purpose only, so that what is made for one is worth nothing to another."""
    return hmac.digest(key, f"toolrt:{purpose}".encode(), "sha256")


def _make(path: Path) -> None:
    with new_file(path) as draft, reaching(path), draft.open("wb") as file:
        file.write(secrets.token_hex(_BYTES).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
