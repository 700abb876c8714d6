"""An MCP server that does what no server should: by hand, without any library, of the old era.

What it lists stands in `tools.json` beside it; a tool is called by what it does. It is a program of
its own: `python mcp_server.py [stubborn] [spawning] [silent] [paged]`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path.cwd()
HABITS = set(sys.argv[1:])
OBJECT = {"type": "object"}
PLAIN = [{"name": "echo", "description": "Say it again.", "inputSchema": OBJECT}]
PNG = "iVBORw0KGgo="


def send(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(what: str) -> None:
    with (HERE / "notes").open("a") as file:
        file.write(what + "\n")


def tools() -> list[object]:
    path = HERE / "tools.json"
    return json.loads(path.read_text()) if path.exists() else PLAIN


def listed(cursor: str | None) -> dict[str, object]:
    found = tools()
    if "endless" in HABITS:
        return {"tools": [], "nextCursor": f"{cursor or ''}x"}
    if "paged" not in HABITS:
        return {"tools": found}
    at = int(cursor or 0)
    more = {"nextCursor": str(at + 1)} if at + 1 < len(found) else {}
    return {"tools": found[at : at + 1], **more}


def text(said: str, **more: object) -> dict[str, object]:
    return {"content": [{"type": "text", "text": said}], **more}


def called(  # noqa: C901, PLR0912 - a list of habits
    name: str, arguments: dict[str, object], meta: dict[str, object]
) -> object:
    if name == "fail":
        return text("no such book", isError=True)
    if name == "die":
        sys.stderr.write("out of paper\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "hang":
        note("hang")
        return None
    if name == "flood":
        sys.stdout.write("x" * 20_000_000)
        sys.stdout.flush()
        return None
    if name == "storm":
        for _ in range(arguments.get("times", 3000)):
            send(method="notifications/tools/list_changed")
    if name == "junk":
        sys.stdout.write('hello\n\n{"jsonrpc": "2.0"\n[1]\n{"id": 7}\n')
    if name == "notify":
        send(method="notifications/tools/list_changed")
    if name == "progress":
        for step in (1, 2):
            told = {"progressToken": meta.get("progressToken"), "progress": step, "total": 2}
            send(method="notifications/progress", params={**told, "message": f"step {step}"})
    if name == "ask":
        send(id="q", method="sampling/createMessage", params={"messages": [], "maxTokens": 1})
        return text(json.loads(sys.stdin.readline())["error"]["message"])
    if name == "image":
        picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
        return {"content": [{"type": "text", "text": "a picture"}, picture]}
    if name == "resources":
        inside = {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}
        link = {"type": "resource_link", "uri": "file:///b.txt", "name": "b"}
        return {"content": [{"type": "resource", "resource": inside}, link]}
    if name == "odd":
        return {"content": [{"type": "hologram", "x": 1}, 7, {"type": "image"}]}
    if name == "structured":
        return text("{}", structuredContent={"sum": 3})
    if name == "bad":
        return {"content": "no list", "isError": "perhaps"}
    if name == "secret":
        return text(os.environ.get("TOKEN", "none") + " " + str(sorted(os.environ)))
    return text(json.dumps(arguments))


def answer(message: dict[str, object]) -> None:
    method, id_ = message.get("method"), message.get("id")
    params = message.get("params") or {}
    if method == "notifications/cancelled":
        note("cancelled")
    elif method == "initialize":
        version = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "x", "version": "1"}}
        send(id=id_, result={**version, "capabilities": {"tools": {"listChanged": True}}})
    elif method == "tools/list":
        note("listed")
        send(id=id_, result=listed(params.get("cursor")))
    elif method == "tools/call":
        meta = params.get("_meta") or {}
        made = called(params["name"], params.get("arguments") or {}, meta)
        if made is not None:
            send(id=id_, result=made)
    elif id_ is not None:
        send(id=id_, error={"code": -32601, "message": "Method not found"})


def main() -> None:
    note(f"started {os.getpid()}")
    if "stubborn" in HABITS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "spawning" in HABITS:
        child = subprocess.Popen(["sleep", "600"])
        note(f"child {child.pid}")
    if "silent" in HABITS:
        time.sleep(600)
    if "broken" in HABITS:
        sys.exit("no configuration")
    for line in sys.stdin:
        answer(json.loads(line))
    if "stubborn" in HABITS:
        time.sleep(600)


main()
