"""Asks a server: client.py KEY METHOD PATH [BODY]. Prints the status, and what matters of it.

Waits for up to ten seconds until somebody answers there.
"""

import json
import sys
import time
from http.client import HTTPConnection

PORT = 18770


def ask(key: str, method: str, path: str, body: str | None) -> tuple[int, dict]:
    """Status and document; `-` is no key."""
    head = {"Content-Type": "application/json"}
    if key != "-":
        head["Authorization"] = f"Bearer {key}"
    for _ in range(100):
        connection = HTTPConnection("127.0.0.1", PORT, timeout=10)
        try:
            connection.request(method, path, body, head)
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def told(document: dict) -> str:
    """One line of an answer."""
    if "tools" in document:
        return ", ".join(tool["name"] for tool in document["tools"])
    if "approvals" in document:
        return " ".join(each["id"] for each in document["approvals"])
    if "detail" in document:
        return f"{document['code']}: {document['detail']}"
    return document.get("text") or document.get("state") or str(document.get("generation"))


if __name__ == "__main__":
    key, method, path, *rest = sys.argv[1:]
    status, document = ask(key, method, path, rest[0] if rest else None)
    print(status, told(document))
