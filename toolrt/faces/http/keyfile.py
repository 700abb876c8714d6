"""The key of one start of a server, and where it is found: a file for the account that runs it.

It lies beside the state of the project as `serve-PORT.json` (0600) and goes with the server.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from toolrt.core import logs
from toolrt.stores.base import StoreError
from toolrt.stores.private import check_plain, make_folder, new_file

_NAMES: Final = "serve-*.json"
_MOST_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs: its address on this machine, its key, and its process."""

    url: str
    key: str
    pid: int


def path_of(folder: Path, port: int) -> Path:
    """Where the key of the server at `port` lies."""
    return folder / f"serve-{port}.json"


@contextmanager
def kept(path: Path, running: Running) -> Iterator[bool]:
    """Write it down while inside; whether that could be done. The operator's log says why not."""
    is_kept = False
    try:
        make_folder(path.parent)
        check_plain(path)
        path.unlink(missing_ok=True)
        with new_file(path) as draft:
            draft.write_text(json.dumps(asdict(running)), encoding="utf-8")
        is_kept = True
    except (StoreError, OSError) as error:
        logs.BUGS.warning("the key of this start cannot be kept: %s", error)
    try:
        yield is_kept
    finally:
        if is_kept:
            _forget(path, running)


def found(folder: Path) -> list[Running]:
    """The servers that run on this project; what others left behind is passed over."""
    read = (_read(path) for path in sorted(folder.glob(_NAMES)))
    return [each for each in read if each is not None and _is_alive(each.pid)]


def _forget(path: Path, running: Running) -> None:
    """Remove what is ours; another server may have taken the port by now."""
    if _read(path) == running:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _read(path: Path) -> Running | None:
    try:
        check_plain(path)
        with path.open("rb") as file:
            read = Running(**json.loads(file.read(_MOST_BYTES)))
    except (StoreError, OSError, ValueError, TypeError):
        return None
    is_ours = type(read.url) is str and read.url.startswith("http://") and type(read.pid) is int
    return read if is_ours else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
