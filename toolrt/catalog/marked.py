"""What a callable's author says with `@tool`, below all layers of the files."""

from collections.abc import Mapping
from typing import Any

from toolrt.catalog.implementation import Implementation
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault
from toolrt.loading.layers import Layer, Layered
from toolrt.loading.loader import WrittenTool
from toolrt.manifest.longform import long_tool
from toolrt.schemas.foreign import ForeignError, looking
from toolrt.schemas.plain import NotJsonError, plain


def laid_on_mark(
    workshop: Workshop, written: WrittenTool, made: Implementation | None, faults: list[Fault]
) -> Layered:
    """The layers of a tool upon what its code says of it; faults are added."""
    layered = written.layered
    if made is None or not workshop.imports:
        return layered
    marked = made.marked(workshop.context(written.name))
    keys = _plain(marked, made, faults) if marked else None
    if not keys:
        return layered
    layer = Layer("@tool", written.document, written.path, long_tool(keys, layered.merged))
    return Layered([layer, *layered.layers])


def _plain(
    marked: Mapping[str, Any], made: Implementation, faults: list[Fault]
) -> dict[str, Any] | None:
    """What `@tool` says as a file could say it, or None with a fault."""
    try:
        with looking():
            keys: dict[str, Any] = plain(marked)
    except ForeignError as error:
        cause = error.__cause__
        where = ".".join(map(str, cause.path[:3])) if isinstance(cause, NotJsonError) else ""
        why = f"`{where}` {cause}" if where else str(error)
        message = f"what `@tool` says of the callable cannot be read: {why}"
        hint = "write plain values there, or the keys in this file"
        faults.append(Fault("bad-mark", message, (made.kind.name,), hint))
        return None
    return keys
