"""The bench project, copied for one run: its tools, opened and called, never failing silently."""

import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from rounds import Call

import toolrt

HERE = Path(__file__).parent / "project"
ARGUMENTS = {"city": "Tokyo", "days": 3, "units": "metric"}


@contextmanager
def copied(port: int = 9) -> Iterator[Path]:
    """A copy of the project whose http tool goes to `port`."""
    with tempfile.TemporaryDirectory(prefix="toolrt-bench-") as folder:
        project = Path(shutil.copytree(HERE, Path(folder) / "project"))
        manifest = project / "tools.d" / "bench.yaml"
        manifest.write_text(manifest.read_text().replace(":PORT", f":{port}"))
        yield project


@asynccontextmanager
async def opened(port: int = 9) -> AsyncIterator[Any]:
    """A runtime over a copy of the project."""
    sys.dont_write_bytecode = True
    with copied(port) as project:
        async with toolrt.open(project) as runtime:
            yield runtime


def caller(runtime: Any, tool: str, arguments: dict[str, Any]) -> Call:
    """A call of `tool` that raises unless it succeeds."""
    who = toolrt.Caller(principal="bench")

    async def call() -> None:
        result = await runtime.call(tool, arguments, caller=who)
        if result.status != "success":
            raise SystemExit(f"{tool}: {result.document()}")

    return call
