"""Results of calls as MCP clients get them: content for the model, and structured content.

A value that is content of MCP itself (a block, or a list of them) goes as it is; bytes go as an
image, as audio, or as a resource.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from toolrt.core.binaries import Base64, Binary, media_type_of
from toolrt.core.results import ToolResult
from toolrt.dialects.mcp import CUT, NOTICE, noted, told_apart
from toolrt.faces.mcp.eras import SERVER, SERVER_KEY, Era
from toolrt.faces.mcp.shelves import Shelved

SPILLED = "toolrt://outputs/"
_BLOCKS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri", "name"),
}
_NO_FIT = "the answer does not fit the output schema of the tool; its text has all of it"
_IN_PARTS = "the answer is in the parts of the content"
_MODERN_META = {SERVER_KEY: SERVER}


def result_of(result: ToolResult, shelved: Shelved, era: Era) -> dict[str, Any]:
    """The result of tools/call."""
    made: dict[str, Any]
    if result.status == "success":
        made = _success(result, shelved, era)
    elif result.status == "partial":
        made = _partial(result, shelved, era)
    else:
        words = shelved.names.told(words_of(result))
        made = {"content": [{"type": "text", "text": words}], "isError": True}
    if result.for_user is not None:
        made["content"] = told_apart(made["content"], result, shelved.names)
    if "notes" in result.context:
        made["content"] = [*made["content"], *noted(result, shelved.names)]
    meta: dict[str, Any] = {"toolrt/call_id": result.call_id}
    if result.status != "success":
        meta["toolrt/status"] = result.status
    if result.error is not None:
        meta["toolrt/code"] = result.error.code
    if result.pause is not None:
        meta["toolrt/approval"] = approval_of(result)
    made["_meta"] = meta
    if era == "modern":
        meta[SERVER_KEY] = SERVER
        made["resultType"] = "complete"
    return made


def complete(result: dict[str, Any], era: Era) -> dict[str, Any]:
    """A result of any other method, with what each has in its era."""
    if era == "modern":
        result["resultType"] = "complete"
        result["_meta"] = {**result.get("_meta", {}), **_MODERN_META}
    return result


def listed(result: dict[str, Any], era: Era) -> dict[str, Any]:
    """The result of a list or a read: nobody may keep it, and not for others."""
    if era == "modern":
        result["ttlMs"] = 0
        result["cacheScope"] = "private"
    return complete(result, era)


LISTED_TAIL: Mapping[Era, bytes] = {
    "handshake": b"",
    "modern": b"," + to_json(listed({}, "modern"))[1:-1],
}
"""The same for a list that is written already."""


def approval_of(result: ToolResult) -> dict[str, Any]:
    """The question that a call waits for; nothing of the people who may answer it (P20)."""
    document = result.pause.document() if result.pause else {}
    kept = ("approval_id", "mode", "fields", "expires_at", "url", "rules", "reopened")
    return {name: document[name] for name in kept if name in document}


def words_of(result: ToolResult) -> str:
    """What a model is told of a call without a value: what is wrong, and what to do."""
    said = result.text
    if result.error is not None and result.error.hint:
        said = f"{said}\n{result.error.hint}"
    if result.pause is not None:
        until = result.pause.document()["expires_at"]
        here = f"on the server's machine: `toolrt approvals approve {result.pause.approval_id}`"
        where = f"at {result.pause.url}" if result.pause.url else here
        said = f"{said} A person decides {where}. It expires at {until}."
    return said


def _success(result: ToolResult, shelved: Shelved, era: Era) -> dict[str, Any]:
    data = result.data
    kind = type(data)
    blocks = None if kind is str else _blocks(data, kind, result)
    if blocks is not None:
        made: dict[str, Any] = {"content": blocks, "isError": False}
        return made if shelved.fit is None else _noticed(made, _IN_PARTS)
    text = result.text if kind is str else result.text or to_json(data).decode()
    made = {"content": [{"type": "text", "text": text}], "isError": False}
    if shelved.fit is not None:
        return _structured(made, data, shelved, era)
    if kind is dict and not shelved.is_wrapped:
        made["structuredContent"] = data
    return made


def _structured(made: dict[str, Any], data: Any, shelved: Shelved, era: Era) -> dict[str, Any]:
    if shelved.fit is not None and not shelved.fit(data):
        return _noticed(made, _NO_FIT)
    is_wrapped = shelved.is_wrapped and era == "handshake"
    made["structuredContent"] = {"result": data} if is_wrapped else data
    return made


def _noticed(made: dict[str, Any], why: str) -> dict[str, Any]:
    """A result whose value is not what the output schema says: clients refuse one without any."""
    made["structuredContent"] = {NOTICE: why}
    return made


def _partial(result: ToolResult, shelved: Shelved, era: Era) -> dict[str, Any]:
    """What there is of a result that was too long, and where the rest is: the call went well, and
    nobody should make it again.
    """
    text = result.text or to_json(result.data).decode()
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    handle = result.context.get("spilled")
    if handle:
        link = {"type": "resource_link", "uri": f"{SPILLED}{handle}", "name": "the whole output"}
        content.append(link)
    made: dict[str, Any] = {"content": content, "isError": False}
    if shelved.fit is not None:
        return _noticed(made, CUT)
    if result.for_user is None and (era == "modern" or type(result.data) is dict):
        made["structuredContent"] = result.data
    return made


def _blocks(data: Any, kind: type, result: ToolResult) -> list[dict[str, Any]] | None:
    """The blocks of content that a value is; None where it is data."""
    if kind is dict:
        return [data] if data.get("type") in _BLOCKS and is_block(data) else None
    if kind is list:
        if not data or not all(type(each) is not str and _is_shown(each) for each in data):
            return None
        return [_block(each, result) for each in data]
    return [_block(data, result)] if isinstance(data, Base64 | Binary) else None


def is_block(value: object) -> bool:
    """Whether it is a whole block of content."""
    if type(value) is not dict:
        return False
    needed = _BLOCKS.get(value.get("type", ""))
    if needed is None or not all(name in value for name in needed):
        return False
    if value["type"] != "resource":
        return all(type(value[name]) is str for name in needed)
    inside = value["resource"]
    return type(inside) is dict and "uri" in inside and ("text" in inside or "blob" in inside)


def _is_shown(value: Any) -> bool:
    return isinstance(value, Base64 | Binary) or is_block(value)


def _block(value: Any, result: ToolResult) -> dict[str, Any]:
    if not isinstance(value, Base64 | Binary):
        block: dict[str, Any] = value
        return block
    body = str(value) if isinstance(value, Base64) else value["base64"]
    media_type = media_type_of(value)
    kind = media_type.partition("/")[0]
    if kind in {"image", "audio"}:
        return {"type": kind, "data": body, "mimeType": media_type}
    uri = f"toolrt://calls/{result.call_id}"
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "blob": body}}
