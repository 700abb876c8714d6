"""Cases of what MCP clients are offered beside tools: toolsets, prompts and resources."""

from typing import Any

from manifest.key_case import Bench, Later, Look, Works, Wrong, file

from toolrt.core.calls import Caller
from toolrt.faces.mcp.messages import Message
from toolrt.faces.mcp.messages import Wrong as Refused
from toolrt.faces.mcp.peers import Peer
from toolrt.faces.mcp.protocol import Protocol


def asked(method: str, *path: str | int, toolset: str | None = None, **params: Any) -> Look:
    """What is at `path` of the answer to a request; the code of the error where there is one."""

    async def look(bench: Bench) -> Any:
        protocol = Protocol(bench.runtime)
        peer = Peer("handshake", "2025-11-25", Caller(), None)
        peer.toolset = toolset
        message = Message({"id": 1, "method": method, "params": params})
        try:
            found = await _result(protocol, message, peer)
        except Refused as refused:
            return refused.code
        finally:
            protocol.close()
        for step in path:
            is_there = step in found if isinstance(found, dict) else step < len(found)
            found = found[step] if is_there else None
            if found is None:
                return None
        return found

    return look


async def _result(protocol: Protocol, message: Message, peer: Peer) -> Any:
    from pydantic_core import from_json

    return from_json(await protocol.answer(message, peer))["result"]


def names(toolset: str) -> Look:
    """The tools that an endpoint offers."""
    listed = asked("tools/list", "tools", toolset=toolset)

    async def look(bench: Bench) -> Any:
        found = await listed(bench)
        return found if isinstance(found, int) else [each["name"] for each in found]

    return look


TOOLS = "tools: {b: {python: 'kit:add'}, c: {python: 'kit:where', effect: read}}"
LISTED = ("prompts", 0)
GIVEN = {"name": "p", "arguments": {"who": "Ada"}}
START = {"protocolVersion": "2025-11-25", "capabilities": {}}


def prompt(keys: str) -> dict[str, str]:
    """A project with the one prompt `p`."""
    return file(f"prompts:\n  p:\n    {keys}\n{TOOLS}")


def resource(keys: str) -> dict[str, str]:
    """A project with the one resource `r`."""
    return file(f"resources:\n  r:\n    {keys}\n{TOOLS}")


def complete(type_: str, argument_: str, **of: str) -> Look:
    argument = {"name": argument_, "value": "p"}
    return asked(
        *("completion/complete", "completion", "values"),
        ref={"type": type_, **of},
        argument=argument,
    )


TOOLSETS: list[Works | Wrong | Later] = [
    Works("file.toolsets", file(f"«toolsets: {{a: {{tools: [b]}}}}»\n{TOOLS}"), names("a"),
        ["b"], -32602),
    Works("file.toolsets.tools", file(f"toolsets: {{a: {{tools: [«b¦'*'»]}}}}\n{TOOLS}"), names("a"),
        ["b"], ["b", "c"]),
    Works("file.toolsets.hide", file(f"toolsets: {{a: {{tools: ['*']«, hide: [b]»}}}}\n{TOOLS}"),
        names("a"), ["c"], ["b", "c"]),
    Works("file.toolsets.description",
        file(f"toolsets: {{a: {{tools: [b]«, description: Sums.»}}}}\n{TOOLS}"),
        asked("initialize", "instructions", toolset="a", **START), "Sums.", None),
    Wrong("file.toolsets", file("toolsets: {a: §[b]}")),
    Wrong("file.toolsets.description", file("toolsets: {a: {tools: [b], description: §[b]}}")),
    Wrong("file.toolsets.tools", file("toolsets: {§a: {hide: [b]}}"), "missing-key"),
    Wrong("file.toolsets.tools", file(f"toolsets: {{a: {{tools: [§bb]}}}}\n{TOOLS}"), "no-such-tool"),
    Wrong("file.toolsets.hide", file("toolsets: {a: {tools: [], hide: §b}}")),
]  # fmt: skip

PROMPTS: list[Works | Wrong | Later] = [
    Works("file.prompts file.prompts.text",
        file(f"«prompts: {{p: {{text: Hello.}}}}»\n{TOOLS}"), asked("prompts/get", "messages", name="p"),
        [{"role": "user", "content": {"type": "text", "text": "Hello."}}], -32602),
    Works("file.prompts.title", prompt("{text: x«, title: A title»}"),
        asked("prompts/list", *LISTED, "title"), "A title", None),
    Works("file.prompts.description", prompt("{text: x«, description: Words.»}"),
        asked("prompts/get", "description", name="p"), "Words.", None),
    Works("file.prompts.arguments", prompt("{text: x«, arguments: {who: Whom.}»}"),
        asked("prompts/list", *LISTED, "arguments"),
        [{"name": "who", "description": "Whom.", "required": True}], None),
    Works("file.prompts.arguments.description",
        prompt("{text: x, arguments: {who: {«description: Whom.»}}}"),
        asked("prompts/list", *LISTED, "arguments", 0, "description"), "Whom.", None),
    Works("file.prompts.arguments.required",
        prompt("{text: 'To {{ who | default(1) }}', arguments: {who: {«required: false»}}}"),
        asked("prompts/list", *LISTED, "arguments", 0, "required"), False, True),
    Works("file.prompts.arguments.values",
        prompt("{text: x, arguments: {who: {«values: [ada, paul, pia]»}}}"),
        complete("ref/prompt", "who", name="p"), ["paul", "pia"], []),
    Works("file.prompts.messages", prompt("{«messages: [One., Two.]¦text: One.»}"),
        asked("prompts/get", "messages", 1, "content", "text", name="p"), "Two.", None),
    Works("file.prompts.messages.role", prompt("{messages: [{«role: assistant, »text: x}]}"),
        asked("prompts/get", "messages", 0, "role", name="p"), "assistant", "user"),
    Works("file.prompts.messages.text",
        prompt("{arguments: {who: Whom.}, messages: [{text: 'To {{ who }}«!»'}]}"),
        asked("prompts/get", "messages", 0, "content", "text", **GIVEN), "To Ada!", "To Ada"),
    Works("file.prompts.messages.file", prompt("{messages: [{«file: kit.py¦text: x»}]}"),
        asked("prompts/get", "messages", 0, "content", "type", name="p"), "resource", "text"),
    Works("file.prompts.messages.resource",
        prompt("{arguments: {who: W.}, messages: [{text: x«, resource: 'a://{{ who }}'»}]}"),
        asked("prompts/get", "messages", 0, "content", "resource", "uri", **GIVEN), "a://Ada", None),
    Works("file.prompts.messages.type",
        prompt("{messages: [{text: x, resource: 'a://b'«, type: text/html»}]}"),
        asked("prompts/get", "messages", 0, "content", "resource", "mimeType", name="p"),
        "text/html", "text/plain"),
    Works("file.prompts.tool",
        prompt("{«tool: c¦text: x»}"),
        asked("prompts/get", "messages", 0, "content", "text", name="p"), "another", "x"),
    Wrong("file.prompts", file("prompts: §[a]")),
    Wrong("file.prompts file.prompts.text file.prompts.messages file.prompts.tool",
        file("prompts:\n  p: §{title: T}"), "one-of"),
    Wrong("file.prompts.title", prompt("{text: x, title: §[a]}")),
    Wrong("file.prompts.description", prompt("{text: x, description: §[a]}")),
    Wrong("file.prompts.arguments", prompt("{text: x, arguments: §[a]}")),
    Wrong("file.prompts.arguments.description", prompt("{text: x, arguments: {a: {description: §[b]}}}")),
    Wrong("file.prompts.arguments.required", prompt("{text: x, arguments: {a: {required: §1}}}")),
    Wrong("file.prompts.arguments.values", prompt("{text: x, arguments: {a: {values: §b}}}")),
    Wrong("file.prompts.messages.role", prompt("{messages: [{text: x, role: §system}]}"), "invalid-value"),
    Wrong("file.prompts.messages.text", prompt("{messages: [{text: §[x]}]}")),
    Wrong("file.prompts.text", prompt("{text: '{{ §who }}'}"), "unknown-name"),
    Wrong("file.prompts.messages.file", prompt("{messages: [{file: §gone.png}]}"), "file-not-found"),
    Wrong("file.prompts.messages.file", prompt("{messages: [{file: §../a.png}]}"), "file-not-found"),
    Wrong("file.prompts.messages.resource", prompt("{messages: [{text: x, resource: §[a]}]}")),
    Wrong("file.prompts.messages.type", prompt("{messages: [{text: x, type: §[a]}]}")),
    Wrong("file.prompts.tool", prompt("{tool: §cc}"), "no-such-tool"),
]  # fmt: skip

READ = ("resources/read", "contents", 0)

RESOURCES: list[Works | Wrong | Later] = [
    Works("file.resources file.resources.uri file.resources.text",
        file(f"«resources: {{r: {{uri: 'a://b', text: Hello.}}}}»\n{TOOLS}"), asked(*READ, uri="a://b"),
        {"uri": "a://b", "mimeType": "text/plain", "text": "Hello."}, -32002),
    Works("file.resources.title", resource("{uri: 'a://b', text: x«, title: T»}"),
        asked("resources/list", "resources", 0, "title"), "T", None),
    Works("file.resources.description", resource("{uri: 'a://b', text: x«, description: D»}"),
        asked("resources/list", "resources", 0, "description"), "D", None),
    Works("file.resources.type", resource("{uri: 'a://b', text: x«, type: text/html»}"),
        asked(*READ, "mimeType", uri="a://b"), "text/html", "text/plain"),
    Works("file.resources.file", resource("{uri: 'a://b', «file: kit.py¦text: x»}"),
        asked(*READ, "mimeType", uri="a://b"), "text/x-python", "text/plain"),
    Works("file.resources.tool",
        resource("{uri: 'a://b', «tool: c¦text: x»}"),
        asked(*READ, "text", uri="a://b"), "another", "x"),
    Works("file.resources.values", resource("{uri: 'a://{b}', text: x«, values: {b: [pa, q]}»}"),
        complete("ref/resource", "b", uri="a://{b}"), ["pa"], []),
    Wrong("file.resources", file("resources: §[a]")),
    Wrong("file.resources.uri", resource("{uri: §b, text: x}"), "bad-uri"),
    Wrong("file.resources.uri", resource("{uri: §'toolrt://b', text: x}"), "bad-uri"),
    Wrong("file.resources.uri", resource("{uri: §'a://{b}/{b}', text: x}"), "bad-uri"),
    Wrong("file.resources.title", resource("{uri: 'a://b', text: x, title: §[a]}")),
    Wrong("file.resources.description", resource("{uri: 'a://b', text: x, description: §[a]}")),
    Wrong("file.resources.type", resource("{uri: 'a://b', text: x, type: §[a]}")),
    Wrong("file.resources.text", resource("{uri: 'a://b', text: §[a]}")),
    Wrong("file.resources.text", resource("{uri: 'a://b', text: §'${secret:x}'}"), "bad-reference"),
    Wrong("file.resources.file", resource("{uri: 'a://b', file: §gone}"), "file-not-found"),
    Wrong("file.resources.tool", resource("{uri: 'a://b', tool: §cc}"), "no-such-tool"),
    Wrong("file.resources.values", resource("{uri: 'a://{b}', text: x, values: {§c: []}}"), "unknown-name"),
]  # fmt: skip

CASES = [*TOOLSETS, *PROMPTS, *RESOURCES]
