"""Prompts: messages to begin a conversation with, written out in the project or made by a tool."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from toolrt.catalog.offered import OfferedPrompt, Part
from toolrt.core.errors import RefusedError
from toolrt.core.names import did_you_mean
from toolrt.core.results import ToolResult
from toolrt.core.unseen import harmless
from toolrt.dialects.names import LONGEST_MCP, WireNames, wire_name
from toolrt.expressions.scope import Scope
from toolrt.expressions.templates import Template
from toolrt.faces.mcp.calling import Calls
from toolrt.faces.mcp.contents import complete, is_block, words_of
from toolrt.faces.mcp.listing import page
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
from toolrt.faces.mcp.project_files import contents_of, raw_of
from toolrt.faces.mcp.shelves import Shelf

_IN_MEDIA = ("image", "audio")
_SHOWN = 100
"""Characters of a name that is none."""


def list_prompts(message: Message, peer: Peer, shelf: Shelf) -> bytes:
    """prompts/list. Raises Wrong."""
    made = [_listed(each) for each in shelf.snapshot.prompts.values()]
    return page("prompts", made, message, peer, shelf)


async def get_prompt(message: Message, peer: Peer, shelf: Shelf, calls: Calls) -> bytes:
    """prompts/get. Raises Wrong."""
    name = text_of(message.params, "name")
    prompt = named(shelf, name)
    if prompt is None:
        raise Wrong(INVALID_PARAMS, _no_prompt(name, shelf))
    arguments = _arguments(prompt, object_of(message.params, "arguments"))

    def made(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        told = {"description": prompt.description} if prompt.description else {}
        return complete({**told, "messages": list(messages)}, peer.era)

    if prompt.tool is None:
        messages = [await _message(part, arguments) for part in prompt.parts]
        return answer(message.id, made(messages))
    tool = shelf.of(prompt.tool)
    if tool is None:
        raise Wrong(INTERNAL_ERROR, "what makes this prompt is not to be had here")
    given = tool.entry.checker.of_texts(arguments)
    return await calls.at_length(message, peer, tool, given, lambda result: made(_said(result)))


def named(shelf: Shelf, name: str) -> OfferedPrompt | None:
    """The prompt of that name, by its own or as it is on the wire."""
    prompts = shelf.snapshot.prompts
    found = (each for own, each in prompts.items() if name in {own, wire_name(own, LONGEST_MCP)})
    return next(found, None)


def _no_prompt(name: str, shelf: Shelf) -> str:
    prompts, shown = shelf.snapshot.prompts, name[:_SHOWN]
    known = [*prompts, *(wire_name(own, LONGEST_MCP) for own in prompts)]
    hint = did_you_mean(shown, known) or "list the prompts to see what there is"
    return f"there is no prompt `{shown}`; {WireNames(prompts, LONGEST_MCP).told(hint)}"


def rendered(template: Template | None, arguments: Mapping[str, Any]) -> str:
    """The text of a template over these arguments. Raises Wrong where one does not fit."""
    if template is None:
        return ""
    try:
        return harmless(str(template.text(Scope(arguments)) or ""))
    except RefusedError as error:
        raise Wrong(INVALID_PARAMS, error.message) from None


def refuse_failed(result: ToolResult) -> None:
    """Raise Wrong where the tool that makes something did not."""
    if result.status in {"error", "paused"}:
        raise Wrong(INTERNAL_ERROR, words_of(result))


def _listed(prompt: OfferedPrompt) -> dict[str, Any]:
    made: dict[str, Any] = {"name": wire_name(prompt.name, LONGEST_MCP)}
    if prompt.title:
        made["title"] = prompt.title
    if prompt.description:
        made["description"] = prompt.description
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


def _arguments(prompt: OfferedPrompt, given: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of a prompt, which are texts. Raises Wrong."""
    known = {each.name: each.is_required for each in prompt.arguments}
    missing = [name for name, is_required in known.items() if is_required and name not in given]
    if missing:
        raise Wrong(INVALID_PARAMS, f"the prompt needs `{missing[0]}`")
    for name, value in given.items():
        if name not in known:
            raise Wrong(INVALID_PARAMS, f"the prompt has no argument `{name[:100]}`")
        if type(value) is not str:
            raise Wrong(INVALID_PARAMS, f"`{name}` must be a text")
    return dict(given)


async def _message(part: Part, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": part.role, "content": await _content(part, arguments)}


async def _content(part: Part, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The block of one message: a text, an image or sound, or a resource."""
    content, text = part.content, _text_of(part, arguments)
    kind = content.media_type.partition("/")[0]
    if part.resource is not None:
        uri = rendered(part.resource, arguments)
        return {"type": "resource", "resource": await contents_of(content, uri, text)}
    if content.file is None:
        return {"type": "text", "text": text()}
    if kind in _IN_MEDIA:
        data = base64.b64encode(await raw_of(content.file)).decode()
        return {"type": kind, "data": data, "mimeType": content.media_type}
    uri = f"file:///{content.file.name}"
    return {"type": "resource", "resource": await contents_of(content, uri, text)}


def _text_of(part: Part, arguments: Mapping[str, Any]) -> Callable[[], str]:
    return lambda: rendered(part.content.text, arguments)


def _said(result: ToolResult) -> list[dict[str, Any]]:
    """The messages that a tool made: itself, or texts and blocks of a user. Raises Wrong."""
    refuse_failed(result)
    data = result.data
    return [_of_tool(each, result) for each in (data if isinstance(data, list) else [data])]


def _of_tool(item: Any, result: ToolResult) -> dict[str, Any]:
    is_dict = isinstance(item, dict)
    if is_dict and item.get("role") in {"user", "assistant"} and is_block(item.get("content")):
        return {"role": item["role"], "content": item["content"]}
    if is_block(item):
        return {"role": "user", "content": item}
    text = item if isinstance(item, str) else result.text or to_json(item).decode()
    return {"role": "user", "content": {"type": "text", "text": text}}
