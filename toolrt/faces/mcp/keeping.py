"""Keeps what a client over stdio is told first, so that the next start can tell it at once."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolrt import __version__
from toolrt.core.calls import Caller
from toolrt.faces.mcp import eras
from toolrt.faces.mcp.early import FILE, Told, stamps
from toolrt.faces.mcp.messages import Message, Wrong
from toolrt.faces.mcp.peers import Peer
from toolrt.faces.mcp.protocol import Protocol
from toolrt.stores.base import StoreError
from toolrt.stores.private import make_folder, replace_file

_MOST_FILES = 5000
_MODERN = {
    "_meta": {eras.VERSION_KEY: eras.MODERN, eras.CAPABILITIES_KEY: {}},
}


async def first_answers(protocol: Protocol, caller: Caller) -> dict[str, Any]:
    """What this caller is told first, in both eras; lists of several pages are left out."""
    begin = {"protocolVersion": eras.LATEST_HANDSHAKE, "capabilities": {}}
    initialize = json.loads(await _result(protocol, caller, "initialize", begin))
    del initialize["protocolVersion"]
    tools = {
        "handshake": await _result(protocol, caller, "tools/list", {}),
        "modern": await _result(protocol, caller, "tools/list", _MODERN),
    }
    return {
        "version": __version__,
        "root": str(protocol.runtime.project),
        "initialize": initialize,
        "discover": await _result(protocol, caller, "server/discover", _MODERN),
        "tools": {era: page for era, page in tools.items() if '"nextCursor"' not in page},
    }


def keep(told: dict[str, Any], root: Path) -> None:
    """Write it beside the state of the project, with the files that it is of; or let it be."""
    made = json.dumps({**told, "files": stamps(root, _files(root))})
    path = root / FILE
    with suppress(OSError, StoreError):
        make_folder(path.parent)
        replace_file(path, made.encode())


def is_as_told(now: dict[str, Any], told: Told) -> bool:
    """Whether the lists that a client got are those of now."""
    return all(now["tools"].get(era) == page for era, page in told.tools.items())


async def _result(protocol: Protocol, caller: Caller, method: str, params: dict[str, Any]) -> str:
    """The result of a request, as text."""
    era: eras.Era = "modern" if params is _MODERN else "handshake"
    peer = Peer(era, eras.MODERN if era == "modern" else eras.LATEST_HANDSHAKE, caller, None)
    try:
        written = await protocol.answer(
            Message({"id": 0, "method": method, "params": params}), peer
        )
    except Wrong:
        return '{"nextCursor":""}'
    return written.decode().removeprefix('{"jsonrpc":"2.0","id":0,"result":')[:-1]


def _files(root: Path) -> Iterator[Path]:
    """The files and folders that tools come from, from the project's folder on."""
    yield Path("toolrt.yaml")
    count = 0
    for folder in ("tools.d", "policies.d"):
        for path, folders, names in os.walk(root / folder, followlinks=False):
            count += len(names)
            if count > _MOST_FILES:
                return
            folders[:] = [each for each in folders if not each.startswith((".", "__"))]
            here = Path(path).relative_to(root)
            yield here
            yield from (here / name for name in names)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(f"{root}{os.sep}"):
            yield Path(file).relative_to(root)
