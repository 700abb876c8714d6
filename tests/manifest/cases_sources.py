"""Cases about MCP servers as sources, and about the kinds that call their tools."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from manifest.key_case import (
    ADA,
    ENVIRON,
    Bench,
    Files,
    Look,
    Works,
    Wrong,
    data,
    file,
    names,
    tool,
)
from manifest.key_case import shown as shown_of

from toolrt.core.errors import ProjectError
from toolrt.runtime import open as open_project

SERVER = (Path(__file__).parents[1] / "mcp_server.py").read_text()
COMMAND = f"command: [{sys.executable}, server.py]"
TOOL = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}


def source(options: str = "", beside: str = "", more: str = "") -> Files:
    """A project with the server `a`, of these options; `more` stands at the end of its file."""
    mcp = f"{COMMAND}{options and ', '}{options}"
    text = f"sources:\n  a:\n    mcp: {{{mcp}}}\n    overrides: {{echo: {{effect: read}}}}\n    {beside}"
    return file(f"{text.rstrip()}\n{more}") | {"server.py": SERVER}


def called(kind: str, more: str = "") -> Files:
    """A project with two servers, and a tool of this kind."""
    text = f"""
sources:
  a: {{mcp: {{{COMMAND}}}}}
  b: {{mcp: {{{COMMAND}, env: {{TOKEN: sesame}}}}}}
tools:
  t: {{description: T., effect: read, {kind}}}
"""
    return file(text + more) | {"server.py": SERVER}


def first_word(tool: str = "t") -> Look:
    """The first word of what a tool answers."""

    async def look(bench: Bench) -> Any:
        result = await bench.call({}, tool)
        return result.text.split()[0]

    return look


def later(name: str, text: str) -> Look:
    """How a call ends, or what is wrong, once a file is another one and the project opens anew."""

    async def look(bench: Bench) -> Any:
        (bench.runtime.project / name).write_text(text)
        try:
            async with open_project(bench.runtime.project, environ=ENVIRON) as runtime:
                entry = runtime.snapshot.tools.get("a.echo")
                if entry is not None and entry.unavailable:
                    return "left out"
                result = await runtime.call("a.echo", {}, ADA)
                return result.error.code if result.error else result.status
        except ProjectError as error:
            return re.search(r"error\[(.*?)\]", str(error))[1]

    return look


CHANGED = json.dumps([TOOL | {"description": "Say it no more."}])
GONE = "raise SystemExit(1)\n"
CASES: list[Works | Wrong] = [
    Works("file.sources.mcp file.sources.mcp.command",
        file(f"«sources: {{a: {{mcp: {{{COMMAND}}}}}}}¦tools: {{}}»") | {"server.py": SERVER},
        names(), ["a.echo"], []),
    Works("file.sources.mcp.env",
        source("«env: {TOKEN: sesame}»", more="tools: {t: {description: T., effect: read,"
            " mcp: {server: a, tool: secret}}}"), first_word(), "sesame", "none"),
    Works("file.sources.mcp.timeout", source("«timeout: 5s»"),
        shown_of("timeout_s", tool="a.echo"), {"connect": 5.0, "attempt": 30.0, "total": 5.0}),
    Works("file.sources.mcp.url", file("sources: {a: {mcp: {url: $URL/«mcp¦missing»}}}"),
        names(), ["a.echo"], []),
    Works("file.sources.mcp.target", file("""
        targets: {api: {url: $URL/mcp}, other: {url: $URL/missing}}
        sources: {a: {mcp: {target: «api¦other»}}}
        """), names(), ["a.echo"], []),
    Works("file.sources.on_change", source(beside="on_change: «block¦warn»"),
        later("tools.json", CHANGED), "left out", "success"),
    Works("file.sources.on_failure", source(beside="on_failure: «fail¦degrade»"),
        later("server.py", GONE), "unreachable-server", "left out"),
    Works("file.sources.on_failure", source(beside="on_failure: «use_pinned¦degrade»"),
        later("server.py", GONE), "unavailable", "left out"),
    Works("tool.mcp mcp.tool", called("mcp: {server: a, tool: «echo¦secret»}"), data(), "{}"),
    Works("mcp.server", called("mcp: {server: «a¦b», tool: secret}"), first_word(), "none", "sesame"),
    Works("agent.mcp", called("agent: {mcp: {server: a, tool: «echo¦secret»}}"),
        data(request="tea"), '{"request": "tea"}'),
    Wrong("tool.mcp", tool("mcp: §3")),
    Wrong("mcp.server", tool("§mcp: {tool: read}"), "missing-key"),
    Wrong("mcp.server", tool("mcp: {server: §files, tool: read}"), "unknown-server"),
    Wrong("mcp.tool", tool("mcp: {server: files, tool: §[a]}")),
    Wrong("agent.mcp", tool("agent: {mcp: {server: §a, tool: b}}"), "unknown-server"),
    Wrong("file.sources.mcp", file("sources: {a: {mcp: §3}}")),
    Wrong("file.sources.mcp", file("sources: {a: {mcp: §{env: {}}}}"), "one-of"),
    Wrong("file.sources.mcp.command", file("sources: {a: {mcp: {command: §npx server}}}")),
    Wrong("file.sources.mcp.url", file("sources: {a: {mcp: {url: §[a]}}}")),
    Wrong("file.sources.mcp.target", file("sources: {a: {mcp: {target: §[a]}}}")),
    Wrong("file.sources.mcp.target", file("sources: {a: {mcp: {target: §api}}}"), "unknown-target"),
    Wrong("file.sources.mcp.env", file("sources: {a: {mcp: {url: a, env: §3}}}")),
    Wrong("file.sources.mcp.timeout",
        file("sources: {a: {mcp: {url: a, timeout: §3}}}"), "invalid-duration"),
]  # fmt: skip
