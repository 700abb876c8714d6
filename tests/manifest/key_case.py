"""What a case about one key of the manifest language is, and how its project is made and looked at.

In a text, `«…»` is what a case is about: it is there for the right value and left out for the
comparison; `«this¦that»` puts something else in its place. `§` marks where the one diagnostic of a
wrong value stands. `$URL` is a server on loopback that answers with what it heard.
"""

import asyncio
import json
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from textwrap import dedent, indent
from typing import Any
from unittest.mock import patch

from loopback import RESET, Heard, Loopback, json_reply, loopback, reply
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.faces.cli.list import described
from toolrt.faces.cli.show import _limits, _resolved_document
from toolrt.loading.diagnostics import Diagnostic
from toolrt.opened import Runtime
from toolrt.runtime import load
from toolrt.runtime import open as open_project
from toolrt.testing import ManualClock, open_files, write_files

Files = Mapping[str, str]

PEM = Path(__file__).parent.parent / "bindings" / "network" / "loopback.pem"

TOOLS, POLICIES, PROJECT = "tools.d/t.yaml", "policies.d/p.yaml", "toolrt.yaml"
ENVIRON = {"TOKEN": "sesame-open", "TOOLRT_SECRET_KEY": "from-env"}
ADA = Caller("ada", ("cook",), "acme", "s-1", claims={"team": "blue"})
REPLACED = re.compile(r"«([^»¦]*)(?:¦([^»]*))?»", re.DOTALL)

KIT = '''\
"""What the tools of the cases call."""

import threading

from toolrt import Context


def where() -> str:
    """Say which thread this is."""
    return "main" if threading.current_thread() is threading.main_thread() else "another"


def pid() -> int:
    """Say which process this is."""
    import os

    return os.getpid()


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def echo(**given) -> dict:
    """Give back what was given."""
    return given


def answer(context: Context) -> dict:
    """Answer like a service."""
    return {"ok": False, "problem": {"text": "shop closed"}, "rows": [1, 2, 3]}


def signed(caller, target) -> dict:
    """Sign a request."""
    return {"X-Who": f"{caller.principal} of {target}"}


def marked(arguments, context):
    arguments["mark"] = context.tool
    return arguments


def loud(value):
    return value.upper()


class Agent:
    """Does what it is told."""

    def do(self, request: str) -> str:
        return f"done: {request}"


agent = Agent()


class Shop:
    def __init__(self, name: str = "corner"):
        self.name = name

    def sign(self) -> str:
        """Read the sign."""
        return self.name


corner, market = Shop(), Shop("market")
'''


@dataclass(slots=True)
class Bench:
    """A project of a case while it is open: its runtime, its clock, and the server it calls."""

    runtime: Runtime
    server: Loopback
    diagnostics: list[Diagnostic]
    clock: ManualClock | None = None

    async def call(self, arguments: Mapping[str, Any], tool: str = "t") -> ToolResult:
        return await self.runtime.call(tool, dict(arguments), ADA)


Look = Callable[[Bench], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Works:
    """A right value of a key, and what it changes.

    `look` sees `seen` with the value; without it, it sees `without`, or just anything else.
    `refused` is the code of the one diagnostic when the project does not load without it.
    """

    key: str
    files: Files
    look: Look
    seen: Any
    without: Any = ...
    refused: str | None = None
    warned: list[str] = field(default_factory=list)
    """Codes of what `check` says all the same."""
    held: bool = False
    """Whether the clock is held still: waits are over at once."""
    secure: bool = False
    """Whether the server speaks TLS, and asks who calls."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong value of a key: one diagnostic, an error of that code, at `§`."""

    key: str
    files: Files
    code: str = "wrong-type"


@dataclass(frozen=True, slots=True)
class Later:
    """A right value of keys that do not work yet: one warning, at `§`, that names `named`."""

    key: str
    files: Files
    named: str
    code: str = "not-yet"
    severity: str = "warning"


# -- texts ------------------------------------------------------------------------------------


def file(text: str, name: str = TOOLS) -> dict[str, str]:
    """A project of one file."""
    return {name: dedent(text).strip("\n") + "\n"}


def project(text: str, tools: str = "tools: {}") -> dict[str, str]:
    """A toolrt.yaml, and a file of tools beside it."""
    return file(text, PROJECT) | file(tools)


def tool(keys: str) -> dict[str, str]:
    """A project with the one tool `t`, which has these keys and a description."""
    return file("tools:\n  t:\n    description: T.\n" + indent(dedent(keys).strip("\n"), "    "))


def command(keys: str, argv: str = "[printf, hello]") -> dict[str, str]:
    """The tool is a command."""
    return tool(f"command: {argv}\n{dedent(keys)}")


def http(options: str, keys: str = "", path: str = "echo") -> dict[str, str]:
    """The tool is a request with these options; its url is that of the echo unless written."""
    text = dedent(options).strip("\n")
    if not re.search(r"^[«§]*url:", text, re.MULTILINE):
        text = f"url: $URL/{path}\n{text}"
    return tool(f"http:\n{indent(text, '  ')}\n{dedent(keys)}")


def target(options: str, kind: str = "{target: api, url: /echo}") -> dict[str, str]:
    """The tool is a request to the target `api`, which has these options."""
    text = dedent(options).strip("\n")
    if not re.search(r"^[«§]*url:", text, re.MULTILINE):
        text = f"url: $URL\n{text}"
    return file(
        f"targets:\n  api:\n{indent(text, '    ')}\n"
        f"tools:\n  t:\n    description: T.\n    http: {kind}\n"
    )


def with_mark(files: Files) -> tuple[dict[str, str], tuple[str, int, int]]:
    """The files without `§`, and the file, line and column where it stood."""
    (name,) = (name for name, text in files.items() if "§" in text)
    before, _, after = plain(files[name]).partition("§")
    assert "§" not in after
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return {**right(files), name: before + after}, (name, line, column)


def right(files: Files) -> dict[str, str]:
    """The files with the value that the case is about."""
    return {name: plain(text) for name, text in files.items()}


def left_out(files: Files) -> dict[str, str]:
    """The files without it."""
    return {name: REPLACED.sub(lambda m: m[2] or "", text) for name, text in files.items()}


def plain(text: str) -> str:
    return REPLACED.sub(lambda match: match[1], text)


# -- projects ---------------------------------------------------------------------------------


def placed(files: Files, url: str) -> dict[str, str]:
    """The files with the server's address, and the code that they may call."""
    return {"kit.py": KIT, "loopback.pem": PEM.read_text()} | {
        name: text.replace("$URL", url).replace("$TLS", url.replace("http:", "https:"))
        for name, text in files.items()
    }


def diagnostics(files: Files) -> list[Diagnostic]:
    """What `check` says about the files."""
    with TemporaryDirectory(prefix="toolrt-") as folder:
        project = write_files(Path(folder), placed(files, "http://127.0.0.1:9"))
        return diagnosed(project)


def diagnosed(project: Path) -> list[Diagnostic]:
    """What is wrong with a project, whether it has rules or not."""
    found = load(project, environ=ENVIRON).diagnostics
    return [each for each in found if each.code != "no-rules"]


def found(files: Files) -> list[tuple[str, str, str, int, int]]:
    """Severity, code, file, line and column of all that `check` says about the files."""
    said = diagnostics(files)
    return [(one.severity, one.code, one.file, one.line, one.column) for one in said]


@asynccontextmanager
async def opened(files: Files, *, held: bool = False, secure: bool = False) -> AsyncIterator[Bench]:
    """The project of a case, open for calls."""
    clock = ManualClock() if held else None
    async with loopback(_Service(), ssl=_tls() if secure else None) as server:
        options = {"environ": ENVIRON, "random": Longest()}
        if clock is not None:
            options["clock"] = clock
        url = f"https://localhost:{server.port}" if secure else server.url
        async with open_files(placed(files, url), **options) as runtime:
            yield Bench(runtime, server, diagnosed(runtime.project), clock)


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    context.load_verify_locations(PEM)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class Longest(Random):
    """Jitter at its longest, so that waits can be foretold."""

    def uniform(self, _low: float, high: float) -> float:
        return high


@dataclass(slots=True)
class _Service:
    """Answers with what it heard; some paths do something else."""

    counts: dict[str, int] = field(default_factory=dict)

    def __call__(self, heard: Heard) -> Any:
        path, _, _ = heard.target.partition("?")
        self.counts[path] = nth = self.counts.get(path, 0) + 1
        said = _SAID.get(path.strip("/").split("/")[-1])
        if said is not None:
            return said
        if path.endswith("/flaky") and nth == 1:
            return json_reply("{}", 503)
        if path.endswith("/soon-gone") and nth > 1:
            return json_reply("{}", 503)
        if path.endswith("/pages"):
            return json_reply(json.dumps(_page(heard)))
        if path.endswith(("/mcp", "/completions")):
            return _protocol(heard, nth)
        if path.endswith("/graphql"):
            return json_reply(f'{{"data": {heard.body.decode()}}}')
        if path.endswith("/busy"):
            return json_reply("{}", 429)
        if path.endswith("/far"):
            port = heard.headers["host"].rpartition(":")[2]
            return reply("", 302, location=f"http://127.0.0.2:{port}/echo")
        return json_reply(json.dumps(_document(heard)))


_SAID: Mapping[str, Any] = {
    "down": json_reply('{"problem": {"text": "shop closed"}}', 503),
    "broken": json_reply("{}", 500),
    "missing": json_reply('{"none": true}', 404),
    "list": json_reply('{"rows": [1, 2, 3]}'),
    "text": reply("[1, 2]\n[3]\n", content_type="text/plain"),
    "table": reply("a,b\n1,2\n", content_type="text/plain"),
    "markup": reply("<a><b>1</b></a>", content_type="text/plain"),
    "token": json_reply('{"access_token": "open-sesame", "expires_in": 3600}'),
    "moved": reply("", 302, location="/echo"),
    "reset": RESET,
}


def _page(heard: Heard) -> dict[str, Any]:
    """One of three pages; the query says which."""
    number = int((re.search(r"at=(\d)", heard.target) or [0, 1])[1])
    cursor = str(number + 1) if number < 3 else None
    following = f"?at={cursor}" if cursor else None
    return {"rows": [number], "next": following, "cursor": cursor, "more": number < 2}


def _protocol(heard: Heard, nth: int) -> Any:
    """What an MCP server says, or a model: at once, never, or that it wants one more call."""
    if heard.target.endswith("/mcp"):
        return _of_mcp(json.loads(heard.body or "{}"))
    if heard.target.startswith("/slow/"):
        return _never()
    return json_reply(json.dumps(_completion(nth if heard.target.startswith("/again/") else 0)))


def _completion(nth: int) -> dict[str, Any]:
    """What a model says: that it is done, or that it wants its `nth` call."""
    function = {"name": "t", "arguments": "{}"}
    calls = [{"id": f"c{nth}", "type": "function", "function": function}] if nth else []
    message = {"role": "assistant", "content": "Monday.", **({"tool_calls": calls} if nth else {})}
    return {"choices": [{"message": message, "finish_reason": "tool_calls" if nth else "stop"}]}


async def _never() -> AsyncIterator[bytes]:
    """An answer of which nothing comes."""
    await asyncio.Event().wait()
    yield b""


def _of_mcp(message: Mapping[str, Any]) -> bytes:
    """What a server with one tool answers."""
    server = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "x", "version": "1"}}
    listed = [{"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}]
    said = {
        "initialize": {**server, "capabilities": {"tools": {}}},
        "tools/list": {"tools": listed},
    }.get(message.get("method", ""))
    if message.get("id") is None:
        return reply(status=202 if message else 405)
    outcome = {"result": said} if said else {"error": {"code": -32601, "message": "no such method"}}
    return json_reply(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}))


def _document(heard: Heard) -> dict[str, Any]:
    return {
        "method": heard.method,
        "target": heard.target,
        "headers": dict(heard.headers),
        "body": heard.body.decode(),
    }


# -- looks ------------------------------------------------------------------------------------


def data(path: str = "", /, **arguments: Any) -> Look:
    """The data of a call, or what stands at `path` in it; of a failed one its code."""

    async def look(bench: Bench) -> Any:
        result = await bench.call(arguments)
        if result.error is not None:
            return f"{result.error.code}: {result.error.message}"
        value = result.data
        for step in path.split(".") if path else ():
            value = value.get(step) if isinstance(value, dict) else value
        return value

    return look


def part(path: str, text: str, /, **arguments: Any) -> Look:
    """Whether what stands at `path` in the data of a call holds a text."""

    async def look(bench: Bench) -> Any:
        return text in await data(path, **arguments)(bench)

    return look


def told(header: str | None = None) -> Look:
    """What the server was told first when the tool is called: the body, or a header."""

    async def look(bench: Bench) -> Any:
        await bench.call({})
        first = bench.server.heard[0]
        return first.headers.get(header) if header else first.body.decode()

    return look


def of_result(name: str, /, **arguments: Any) -> Look:
    """A field of a call's result: `status`, `text`, `attempts`."""

    async def look(bench: Bench) -> Any:
        return getattr(await bench.call(arguments), name)

    return look


def failure(name: str = "code", /, **arguments: Any) -> Look:
    """A field of a call's failure, `code` or `message`; of a call that went well its status."""

    async def look(bench: Bench) -> Any:
        result = await bench.call(arguments)
        return result.status if result.error is None else getattr(result.error, name)

    return look


def slept(**arguments: Any) -> Look:
    """The waits between the attempts of a call."""

    async def look(bench: Bench) -> Any:
        await bench.call(arguments)
        return [round(each, 3) for each in bench.clock.slept]

    return look


def shown(name: str, /, tool: str = "t") -> Look:
    """What `list` and `show` say about the tool."""

    async def look(bench: Bench) -> Any:
        entry = bench.runtime.snapshot.tools[tool]
        return {**described(entry, is_hidden=False), **_limits(entry)}[name]

    return look


def metered() -> Look:
    """Whether there is a page of metrics."""

    async def look(bench: Bench) -> Any:
        return bool(await bench.runtime.metrics())

    return look


def traced() -> Look:
    """Whether calls are traced by a program that has set a provider."""

    async def look(bench: Bench) -> Any:
        provider = TracerProvider()
        with patch.object(trace, "get_tracer_provider", lambda: provider):
            async with open_project(bench.runtime.project, environ=ENVIRON) as runtime:
                return runtime.call.__name__ == "traced"

    return look


def logged(name: str) -> Look:
    """What the lines of the log say of a call under that name."""

    async def look(bench: Bench) -> Any:
        lines: list[logging.LogRecord] = []
        log, handler = logging.getLogger("toolrt.calls"), logging.Handler()
        handler.emit = lines.append
        before = log.level
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        try:
            await bench.call({})
        finally:
            log.removeHandler(handler)
            log.setLevel(before)
        return [json.loads(line.getMessage()).get(name) for line in lines]

    return look


def resolved(name: str) -> Look:
    """The origin that `show --resolved` names for a value."""

    async def look(bench: Bench) -> Any:
        return _resolved_document(bench.runtime.snapshot.tools["t"])["origins"].get(name)

    return look


def names() -> Look:
    """The names of the tools."""

    async def look(bench: Bench) -> Any:
        return sorted(bench.runtime.snapshot.tools)

    return look


def address(tool: str) -> Look:
    """The url of the target that a tool has."""

    async def look(bench: Bench) -> Any:
        return bench.runtime.snapshot.tools[tool].service.url

    return look


def searched(intent: str) -> Look:
    """The names of the tools that serve an intent."""

    async def look(bench: Bench) -> Any:
        return [found.entry.name for found in await bench.runtime.search(intent, ADA)]

    return look


def told_of() -> Look:
    """The names of the tools that models are told of."""

    async def look(bench: Bench) -> Any:
        export = await bench.runtime.export("openai", ADA)
        return [each["function"]["name"] for each in export.documents]

    return look


def requested() -> Look:
    """What a request to Anthropic has of the tools."""

    async def look(bench: Bench) -> Any:
        return (await bench.runtime.export("anthropic", ADA)).documents

    return look


def warned() -> Look:
    """The codes of what `check` says."""

    async def look(bench: Bench) -> Any:
        return [one.code for one in bench.diagnostics]

    return look
