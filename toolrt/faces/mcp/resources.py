"""Resources: what the project offers at URIs, and whole outputs that were too long for a result."""

import base64
from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from toolrt.catalog.offered import OfferedResource
from toolrt.core.binaries import Base64, Binary, media_type_of
from toolrt.core.errors import RefusedError
from toolrt.core.results import ToolResult
from toolrt.dialects.names import LONGEST_MCP, wire_name
from toolrt.faces.mcp.calling import Calls
from toolrt.faces.mcp.contents import SPILLED, listed
from toolrt.faces.mcp.listing import page
from toolrt.faces.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Message,
    Wrong,
    answer,
    text_of,
)
from toolrt.faces.mcp.peers import Peer
from toolrt.faces.mcp.project_files import MOST_BYTES, contents_of
from toolrt.faces.mcp.prompts import refuse_failed, rendered
from toolrt.faces.mcp.shelves import Shelf
from toolrt.opened import Runtime
from toolrt.pipeline.spilling import Output
from toolrt.stores.base import StoreError

_PART_BYTES = 1024 * 1024
_OLD_NOT_FOUND = -32002


def list_resources(message: Message, peer: Peer, shelf: Shelf) -> bytes:
    """resources/list: those whose URI leaves nothing open. Raises Wrong."""
    found = (each for each in shelf.snapshot.resources.values() if not each.variables)
    made = [{"uri": each.uri, **_listed(each)} for each in found]
    return page("resources", made, message, peer, shelf)


def list_templates(message: Message, peer: Peer, shelf: Shelf) -> bytes:
    """resources/templates/list. Raises Wrong."""
    found = (each for each in shelf.snapshot.resources.values() if each.variables)
    made = [{"uriTemplate": each.uri, **_listed(each)} for each in found]
    return page("resourceTemplates", made, message, peer, shelf)


async def read_resource(
    message: Message, peer: Peer, shelf: Shelf, calls: Calls, runtime: Runtime
) -> bytes:
    """resources/read. Raises Wrong."""
    uri = text_of(message.params, "uri")
    if uri.startswith(SPILLED):
        contents = [await _spilled(uri, peer, runtime)]
        return answer(message.id, listed({"contents": contents}, peer.era))
    for resource in shelf.snapshot.resources.values():
        found = resource.match(uri)
        if found is not None:
            return await _Reading(message, peer, uri, resource, found).answer(shelf, calls)
    raise no_resource(uri, peer)


class _Reading:
    """One read of a resource of the project; `found` is what its URI fills in."""

    def __init__(
        self,
        message: Message,
        peer: Peer,
        uri: str,
        resource: OfferedResource,
        found: dict[str, str],
    ) -> None:
        self._message = message
        self._peer = peer
        self._uri = uri
        self._resource = resource
        self._found = found

    async def answer(self, shelf: Shelf, calls: Calls) -> bytes:
        resource = self._resource
        if resource.tool is None:
            content = resource.content
            contents = await contents_of(content, self._uri, self._text)
            return answer(self._message.id, self._made([contents]))
        tool = shelf.of(resource.tool)
        if tool is None:
            raise Wrong(INTERNAL_ERROR, "what makes this resource is not to be had here")
        given = tool.entry.checker.of_texts(self._found)
        return await calls.at_length(self._message, self._peer, tool, given, self._of_tool)

    def _text(self) -> str:
        return rendered(self._resource.content.text, self._found)

    def _of_tool(self, result: ToolResult) -> dict[str, Any]:
        refuse_failed(result)
        return self._made([_shown(result.data, self._uri, self._resource.content.media_type)])

    def _made(self, contents: list[dict[str, Any]]) -> dict[str, Any]:
        return listed({"contents": contents}, self._peer.era)


def no_resource(uri: str, peer: Peer) -> Wrong:
    """The refusal of a URI that nothing is at."""
    code = INVALID_PARAMS if peer.era == "modern" else _OLD_NOT_FOUND
    return Wrong(code, "there is no such resource", {"uri": uri})


async def _spilled(uri: str, peer: Peer, runtime: Runtime) -> dict[str, Any]:
    """The whole of an output, or as much as one answer takes. Raises Wrong."""
    handle, offset, parts = uri.removeprefix(SPILLED), 0, list[Output]()
    try:
        while len(parts) * _PART_BYTES < MOST_BYTES:
            part = await runtime.read_output(handle, offset, _PART_BYTES, peer.caller)
            if part.handle != handle:  # the id of a call, which anybody can guess
                raise no_resource(uri, peer)
            parts.append(part)
            if part.next_offset is None:
                break
            offset = part.next_offset
    except RefusedError:
        raise no_resource(uri, peer) from None
    except StoreError:
        raise Wrong(INTERNAL_ERROR, "outputs cannot be read now; tell the operator") from None
    return {"uri": uri, "mimeType": parts[0].media_type, **_joined(parts)}


def _joined(parts: Sequence[Output]) -> dict[str, str]:
    if parts[0].content is None:
        return {"text": "".join(each.text or "" for each in parts)}
    whole = b"".join(each.content or b"" for each in parts)
    return {"blob": base64.b64encode(whole).decode()}


def _listed(resource: OfferedResource) -> dict[str, Any]:
    made: dict[str, Any] = {"name": wire_name(resource.name, LONGEST_MCP)}
    if resource.title:
        made["title"] = resource.title
    if resource.description:
        made["description"] = resource.description
    made["mimeType"] = resource.content.media_type
    return made


def _shown(data: Any, uri: str, media_type: str) -> dict[str, Any]:
    """What a tool made, as the contents of a URI."""
    if isinstance(data, Base64 | Binary):
        body = str(data) if isinstance(data, Base64) else data["base64"]
        return {"uri": uri, "mimeType": media_type_of(data), "blob": body}
    if isinstance(data, str):
        return {"uri": uri, "mimeType": media_type, "text": data}
    kind = "application/json" if media_type == "text/plain" else media_type
    return {"uri": uri, "mimeType": kind, "text": to_json(data).decode()}
