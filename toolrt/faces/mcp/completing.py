"""Suggestions for what prompts and resources leave open: the values that their authors wrote."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolrt.faces.mcp.contents import complete
from toolrt.faces.mcp.messages import INVALID_PARAMS, Message, Wrong, answer, object_of, text_of
from toolrt.faces.mcp.peers import Peer
from toolrt.faces.mcp.prompts import named
from toolrt.faces.mcp.shelves import Shelf

_MOST = 100


def completed(message: Message, peer: Peer, shelf: Shelf) -> bytes:
    """completion/complete. Raises Wrong."""
    of, about = object_of(message.params, "ref"), object_of(message.params, "argument")
    name, begun = text_of(about, "name"), about.get("value")
    start = begun.lower() if type(begun) is str else ""
    found = [each for each in _suggested(of, name, shelf) if each.lower().startswith(start)]
    made = {"values": found[:_MOST], "total": len(found), "hasMore": len(found) > _MOST}
    return answer(message.id, complete({"completion": made}, peer.era))


def _suggested(of: Mapping[str, Any], name: str, shelf: Shelf) -> Sequence[str]:
    """All values that there are for one name. Raises Wrong."""
    if of.get("type") == "ref/prompt":
        prompt = named(shelf, text_of(of, "name"))
        if prompt is None:
            raise Wrong(INVALID_PARAMS, "there is no such prompt")
        return next((each.values for each in prompt.arguments if each.name == name), ())
    if of.get("type") != "ref/resource":
        raise Wrong(INVALID_PARAMS, "`ref.type` must be ref/prompt or ref/resource")
    uri = text_of(of, "uri")
    found = (each for each in shelf.snapshot.resources.values() if each.uri == uri)
    resource = next(found, None)
    if resource is None:
        raise Wrong(INVALID_PARAMS, "there is no such resource")
    return resource.values.get(name, ())
