"""Cuts the results of several calls until all together fit (O7): the biggest first.

What is cut here is kept to be read on, as what is too long by itself is.
"""

from collections.abc import Sequence
from typing import Final

from pydantic_core import to_json

from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.pipeline.cutting import cut_text, preview
from toolrt.pipeline.spilling import Spills, oversize_of, without_handle

MOST_TOGETHER: Final = 200_000
"""Bytes of text and data of all results of a batch."""

_LEFT_BYTES = 512


async def fitted(
    results: Sequence[ToolResult], caller: Caller, spills: Spills, most_bytes: int = MOST_TOGETHER
) -> list[ToolResult]:
    """The results in their order, of which the biggest are cut until they fit, or all are cut."""
    made, sizes = list(results), [_size(result) for result in results]
    whole = {at for at, result in enumerate(results) if result.status in {"success", "partial"}}
    while sum(sizes) > most_bytes and whole:
        at = max(whole, key=lambda each: (sizes[each], -each))
        whole.discard(at)
        made[at] = await _cut(made[at], caller, spills)
        sizes[at] = _size(made[at])
    return made


def _size(result: ToolResult) -> int:
    """Bytes of what a model gets; a text that is the data counts once."""
    data = 0 if result.data is result.text else len(to_json(result.data))
    return len(result.text.encode("utf-8", "replace")) + data


async def _cut(result: ToolResult, caller: Caller, spills: Spills) -> ToolResult:
    """A result of which only the start is left; a handle that it has stays good."""
    text, data = cut_text(result.text, _LEFT_BYTES), result.data
    written = to_json(data)
    if text is result.text and len(written) <= _LEFT_BYTES:
        return result
    handle = result.context.get("spilled")
    oversize = None
    if handle is None:
        is_long = len(written) > _LEFT_BYTES
        oversize = oversize_of(data, data) if is_long else oversize_of(result.text, result.text)
        handle = oversize.handle
    if isinstance(data, dict) and data.get("spilled") == handle:
        data = {**data, "preview": data["preview"][:_LEFT_BYTES]}
    elif len(written) > _LEFT_BYTES:
        data = {**preview(written, len(written), _LEFT_BYTES), "spilled": handle}
    context = {**result.context, "spilled": handle}
    made = result._replace(status="partial", text=text, data=data, context=context)
    if oversize is None or await spills.keep(result.call_id, result.tool, caller, oversize):
        return made
    return without_handle(made, handle)
