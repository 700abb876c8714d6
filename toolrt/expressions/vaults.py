"""Where secrets are kept: environment variables, a folder of files, a command.

`references` asks them in the order of the project's `secrets`. A tenant's secret is kept apart
from all others: under `TENANT/NAME` in files and commands, `TENANT_NAME` in the environment.
"""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from toolrt.expressions.vault_command import LARGEST, CommandVault, secret_text

_PLAIN_TENANT = re.compile(r"[a-z0-9]+")


class Vault(Protocol):
    """A place that may know a secret. `owner` is the tenant it belongs to, if any."""

    def look_up(self, name: str, owner: str | None) -> str | None: ...

    def place(self, name: str, owner: str | None) -> str:
        """Where an operator would put the secret; and what went wrong there, if that is known."""
        ...


class EnvVault:
    """`TOOLRT_SECRET_X`, upper case, everything but letters and digits as `_`.

    A tenant whose name is not plain lower-case letters and digits has none here, since another's
    name might be spelled the same.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def look_up(self, name: str, owner: str | None) -> str | None:
        if owner is not None and not _PLAIN_TENANT.fullmatch(owner):
            return None
        return self._environ.get(self.place(name, owner))

    def place(self, name: str, owner: str | None) -> str:
        asked = f"{owner}_{name}" if owner else name
        return "TOOLRT_SECRET_" + re.sub(r"[^A-Za-z0-9]", "_", asked).upper()


class FileVault:
    """One file a secret, as container platforms mount them."""

    def __init__(self, folder: Path, shown: str) -> None:
        self._folder = folder
        self._shown = shown

    def look_up(self, name: str, owner: str | None) -> str | None:
        return read_file(self._folder / owner / name if owner else self._folder / name)

    def place(self, name: str, owner: str | None) -> str:
        return f"{self._shown}/{owner}/{name}" if owner else f"{self._shown}/{name}"


def vaults(secrets: Sequence[Any], project: Path, environ: Mapping[str, str]) -> list[Vault]:
    """The places that a project's `secrets` names, in order; each entry is already validated."""
    made: list[Vault] = []
    for entry in secrets:
        if entry == "env":
            made.append(EnvVault(environ))
        elif "files" in entry:
            made.append(FileVault(project / entry["files"], str(entry["files"])))
        else:
            made.append(CommandVault(entry["command"], environ, project))
    return made


def read_file(path: Path) -> str | None:
    """The text of a small regular file without its last newline; None when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return None
        return secret_text(os.read(descriptor, LARGEST + 1))
    finally:
        os.close(descriptor)
