"""A server of one tool over stdin and stdout, as lean as can be: its client is what is measured."""

import json
import sys

TOOL = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}
SERVER = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "bench", "version": "1"}}

for line in sys.stdin:
    asked = json.loads(line)
    results = {
        "initialize": {**SERVER, "capabilities": {"tools": {}}},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "Tokyo"}]},
    }
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] in results:
        answer["result"] = results[asked["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
