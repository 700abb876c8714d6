"""What a model is told of a result, in whatever dialect: one text, and the bytes beside it.

People are named in neither: who may say yes to a paused call is nothing for a model.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic_core import to_json

from toolrt.core.binaries import Base64, Binary, media_type_of
from toolrt.core.results import Failure, Pause, ToolResult
from toolrt.dialects.names import WireNames


class Blob(NamedTuple):
    """Bytes that a tool answered with."""

    media_type: str
    base64: str

    @property
    def is_image(self) -> bool:
        """Whether vendors take it as an image."""
        return self.media_type in {"image/png", "image/jpeg", "image/gif", "image/webp"}


def said(result: ToolResult, names: WireNames) -> str:
    """The text of a result for a model: the tool's own, or else its value as JSON, and a line for
    whatever else is to be known of the call.
    """
    text = words(result, names)
    return "\n".join((text, *notes(result, names))) if "notes" in result.context else text


def notes(result: ToolResult, names: WireNames) -> list[str]:
    """What a model has to know of a call beside its value: that a person changed the arguments,
    that nothing was done again, that something else stands in.
    """
    return [f"Note: {names.told(each)}." for each in result.context.get("notes", ())]


def words(result: ToolResult, names: WireNames) -> str:
    """The text of a result alone."""
    if result.error is not None:
        return names.told(_failed(result.error))
    if result.pause is not None:
        return names.told(_paused(result.text, result.pause))
    if result.text:
        return result.text
    if blobs(result):
        parts = result.data if isinstance(result.data, list) else [result.data]
        return "\n".join(map(_in_words, parts))
    return to_json(result.data).decode()


def shown(result: ToolResult) -> dict[str, Any]:
    """The document of a result for whoever has no say in approvals: a pause names no people."""
    made = result.document()
    if result.pause is not None:
        made["pause"] = {key: each for key, each in made["pause"].items() if key != "needs"}
    return made


def blobs(result: ToolResult) -> list[Blob]:
    """The bytes of a result: those that are its value, or the items of it; images and sounds in the
    form of MCP count, too.
    """
    data = result.data
    found = [_blob(each) for each in (data if isinstance(data, list) else [data])]
    return [each for each in found if each is not None]


def is_failed(result: ToolResult) -> bool:
    """Whether a model has to be told that nothing came of its call: it failed, or it waits."""
    return result.error is not None or result.pause is not None


def _blob(value: Any) -> Blob | None:
    if isinstance(value, Base64 | Binary):
        return Blob(media_type_of(value), value["base64"] if isinstance(value, Binary) else value)
    if not isinstance(value, Mapping):
        return None
    for media_type, data in (("media_type", "base64"), ("mimeType", "data")):
        is_block = data == "base64" or value.get("type") in {"image", "audio"}
        if is_block and value.keys() - {"type"} == {media_type, data}:
            return Blob(str(value[media_type]), str(value[data]))
    return None


def _in_words(value: Any) -> str:
    """An item of a value that holds bytes: these are described, and MCP's text is text."""
    blob = _blob(value)
    if blob is not None:
        size = len(blob.base64) * 3 // 4 - blob.base64[-2:].count("=")
        return f"{blob.media_type}, {size} bytes"
    is_text = isinstance(value, Mapping) and value.keys() == {"type", "text"}
    return str(value["text"]) if is_text else to_json(value).decode()


def _failed(failure: Failure) -> str:
    lines = [f"Error ({failure.code}): {failure.message}"]
    if failure.hint:
        lines.append(f"Hint: {failure.hint}")
    if failure.retryable:
        lines.append("The same call may succeed later.")
    return "\n".join(lines)


def _paused(text: str, pause: Pause) -> str:
    until = datetime.fromtimestamp(pause.expires_at, UTC).isoformat(timespec="seconds")
    lines = [text, f"It waits until {until.replace('+00:00', 'Z')}."]
    if pause.fields:
        lines.append(f"The person fills in: {', '.join(pause.fields)}.")
    if pause.url:
        lines.append(f"The person can answer at {pause.url}")
    return "\n".join(lines)
