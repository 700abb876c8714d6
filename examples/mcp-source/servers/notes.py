"""An MCP server of two tools, in plain Python: what any server does, by hand."""

import json
import sys
from typing import Any

NOTES = {"milk": "Buy milk.", "bread": "Bake bread."}
TEXT = {"type": "string", "description": "A word to look for."}
TOOLS = [
    {
        "name": "search",
        "description": "Search the notes.",
        "inputSchema": {"type": "object", "properties": {"text": TEXT}, "required": ["text"]},
    },
    {
        "name": "forget_all",
        "description": "Remove every note.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"destructiveHint": True},
    },
]


def called(name: str, arguments: dict[str, str]) -> str:
    """The text that a tool answers with."""
    if name == "search":
        found = [note for word, note in NOTES.items() if arguments["text"] in word]
        return "\n".join(found) or "nothing found"
    NOTES.clear()
    return "all forgotten"


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What is answered to a request; KeyError for one that is not known."""
    if method == "initialize":
        server = {"name": "notes", "version": "1"}
        capabilities = {"tools": {}}
        return {"protocolVersion": "2025-11-25", "serverInfo": server, "capabilities": capabilities}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        said = called(params["name"], params.get("arguments") or {})
        return {"content": [{"type": "text", "text": said}]}
    raise KeyError(method)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        answer["result"] = result(message["method"], message.get("params") or {})
    except KeyError:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
