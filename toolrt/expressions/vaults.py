"""Where secrets are kept: environment variables, a folder of files, a command.

`references` asks them in the order of the project's `secrets`. A tenant's secret is kept apart
from all others: under `TENANT/NAME` in files and commands, `TENANT_NAME` in the environment.
"""

import os
import re
import signal
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

_LARGEST = 64 * 1024
_COMMAND_TIMEOUT_S = 10.0
_PLAIN_TENANT = re.compile(r"[a-z0-9]+")


class Vault(Protocol):
    """A place that may know a secret. `owner` is the tenant it belongs to, if any."""

    def look_up(self, name: str, owner: str | None) -> str | None: ...

    def place(self, name: str) -> str:
        """Where an operator would put the secret."""
        ...


class EnvVault:
    """`TOOLRT_SECRET_X`, upper case, everything but letters and digits as `_`.

    A tenant whose name is not plain lower-case letters and digits has none here, since another's
    name might be spelled the same.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def look_up(self, name: str, owner: str | None) -> str | None:
        if owner is None:
            return self._environ.get(self.place(name))
        if not _PLAIN_TENANT.fullmatch(owner):
            return None
        return self._environ.get(self.place(f"{owner}_{name}"))

    def place(self, name: str) -> str:
        return "TOOLRT_SECRET_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper()


class FileVault:
    """One file a secret, as container platforms mount them."""

    def __init__(self, folder: Path, shown: str) -> None:
        self._folder = folder
        self._shown = shown

    def look_up(self, name: str, owner: str | None) -> str | None:
        return read_file(self._folder / owner / name if owner else self._folder / name)

    def place(self, name: str) -> str:
        return f"{self._shown}/{name}"


class CommandVault:
    """A program that prints the secret whose name is its last argument; asked once a name."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], cwd: Path) -> None:
        self._argv = list(argv)
        self._environ = environ
        self._cwd = cwd
        self._known: dict[str, str] = {}

    def look_up(self, name: str, owner: str | None) -> str | None:
        asked = f"{owner}/{name}" if owner else name
        if asked not in self._known:
            answer = self._run(asked)
            if answer is None:
                return None
            self._known[asked] = answer
        return self._known[asked]

    def place(self, name: str) -> str:  # noqa: ARG002 - the protocol's
        return f"command {self._argv[0]}"

    def _run(self, asked: str) -> str | None:
        try:
            child = subprocess.Popen(  # noqa: S603 - argv of the project file, no shell
                [*self._argv, asked],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._cwd,
                env=dict(self._environ),
                start_new_session=True,
            )
        except OSError:
            return None
        with child:
            output = _output(child)
        return _secret_text(output) if child.returncode == 0 else None


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
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        return _secret_text(os.read(descriptor, _LARGEST + 1))
    finally:
        os.close(descriptor)


def _output(child: "subprocess.Popen[bytes]") -> bytes:
    """What the child printed; after the timeout its whole group is killed."""
    try:
        return child.communicate(timeout=_COMMAND_TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()[0]


def _secret_text(raw: bytes) -> str | None:
    if len(raw) > _LARGEST:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return text.removesuffix("\n").removesuffix("\r")
