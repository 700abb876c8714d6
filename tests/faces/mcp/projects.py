"""Projects for the tests of MCP."""

from pathlib import Path
from textwrap import dedent

CODE = '''
import asyncio
import toolrt


async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def point(x: float) -> dict[str, float]:
    """A point."""
    return {"x": x, "y": 2 * x}


async def fails() -> str:
    """Fails."""
    raise toolrt.ToolError("no such luck", hint="try another day")


async def breaks() -> str:
    """Breaks."""
    raise RuntimeError("/etc/shadow is at 10.0.0.1")


async def slow(context: toolrt.Context, seconds: float) -> str:
    """Takes its time, and says how far it is."""
    for step in range(3):
        context.progress(step, 3, f"step {step}")
        context.log(f"at {step}", "warning")
        await asyncio.sleep(seconds)
    return "done"


async def hello(context: toolrt.Context) -> str:
    """Asks for a name."""
    said = await context.elicit("Who?", {"name": {"type": "string"}}, key="who")
    return f"hello {said.content.get('name')}" if said.action == "accept" else said.action


async def poem(context: toolrt.Context) -> str:
    """Asks the client's model."""
    said = await context.sample("a poem", max_tokens=20)
    return said.text


async def who(context: toolrt.Context, value: int) -> dict:
    """Says in whose session it runs."""
    if value % 7 == 0:
        await asyncio.sleep(0)
    return {"session": context.caller.session, "value": value}


def noisy() -> str:
    """Writes where it should not."""
    print("to stdout")
    return "quiet"
'''
TOOLS = """
tools:
  add: {python: "works:add", effect: read, output_schema: {type: integer}}
  point: {python: "works:point", effect: read}
  fails: {python: "works:fails", effect: read}
  breaks: {python: "works:breaks", effect: read}
  slow: {python: "works:slow", effect: read, timeout: 20s}
  hello: {python: "works:hello", effect: read}
  poem: {python: "works:poem", effect: read}
  noisy: {python: "works:noisy", effect: read}
  wait: {description: Waits., command: [sleep, "{{ seconds }}"], parameters: {seconds: number}, effect: read}
  pay: {description: Pays., command: [./pay], effect: irreversible, title: Pay, instructions: Ask first.}
"""


def project(folder: Path, tools: str = TOOLS, **files: str) -> Path:
    """A project in `folder`, with the code of above."""
    (folder / "tools.d").mkdir()
    (folder / "tools.d" / "tools.yaml").write_text(dedent(tools))
    (folder / "works.py").write_text(CODE)
    pay = folder / "pay"
    pay.write_text("#!/bin/sh\necho paid >> paid.txt\necho paid\n")
    pay.chmod(0o755)
    for name, text in files.items():
        (folder / name.replace("__", "/").replace("_", ".", 1)).write_text(dedent(text))
    return folder
