"""The program of a command: found once at load, never the caller's choice (S2, S3).

`argv[0]` is absolute, `./x` in the project, or a name on a fixed PATH. Some programs run what they
are told to run; a caller's text must not reach those unannounced.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
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
_SHELLS = frozenset(["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh", "csh", "tcsh"])
_LAUNCHERS = """
busybox ed m4 find fd expect npx bunx uvx uv pipx env xargs parallel ssh docker podman nerdctl
nice nohup timeout time setsid stdbuf strace gdb watch sudo su doas chroot unshare nsenter flock
"""
_RUNS_WHAT_FOLLOWS = frozenset(_LAUNCHERS.split())
"""What runs, or may run, what comes after `--`."""
_TAKES_CODE = re.compile(
    r"-[A-Za-z]*[ceEpmrRIF]|--(eval|print|exec|command|require|import|expression|checkpoint-action|"
    r"to-command|use-compress-program|rsh-command|upload-pack|receive-pack|config|config-env|module|"
    r"init-command|init-file|rcfile|loader|experimental-loader|source|load)"
)
"""Options whose value is code, or names some: a `--` after one is that value, or passed over."""
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
    return _base(name) in _KNOWN


def _base(name: str) -> str:
    """The program that a name or path stands for, without a version."""
    base = name.rsplit("/", 1)[-1].lower()
    return base if base in _KNOWN else _VERSION.sub("", base)


def is_past_code(name: str, before: Sequence[str]) -> bool:
    """Whether a text after the constants `before` is an operand, and what is run is constant."""
    if "--" not in before or _base(name) in _RUNS_WHAT_FOLLOWS:
        return False
    first = before[: before.index("--")]
    has_operand = any(not each.startswith("-") for each in first)
    return has_operand and not _TAKES_CODE.fullmatch(first[-1])


def instead_of_code(name: str, before: Sequence[str]) -> str:
    """What keeps a text from being code, followed by "or "; nothing where nothing does."""
    if _base(name) in _SHELLS:
        return 'write a constant script under `shell:` that reads it as `"$1"`, or '
    if _base(name) in _RUNS_WHAT_FOLLOWS:
        return ""
    if any(_TAKES_CODE.fullmatch(each) for each in before[-2:]):
        return "keep the code constant and pass it as an argument after that and `--`, or "
    return "put `--` before it, after what is to be run, or "


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
