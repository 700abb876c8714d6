"""The composition root: the only module that knows all parts and puts them together."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from toolrt.bindings.base import Services
from toolrt.bindings.python_hosts import closed
from toolrt.catalog.compiler import Compiled, compile_files
from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot
from toolrt.core.calls import Caller
from toolrt.core.clock import Clock, SystemClock
from toolrt.core.errors import ProjectError
from toolrt.core.results import ToolResult
from toolrt.expressions.references import References
from toolrt.loading.findings import Finding
from toolrt.loading.loader import PROJECT_FILE, LoadedFiles, load_files
from toolrt.loading.snippet import render
from toolrt.pipeline.gateway import Gateway

Progress = Callable[[float, float | None, str], None]


def find_project(start: str | Path = ".") -> Path:
    """The nearest folder from `start` upwards that holds a project.

    Raises:
        ProjectError: there is none, or a folder on the way cannot be looked into.
    """
    folder = Path(start).resolve()
    for candidate in (folder, *folder.parents):
        try:
            is_here = (candidate / PROJECT_FILE).is_file() or (candidate / "tools.d").is_dir()
        except OSError as error:
            why = (error.strerror or "unknown error").lower()
            raise ProjectError(f"{candidate} cannot be looked into: {why}") from error
        if is_here:
            return candidate
    raise ProjectError(
        f"no project in {start}: neither tools.d nor {PROJECT_FILE} is there or above",
        hint="`toolrt init` writes one",
    )


def load(
    project: str | Path = ".",
    *,
    imports: bool = True,
    environ: Mapping[str, str] | None = None,
) -> Compiled:
    """Compile everything in `project`; what is wrong with it is in the outcome.

    `imports` false leaves Python callables alone. Nothing is connected or run.
    """
    return _compile(Path(project), imports=imports, environ=environ)[0]


def _compile(
    project: Path,
    *,
    imports: bool,
    environ: Mapping[str, str] | None,
    transport: Any = None,
) -> tuple[Compiled, Services, References]:
    services = Services(project)
    if transport is not None:
        from toolrt.bindings.network import Network  # noqa: PLC0415 - only tests hand one in

        services.put(Network, Network(transport=transport))
    with _collector_paused():
        files = load_files(project)
        references = _references(files, os.environ if environ is None else environ)
        compiled = compile_files(files, services, references, imports=imports)
    return compiled, services, references


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Loading makes a great many objects that all stay: looking for garbage among them is waste."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _references(files: LoadedFiles, environ: Mapping[str, str]) -> References:
    secrets = [
        source if isinstance(source, str) else source.model_dump()
        for source in files.project.secrets
    ]
    return References(files.root, environ, secrets)


class BrokenProjectError(ProjectError):
    """Files of the project have errors: `compiled` holds them with their places."""

    def __init__(self, message: str, compiled: Compiled, *, hint: str, report: str) -> None:
        super().__init__(message, hint=hint, report=report)
        self.compiled = compiled


class Runtime:
    """An open project: its tools, and the door to call them by.

    `findings` are the warnings about its files; each knows its place when asked.
    """

    def __init__(
        self,
        project: Path,
        snapshot: Snapshot,
        services: Services,
        references: References,
        *,
        findings: Sequence[Finding] = (),
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.project = project
        self.findings = findings
        self._services = services
        self._registry = Registry(snapshot)
        self._gateway = Gateway(self._registry, references, clock or SystemClock(), random)
        self.call = self._gateway.call
        self.preview = self._gateway.preview
        self.refuse = self._gateway.refuse

    @property
    def snapshot(self) -> Snapshot:
        """The current generation of tools."""
        return self._registry.current

    def swap(self, snapshot: Snapshot) -> Snapshot:
        """Make another generation the current one; gives the one before back."""
        return self._registry.swap(snapshot)

    async def close(self) -> None:
        """End what the bindings share: connections, threads, processes. Later calls are refused."""
        self.call = self._refused
        self._gateway.close()
        await self._services.close()

    async def _refused(
        self,
        name: str,
        arguments: Any,
        caller: Caller | None = None,
        on_progress: Progress | None = None,
    ) -> ToolResult:
        del arguments, on_progress
        return self.refuse(name, closed(), caller)


@asynccontextmanager
async def open(  # noqa: A001 - `toolrt.open` is how it reads
    project: str | Path = ".",
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    random: Random | None = None,
    transport: Any = None,
) -> AsyncIterator[Runtime]:
    """Open the project in or above `project` for calls.

    `environ` stands in for the process's environment. `clock`, `random` and `transport` are for
    tests: the last is an `httpx.AsyncBaseTransport`, such as `httpx.MockTransport`, that answers
    in place of every connection of the http tools.

    Raises:
        ProjectError: no project is there, or a file has an error; `report` shows them all.
    """
    root = find_project(project)
    compiled, services, references = _compile(
        root, imports=True, environ=environ, transport=transport
    )
    if compiled.snapshot is None:
        await services.close()
        raise _broken(root, compiled)
    runtime = Runtime(
        root,
        compiled.snapshot,
        services,
        references,
        findings=compiled.files.findings,
        clock=clock,
        random=random,
    )
    try:
        yield runtime
    finally:
        await runtime.close()


def run(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    project: str | Path = ".",
    caller: Caller | None = None,
) -> ToolResult:
    """Call one tool from a program without an event loop; opens and closes the project.

    Raises:
        ProjectError: as `open`.
        RuntimeError: there is an event loop already; `open` is for programs that have one.
    """
    if _is_in_a_loop():
        raise RuntimeError("toolrt.run is for programs without an event loop: use toolrt.open here")

    async def once() -> ToolResult:
        async with open(project) as runtime:
            return await runtime.call(name, dict(arguments or {}), caller)

    return asyncio.run(once())


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _broken(root: Path, compiled: Compiled) -> BrokenProjectError:
    errors = [one for one in compiled.diagnostics if one.severity == "error"]
    count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
    report = render(errors, compiled.sources)
    return BrokenProjectError(
        f"the project in {root} has {count}\n{report}",
        compiled,
        hint="`toolrt check` shows them",
        report=report,
    )
