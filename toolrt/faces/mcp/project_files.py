"""Files of the project, and texts, as contents of resources."""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolrt.catalog.offered import Content
from toolrt.faces.mcp.messages import INTERNAL_ERROR, Wrong

MOST_BYTES = 4 * 1024 * 1024


async def contents_of(content: Content, uri: str, text: Callable[[], str]) -> dict[str, Any]:
    """What is at a URI: a file as text or as base64, or what `text` makes. Raises Wrong."""
    made: dict[str, Any] = {"uri": uri, "mimeType": content.media_type}
    if content.file is None:
        made["text"] = text()
        return made
    raw = await raw_of(content.file)
    try:
        made["text"] = raw.decode()
    except UnicodeDecodeError:
        made["blob"] = base64.b64encode(raw).decode()
    return made


async def raw_of(path: Path) -> bytes:
    """The bytes of a file. Raises Wrong where it has gone, or is too large."""
    try:
        raw = await asyncio.to_thread(_read, path)
    except OSError:
        raise Wrong(INTERNAL_ERROR, "the file of this cannot be read; tell the operator") from None
    if len(raw) > MOST_BYTES:
        raise Wrong(INTERNAL_ERROR, "the file of this is too large; tell the operator")
    return raw


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)
