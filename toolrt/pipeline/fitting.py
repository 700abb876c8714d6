"""Cuts the results of several calls until all together fit (O7): the biggest first.

What is cut here is kept to be read on, as what is too long by itself is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic_core import to_json

from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.pipeline.cutting import cut_text, preview
from toolrt.pipeline.spilling import Spills, oversize_of, without_handle

MOST_TOGETHER: Final = 200_000
"""Bytes of text and data of all results of a batch."""

_LEFT_BYTES: Final = (512, 128, 24)
"""What is left of a text and of data that are cut: as much as lets all fit, if any of it does."""


async def fitted(
    results: Sequence[ToolResult], caller: Caller, spills: Spills, most_bytes: int = MOST_TOGETHER
) -> list[ToolResult]:
    """The results in their order, of which the biggest are cut until they fit, or all are cut.

    Failures are cut as well, and nothing more of them is kept. Pauses are for people.
    """
    made, sizes = list(results), [_size(result) for result in results]
    together = sum(sizes)
    for left in _LEFT_BYTES:
        whole = [at for at, result in enumerate(results) if result.status != "paused"]
        whole.sort(key=lambda at: (sizes[at], -at))
        while together > most_bytes and whole:
            at = whole.pop()
            if results[at].error is not None:
                made[at] = _cut_failure(results[at], left)
            else:
                made[at] = await _cut(results[at], made[at], left, caller, spills)
            together -= sizes[at]
            sizes[at] = _size(made[at])
            together += sizes[at]
    return made


def _size(result: ToolResult) -> int:
    """Bytes of what a model gets; a text that is the data counts once."""
    data = 0 if result.data is result.text else len(to_json(result.data))
    error = result.error
    more = 0 if error is None else len(error.hint or "") + len(to_json(error.details))
    return len(result.text.encode("utf-8", "replace")) + data + more


def _cut_failure(result: ToolResult, left: int) -> ToolResult:
    """A failure of which only the start is left."""
    error = result.error
    if error is None:
        return result
    written = to_json(error.details)
    made = replace(
        error,
        message=cut_text(error.message, left),
        hint=error.hint and cut_text(error.hint, left),
        details=error.details if len(written) <= left else preview(written, len(written), left),
    )
    return result._replace(text=made.message, error=made)


async def _cut(
    result: ToolResult, before: ToolResult, left: int, caller: Caller, spills: Spills
) -> ToolResult:
    """A result of which only the start is left; `before` is what was made of it until now. A
    handle that either has stays good.
    """
    text, data = cut_text(result.text, left), result.data
    written = to_json(data)
    if text is result.text and len(written) <= left:
        return result
    handle = result.context.get("spilled") or before.context.get("spilled")
    oversize = None
    if handle is None:
        is_long = len(written) > left
        oversize = oversize_of(data, data) if is_long else oversize_of(result.text, result.text)
        handle = oversize.handle
    if isinstance(data, dict) and data.get("spilled") == handle:
        data = {**data, "preview": data["preview"][:left]}
    elif len(written) > left:
        data = {**preview(written, len(written), left), "spilled": handle}
    context = {**result.context, "spilled": handle}
    made = result._replace(status="partial", text=text, data=data, context=context)
    if oversize is None or await spills.keep(result.call_id, result.tool, caller, oversize):
        return made
    return without_handle(made, handle)
