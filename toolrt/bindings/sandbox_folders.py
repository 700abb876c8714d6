"""The folders of a project that a sandbox treats on their own: those written, those never seen.

What may be written is opened name by name for each run, so that nothing that a run leaves behind
can make the next one write elsewhere.
"""

import os
import posixpath
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolrt.bindings.base import BindContext
from toolrt.bindings.os_text import encoded, is_system_text
from toolrt.core.errors import BindingError
from toolrt.manifest.project import SecretFiles

_STEP: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STATE: Final = ".toolrt"
_NEVER_WRITTEN: Final = frozenset({_STATE, ".git", "policies.d", "tools.d"})
"""Folders that decide what runs outside of the sandbox."""


def open_beneath(project: str, folder: str) -> int:
    """A descriptor of the folder, reached without a link. Raises BindingError."""
    here = -1
    try:
        here = os.open(project, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in folder.split("/"):
            outer, here = here, os.open(encoded(name), _STEP, dir_fd=here)
            os.close(outer)
    except OSError as error:
        if here >= 0:
            os.close(here)
        raise BindingError(
            f"the folder `{folder}`, which it may write, is not there or is a link",
            code="unavailable",
            hint="make it a folder again",
            sent="never",
        ) from error
    return here


def writable(folders: list[str], context: BindContext) -> Iterator[str]:
    """The folders of `write` in their plainest form; those that cannot be are reported."""
    for number, folder in enumerate(folders):
        told = _why_not_written(folder, context)
        if told is None:
            yield "/".join(_parts(folder))
            continue
        message, hint = told
        context.fault("invalid-folder", message, "sandbox", "write", number, hint=hint)


def _parts(folder: str) -> list[str]:
    return [part for part in folder.split("/") if part not in {"", "."}]


def _why_not_written(folder: str, context: BindContext) -> tuple[str, str] | None:
    """What is wrong with a folder of `write`, and what to do."""
    parts = _parts(folder)
    if not _is_below(folder) or not is_system_text(folder) or not parts or "{{" in folder:
        return "`write` names folders below the project", "such as `write: [build, data/out]`"
    if _decides(parts, context):
        return f"what is in `{folder}` decides what runs outside of the sandbox", "name another"
    return _why_not_there(folder, parts, context.project)


def _why_not_there(folder: str, parts: list[str], project: Path) -> tuple[str, str] | None:
    for number in range(1, len(parts) + 1):
        place = project.joinpath(*parts[:number])
        try:
            mode = place.lstat().st_mode
        except OSError:
            return f"there is no folder `{folder}`", f"make it: mkdir -p {'/'.join(parts)}"
        if stat.S_ISLNK(mode):
            return f"`{folder}` leads through a symbolic link", "name the folder itself"
        if not stat.S_ISDIR(mode):
            return f"`{folder}` is no folder", "name the folder that it is in"
    return None


def _decides(parts: list[str], context: BindContext) -> bool:
    """Whether it is, holds or lies in a folder that tells what tools and rules there are."""
    if any(part.casefold() in _NEVER_WRITTEN for part in parts):
        return True
    settings = context.settings
    own = [settings.tools_dir, settings.policies_dir, *secret_folders(context)]
    for each in own:
        other = _parts(each)
        shorter = min(len(parts), len(other))
        if parts[:shorter] == other[:shorter]:
            return True
    return False


def secret_folders(context: BindContext) -> list[str]:
    """Folders below the project that no run may see: its state first, then its secrets."""
    settings = context.settings
    state = settings.state if settings.state and _is_below(settings.state) else f"{_STATE}/state.db"
    kept = [each.files for each in settings.secrets if isinstance(each, SecretFiles)]
    folders = [posixpath.dirname(state), _STATE, *filter(_is_below, kept)]
    if not all(map(_parts, folders)):
        context.fault(
            "sandbox-too-wide",
            "it would show the project's state or secrets, which stand in the project's own folder",
            "sandbox",
            on_key=True,
            hint="give them folders in toolrt.yaml, such as `state: .toolrt/state.db`",
        )
    return ["/".join(_parts(each)) or _STATE for each in folders]


def _is_below(path: str) -> bool:
    return "://" not in path and not path.startswith(("/", "~")) and ".." not in path.split("/")
