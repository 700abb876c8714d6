"""A project with a source that is the odd server of `mcp_server.py`, and what that lists."""

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parent / "mcp_server.py"
OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}
ALLOW = "rules: [{id: all, decide: allow, tools: ['*']}]\n"


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Do {name}.", "inputSchema": OBJECT, **more}


def lists(folder: Path, *tools: object) -> None:
    """What the server lists from now on."""
    made = [tool(each) if isinstance(each, str) else each for each in tools]
    (folder / "tools.json").write_text(json.dumps(made))


def write_project(folder: Path, *options: str, habits: str = "", rules: str = ALLOW) -> Path:
    """The project; `options` are further lines of its source. With rules all is let through."""
    shutil.copy(SERVER, folder / "mcp_server.py")
    (folder / "tools.d").mkdir(exist_ok=True)
    (folder / "policies.d").mkdir(exist_ok=True)
    command = f"[{sys.executable}, mcp_server.py{habits and ', '}{habits}]"
    lines = ["defaults: {effect: read}"] if rules else []
    lines += ["sources:", "  odd:", f"    mcp: {{command: {command}}}"]
    lines += [f"    {each}" for each in options]
    (folder / "tools.d" / "odd.yaml").write_text("\n".join(lines) + "\n")
    (folder / "policies.d" / "all.yaml").write_text(rules)
    return folder


def notes(folder: Path) -> list[str]:
    path = folder / "notes"
    return path.read_text().splitlines() if path.exists() else []


async def until(condition: Callable[[], object], patience_s: float = 15.0) -> None:
    ends = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < ends, "it did not come to be"
        await asyncio.sleep(0.02)
