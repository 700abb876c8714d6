"""For tests of projects and agents: small projects, stand-ins for tools, a clock that obeys.

    async with open_files({"tools.d/t.yaml": "tools: …"}) as rt:
        with stubbed(rt, {"billing.pay": lambda arguments: {"paid": True}}) as calls:
            ...

Nothing here touches the network; everything but the stand-ins is the real thing.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any

from toolrt.core.calls import Invocation
from toolrt.core.clock import ManualClock
from toolrt.core.errors import BindingError, RefusedError, ToolError
from toolrt.core.names import did_you_mean
from toolrt.core.results import Answer
from toolrt.opened import Runtime
from toolrt.runtime import open  # noqa: A004 - the same as `toolrt.open`

__all__ = [
    "BindingError",
    "ManualClock",
    "RefusedError",
    "StubCall",
    "ToolError",
    "open_files",
    "stubbed",
    "write_files",
]


@dataclass(frozen=True, slots=True)
class StubCall:
    """A call that a stand-in received: the tool's name, and the arguments after validation."""

    tool: str
    arguments: Mapping[str, Any]


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write texts by relative path below `folder`, dedented; gives `folder` back."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return folder


@asynccontextmanager
async def open_files(files: Mapping[str, str], **options: Any) -> AsyncIterator[Runtime]:
    """Open a project made of `files`, in a folder that goes away; options as of `toolrt.open`."""
    with TemporaryDirectory(prefix="toolrt-") as folder:
        async with open(write_files(Path(folder), files), **options) as runtime:
            yield runtime


@contextmanager
def stubbed(
    runtime: Runtime, answers: Mapping[str, Callable[[dict[str, Any]], Any]]
) -> Iterator[list[StubCall]]:
    """Let functions answer in place of tools; everything else of the pipeline stays real.

    Each function gets the checked arguments and returns the value that the binding would have
    got, or raises `ToolError` or `BindingError`. What was called is in the list that is given.

    Raises:
        KeyError: a name is no tool of the project; the nearest one is told.
        TypeError: an answer cannot be called.
    """
    calls: list[StubCall] = []
    before = runtime.snapshot
    tools = dict(before.tools)
    for name, answer in answers.items():
        _check_stub(name, answer, tools)
        binding = _Stub(name, answer, calls)
        tools[name] = tools[name].answered_by(binding)
    runtime.swap(replace(before, tools=tools))
    try:
        yield calls
    finally:
        runtime.swap(before)


def _check_stub(name: str, answer: object, tools: Mapping[str, Any]) -> None:
    if name not in tools:
        hint = did_you_mean(name, tools) or f"it has {', '.join(tools) or 'none'}"
        raise KeyError(f"the project has no tool `{name}`; {hint}")
    if not callable(answer):
        message = f"the answer of `{name}` is called with the arguments: write `lambda _: …`"
        raise TypeError(message)


class _Stub:
    """A binding that asks a function."""

    def __init__(
        self, name: str, answer: Callable[[dict[str, Any]], Any], calls: list[StubCall]
    ) -> None:
        self._name, self._answer, self._calls = name, answer, calls

    async def call(self, invocation: Invocation) -> Answer:
        self._calls.append(StubCall(self._name, dict(invocation.arguments)))
        return Answer(self._answer(invocation.arguments))

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"stub": self._name, "arguments": invocation.arguments}
