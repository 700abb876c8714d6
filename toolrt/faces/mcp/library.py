"""Prompts and resources, and suggestions for what they leave open.

A resource is also the whole of an output that was too long for its result.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any

from toolrt.catalog.offered import Content, OfferedPrompt, OfferedResource
from toolrt.core.errors import RefusedError
from toolrt.core.results import ToolResult
from toolrt.core.unseen import harmless
from toolrt.dialects.names import LONGEST_MCP, wire_name
from toolrt.faces.mcp.calling import Calls
from toolrt.faces.mcp.contents import SPILLED, complete, is_block, listed, words_of
from toolrt.faces.mcp.listing import cursor_of, offset_of
from toolrt.faces.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Message,
    Wrong,
    answer,
    object_of,
    text_of,
)
from toolrt.faces.mcp.peers import Peer
from toolrt.faces.mcp.shelves import Shelf
from toolrt.runtime import Runtime
from toolrt.stores.base import StoreError

PAGE = 1000
_MOST_SUGGESTED = 100
_PART_BYTES = 1024 * 1024
_MOST_BYTES = 4 * 1024 * 1024
_OLD_NOT_FOUND = -32002


class Library:
    """What one server offers beside its tools."""

    def __init__(self, runtime: Runtime, calls: Calls) -> None:
        self._runtime = runtime
        self._calls = calls

    def list_prompts(self, message: Message, peer: Peer, shelf: Shelf) -> bytes:
        """prompts/list. Raises Wrong."""
        made = [_prompt(each) for each in shelf.snapshot.prompts.values()]
        return self._page("prompts", made, message, peer, shelf)

    def list_resources(self, message: Message, peer: Peer, shelf: Shelf) -> bytes:
        """resources/list: those whose URI leaves nothing open. Raises Wrong."""
        found = (each for each in shelf.snapshot.resources.values() if not each.variables)
        made = [{"uri": each.uri, **_resource(each)} for each in found]
        return self._page("resources", made, message, peer, shelf)

    def list_templates(self, message: Message, peer: Peer, shelf: Shelf) -> bytes:
        """resources/templates/list. Raises Wrong."""
        found = (each for each in shelf.snapshot.resources.values() if each.variables)
        made = [{"uriTemplate": each.uri, **_resource(each)} for each in found]
        return self._page("resourceTemplates", made, message, peer, shelf)

    async def get_prompt(self, message: Message, peer: Peer, shelf: Shelf) -> bytes:
        """prompts/get. Raises Wrong."""
        name = text_of(message.params, "name")
        prompt = _named(shelf.snapshot.prompts, name)
        if prompt is None:
            raise Wrong(INVALID_PARAMS, f"there is no prompt `{name[:100]}`")
        arguments = _arguments(prompt, object_of(message.params, "arguments"))

        def made(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
            told = {"description": prompt.description} if prompt.description else {}
            return complete({**told, "messages": list(messages)}, peer.era)

        if prompt.tool is None:
            return answer(message.id, made(await _messages(prompt, arguments)))
        return await self._by_tool(
            prompt.tool, arguments, message, peer, shelf, lambda result: made(_said(result))
        )

    async def read(self, message: Message, peer: Peer, shelf: Shelf) -> bytes:
        """resources/read. Raises Wrong."""
        uri = text_of(message.params, "uri")
        if uri.startswith(SPILLED):
            contents = [await self._spilled(uri, peer)]
            return answer(message.id, listed({"contents": contents}, peer.era))
        for resource in shelf.snapshot.resources.values():
            found = resource.match(uri)
            if found is not None:
                return await self._read(resource, uri, found, message, peer, shelf)
        raise _no_resource(uri, peer)

    def complete(self, message: Message, peer: Peer, shelf: Shelf) -> bytes:
        """completion/complete. Raises Wrong."""
        params = message.params
        of, about = object_of(params, "ref"), object_of(params, "argument")
        name, begun = text_of(about, "name"), about.get("value")
        values = _suggested(of, name, shelf)
        start = begun.lower() if type(begun) is str else ""
        found = [each for each in values if each.lower().startswith(start)]
        made = {
            "values": found[:_MOST_SUGGESTED],
            "total": len(found),
            "hasMore": len(found) > _MOST_SUGGESTED,
        }
        return answer(message.id, complete({"completion": made}, peer.era))

    def _page(
        self, key: str, items: list[dict[str, Any]], message: Message, peer: Peer, shelf: Shelf
    ) -> bytes:
        cursor, generation = message.params.get("cursor"), shelf.snapshot.generation
        start = 0 if cursor is None else offset_of(cursor, generation)
        made: dict[str, Any] = {key: items[start : start + PAGE]}
        if start + PAGE < len(items):
            made["nextCursor"] = cursor_of(generation, start + PAGE)
        return answer(message.id, listed(made, peer.era))

    async def _read(
        self,
        resource: OfferedResource,
        uri: str,
        found: dict[str, str],
        message: Message,
        peer: Peer,
        shelf: Shelf,
    ) -> bytes:
        def made(contents: list[dict[str, Any]]) -> dict[str, Any]:
            return listed({"contents": contents}, peer.era)

        if resource.tool is None:
            contents = [await _contents(resource.content, uri, found)]
            return answer(message.id, made(contents))
        type_ = resource.content.media_type
        return await self._by_tool(
            resource.tool,
            found,
            message,
            peer,
            shelf,
            lambda result: made(_shown(result, uri, type_)),
        )

    async def _by_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        message: Message,
        peer: Peer,
        shelf: Shelf,
        finish: Any,
    ) -> bytes:
        shelved = shelf.of(name)
        if shelved is None:
            raise Wrong(INTERNAL_ERROR, "what makes this is switched off; tell the operator")
        return await self._calls.at_length(message, peer, shelved, arguments, finish)

    async def _spilled(self, uri: str, peer: Peer) -> dict[str, Any]:
        """The whole of an output, or as much as one answer takes."""
        handle, pieces, offset, size = uri.removeprefix(SPILLED), [], 0, 0
        try:
            while size < _MOST_BYTES:
                part = await self._runtime.read_output(handle, offset, _PART_BYTES, peer.caller)
                pieces.append(part)
                size += _PART_BYTES
                if part.next_offset is None:
                    break
                offset = part.next_offset
        except RefusedError:
            raise _no_resource(uri, peer) from None
        except StoreError:
            raise Wrong(INTERNAL_ERROR, "outputs cannot be read now; tell the operator") from None
        made: dict[str, Any] = {"uri": uri, "mimeType": pieces[0].media_type}
        if pieces[0].content is None:
            made["text"] = "".join(each.text or "" for each in pieces)
        else:
            made["blob"] = base64.b64encode(
                b"".join(each.content or b"" for each in pieces)
            ).decode()
        return made


def _named(prompts: Mapping[str, OfferedPrompt], wire: str) -> OfferedPrompt | None:
    found = (each for name, each in prompts.items() if wire in {name, _wire(name)})
    return next(found, None)


def _wire(name: str) -> str:
    return wire_name(name, LONGEST_MCP)


def _prompt(prompt: OfferedPrompt) -> dict[str, Any]:
    made: dict[str, Any] = {"name": _wire(prompt.name)}
    _describe(made, prompt)
    if prompt.arguments:
        made["arguments"] = [
            {
                "name": each.name,
                **({"description": each.description} if each.description else {}),
                "required": each.is_required,
            }
            for each in prompt.arguments
        ]
    return made


def _resource(resource: OfferedResource) -> dict[str, Any]:
    made: dict[str, Any] = {"name": _wire(resource.name)}
    _describe(made, resource)
    made["mimeType"] = resource.content.media_type
    return made


def _describe(made: dict[str, Any], of: OfferedPrompt | OfferedResource) -> None:
    if of.title:
        made["title"] = of.title
    if of.description:
        made["description"] = of.description


def _arguments(prompt: OfferedPrompt, given: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of a prompt, which are texts. Raises Wrong."""
    known = {each.name for each in prompt.arguments}
    missing = [
        each.name for each in prompt.arguments if each.is_required and each.name not in given
    ]
    if missing:
        raise Wrong(INVALID_PARAMS, f"the prompt needs `{missing[0]}`")
    for name, value in given.items():
        if name not in known:
            raise Wrong(INVALID_PARAMS, f"the prompt has no argument `{name[:100]}`")
        if type(value) is not str:
            raise Wrong(INVALID_PARAMS, f"`{name}` must be a text")
    return dict(given)


async def _messages(prompt: OfferedPrompt, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    made = []
    for part in prompt.parts:
        content, where = part.content, part.resource
        kind = content.media_type.partition("/")[0]
        if where is not None or (content.file is not None and kind not in {"image", "audio"}):
            uri = f"file:///{content.file.name}" if content.file else "toolrt://prompt"
            if where is not None:
                uri = _rendered(where.text, arguments)
            inside = await _contents(content, uri, arguments)
            made.append({"role": part.role, "content": {"type": "resource", "resource": inside}})
        elif content.file is not None:
            data = base64.b64encode(await _bytes(content)).decode()
            block = {"type": kind, "data": data, "mimeType": content.media_type}
            made.append({"role": part.role, "content": block})
        else:
            text = _rendered(lambda _: content.rendered(arguments), arguments)
            made.append({"role": part.role, "content": {"type": "text", "text": text}})
    return made


def _rendered(render: Any, arguments: Mapping[str, Any]) -> str:
    from toolrt.expressions.scope import Scope  # noqa: PLC0415 - few prompts are asked for

    try:
        return harmless(render(Scope(arguments)))
    except RefusedError as error:
        raise Wrong(INVALID_PARAMS, error.message) from None


async def _contents(content: Content, uri: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What is at a URI. Raises Wrong."""
    made: dict[str, Any] = {"uri": uri, "mimeType": content.media_type}
    if content.file is None:
        made["text"] = _rendered(lambda _: content.rendered(arguments), arguments)
        return made
    raw = await _bytes(content)
    try:
        made["text"] = raw.decode()
    except UnicodeDecodeError:
        made["blob"] = base64.b64encode(raw).decode()
    return made


async def _bytes(content: Content) -> bytes:
    """The bytes of a file of the project. Raises Wrong where it has gone, or is too large."""
    path = content.file
    if path is None:
        return b""
    try:
        raw = await asyncio.to_thread(path.read_bytes)
    except OSError:
        raise Wrong(INTERNAL_ERROR, "the file of this cannot be read; tell the operator") from None
    if len(raw) > _MOST_BYTES:
        raise Wrong(INTERNAL_ERROR, "the file of this is too large; tell the operator")
    return raw


def _said(result: ToolResult) -> list[dict[str, Any]]:
    """The messages of a prompt that a tool made. Raises Wrong where it failed."""
    _refuse_failed(result)
    data = result.data
    items = data if isinstance(data, list) else [data]
    return [_message(each, result) for each in items]


def _message(item: Any, result: ToolResult) -> dict[str, Any]:
    is_dict = isinstance(item, dict)
    if is_dict and item.get("role") in {"user", "assistant"} and is_block(item.get("content")):
        return {"role": item["role"], "content": item["content"]}
    if is_block(item):
        return {"role": "user", "content": item}
    text = item if isinstance(item, str) else result.text
    return {"role": "user", "content": {"type": "text", "text": text}}


def _shown(result: ToolResult, uri: str, media_type: str) -> list[dict[str, Any]]:
    """The contents of a resource that a tool made. Raises Wrong where it failed."""
    from toolrt.core.binaries import Base64, Binary, media_type_of  # noqa: PLC0415 - as above

    _refuse_failed(result)
    data = result.data
    if isinstance(data, Base64 | Binary):
        body = str(data) if isinstance(data, Base64) else data["base64"]
        return [{"uri": uri, "mimeType": media_type_of(data), "blob": body}]
    from pydantic_core import to_json  # noqa: PLC0415 - as above

    text = data if isinstance(data, str) else to_json(data).decode()
    is_json = not isinstance(data, str) and media_type == "text/plain"
    return [{"uri": uri, "mimeType": "application/json" if is_json else media_type, "text": text}]


def _refuse_failed(result: ToolResult) -> None:
    if result.status in {"error", "paused"}:
        raise Wrong(INTERNAL_ERROR, words_of(result))


def _no_resource(uri: str, peer: Peer) -> Wrong:
    code = INVALID_PARAMS if peer.era == "modern" else _OLD_NOT_FOUND
    return Wrong(code, "there is no such resource", {"uri": uri})


def _suggested(of: Mapping[str, Any], name: str, shelf: Shelf) -> Sequence[str]:
    """The values that the author of a prompt or resource suggests. Raises Wrong."""
    if of.get("type") == "ref/prompt":
        prompt = _named(shelf.snapshot.prompts, text_of(dict(of), "name"))
        if prompt is None:
            raise Wrong(INVALID_PARAMS, "there is no such prompt")
        return next((each.values for each in prompt.arguments if each.name == name), ())
    if of.get("type") == "ref/resource":
        uri = text_of(dict(of), "uri")
        found = (each for each in shelf.snapshot.resources.values() if each.uri == uri)
        resource = next(found, None)
        if resource is None:
            raise Wrong(INVALID_PARAMS, "there is no such resource")
        return resource.values.get(name, ())
    raise Wrong(INVALID_PARAMS, "`ref.type` must be ref/prompt or ref/resource")
