"""The program of a command: found once at load, never the caller's choice (S2, S3).

`argv[0]` is absolute, `./x` in the project, or a name on a fixed PATH. Some programs run what they
are told to run; a caller's text must not reach those unannounced.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolrt.bindings.os_text import encoded, is_system_text
from toolrt.core.faults import Fault, FaultError

FIXED_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_VERSION = re.compile(r"(?<=[a-z])-?[\d.]+$")
_INTERPRETERS = """
sh ash bash dash fish ksh mksh zsh csh tcsh busybox awk gawk mawk nawk sed ed m4 find fd git tar
python pypy node nodejs deno bun ruby perl php lua luajit tclsh expect rscript julia java pwsh
npx npm pnpm yarn bunx uvx uv pipx make env xargs parallel ssh docker podman nerdctl
nice nohup timeout time setsid stdbuf strace gdb watch sudo su doas chroot unshare nsenter flock
"""
_KNOWN = frozenset(_INTERPRETERS.split())
_SAFE_TYPES = frozenset({"boolean", "integer", "number", "null"})


def find_program(name: str, project: Path) -> str | None:
    """The absolute path of the program, or None when it is not there or not executable.

    Raises FaultError for a name that is none of the three forms.
    """
    if not is_system_text(name):
        raise FaultError(Fault("invalid-program", "the name of a program holds characters only"))
    there = os.fsdecode(encoded(name))
    if "/" not in name and name not in {"", ".", ".."}:
        return shutil.which(there, path=FIXED_PATH)
    if name.startswith("/"):
        return shutil.which(there)
    if name.startswith("./") and ".." not in name.split("/"):
        return shutil.which(os.path.join(project.absolute(), there[2:]))  # noqa: PTH118 (plain texts)
    raise FaultError(
        Fault(
            "invalid-program",
            f"`{name}` is no program: a name on the fixed PATH, an absolute path, "
            "or `./x` in the project",
            hint=f"write `./{name}`" if name[:1].isalnum() and ".." not in name else None,
        )
    )


def missing(name: str) -> str:
    """Why a tool whose program is not there is unavailable (L2)."""
    if "/" in name:
        return f"program `{name}` was not found or is not executable"
    return f"program `{name}` was not found in {FIXED_PATH}"


def runs_its_arguments(name: str) -> bool:
    """Whether the program is an interpreter or a launcher: its arguments may be code."""
    base = name.rsplit("/", 1)[-1].lower()
    return base in _KNOWN or _VERSION.sub("", base) in _KNOWN


def is_free_text(schema: Any) -> bool:
    """Whether values of a parameter with this schema can be any text."""
    if not isinstance(schema, Mapping):
        return schema is not False
    if "$ref" in schema:
        return True
    if "enum" in schema or "const" in schema:
        return False
    if "items" in schema and schema.get("type") == "array":
        items = schema["items"]
        inner = [*schema.get("prefixItems", ()), *(items if isinstance(items, list) else [items])]
        return "additionalItems" in schema or any(is_free_text(each) for each in inner)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches and "type" not in schema:
        return any(is_free_text(branch) for branch in branches)
    types = schema.get("type", "string")
    return not _SAFE_TYPES.issuperset([types] if isinstance(types, str) else types)
