"""The composition root: the only module that knows all parts and puts them together."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from toolrt import __version__
from toolrt.bindings.base import Services
from toolrt.bindings.python_hosts import closed
from toolrt.catalog.compiler import Compiled
from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot
from toolrt.core.calls import Caller, Reach
from toolrt.core.clock import Clock, SystemClock
from toolrt.core.errors import ProjectError
from toolrt.core.results import ToolResult
from toolrt.loading.files import misnamed
from toolrt.loading.findings import Finding
from toolrt.loading.loader import PROJECT_FILE
from toolrt.loading.owners import HINT as OWN_THEM
from toolrt.loading.owners import is_allowed, why_foreign
from toolrt.loading.snippet import render
from toolrt.manifest.project import ProjectFile
from toolrt.observe.metrics import Reading
from toolrt.pipeline.approvals import Approvals
from toolrt.pipeline.batch import Batches
from toolrt.pipeline.explaining import explain
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.listing import Listing
from toolrt.pipeline.metrics_page import Page
from toolrt.pipeline.notices import Notices
from toolrt.pipeline.telemetry import Telemetry
from toolrt.reloading.following import following
from toolrt.reloading.outcome import Standing
from toolrt.reloading.reloader import Reloader
from toolrt.reloading.workspace import Workspace
from toolrt.state import State

if TYPE_CHECKING:
    from toolrt.dialects.base import Export
    from toolrt.observe.journal_records import Records
    from toolrt.pipeline.responses import Responses, Turn

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
            is_here = is_here or bool(misnamed(candidate, PROJECT_FILE))
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
    given = os.environ if environ is None else environ
    root = Path(project)
    workspace = Workspace(root, Services(root), given, imports=imports)
    return workspace.compile(workspace.stock())


class BrokenProjectError(ProjectError):
    """Files of the project have errors: `compiled` holds them with their places."""

    def __init__(self, message: str, compiled: Compiled, *, hint: str, report: str) -> None:
        super().__init__(message, hint=hint, report=report)
        self.compiled = compiled


class Runtime:
    """An open project: its tools, and the door to call them by: one by one, or `call_many`, which
    `plan_many` plans.

    `export` gives the tools for a vendor's request, and `turn` makes the calls of its answer.
    `read_output` gives parts of what was too long for a result.

    `findings` are the warnings about its files; each knows its place when asked. `reload` brings
    what is written now into force, `on_reload` tells of each outcome, and `standing` is how it is.
    """

    def __init__(
        self,
        workspace: Workspace,
        compiled: Compiled,
        snapshot: Snapshot,
        state: State,
        *,
        clock: Clock,
        random: Random | None = None,
        allow_foreign: bool = False,
        attended: bool = False,
    ) -> None:
        self.project = workspace.root
        self._services = workspace.services
        self._registry = Registry(snapshot)
        self._state = state
        self._gateway = Gateway(
            self._registry,
            workspace.references,
            clock,
            state.memory,
            random,
            is_attended=attended,
            telemetry=Telemetry.of(
                compiled.files.project.telemetry, state.memory.questions, __version__
            ),
        )
        self._page = Page(self._gateway, state.memory, workspace.references.redactor)
        self._notices = Notices(self._gateway, self._registry)
        state.memory.questions.on_new = self._notices.asked
        state.memory.questions.identities = lambda: self._registry.current.identities
        self.approvals = Approvals(self._gateway, state.memory.questions)
        self.call = self._gateway.call
        batches = Batches(self._gateway, state.memory, clock, self._call_now)
        self.call_many, self.plan_many = batches.call_many, batches.plan
        self._clock = clock
        self.preview = self._gateway.preview
        self.explain = partial(explain, self._gateway)
        self.breakers = self._gateway.breakers
        self.listed = Listing(self._registry, self.breakers, clock).listed
        self.refuse = self._gateway.refuse
        self.read_output = state.memory.spills.read
        self.keyed_calls = state.memory.keyed_calls
        self.reloader = Reloader(
            workspace,
            self._registry,
            compiled,
            clock,
            allow_foreign=allow_foreign,
            record=partial(state.memory.journal.record, "generation"),
        )
        self.reload = self.reloader.reload
        self.on_reload = self.reloader.on_reload

    @property
    def findings(self) -> Sequence[Finding]:
        return self.reloader.findings

    @property
    def standing(self) -> Standing:
        return self.reloader.standing

    @property
    def written(self) -> ProjectFile:
        """toolrt.yaml as it is in force."""
        return self.reloader.written

    def records(self, whose: Reach | None = None) -> "Records":
        """The journal to read; with an end to the reach, nothing beyond it is there."""
        from toolrt.observe.journal_records import Records  # noqa: PLC0415 - few runtimes are asked

        return Records(self._state.database, self._state.key, whose)

    @property
    def snapshot(self) -> Snapshot:
        """The current generation of tools."""
        return self._registry.current

    @cached_property
    def vendors(self) -> "Responses":
        """Exports tools in the dialects of vendors, and makes the calls of their answers."""
        from toolrt.pipeline.responses import Responses  # noqa: PLC0415 - few programs need them

        return Responses(self._gateway, self._clock, self.call_many, self.listed)

    async def export(self, dialect: str, caller: Caller | None = None, **options: Any) -> "Export":
        """The tools for a request of a vendor; see `Responses.export`."""
        return await self.vendors.export(dialect, caller, **options)

    async def turn(self, response: object, **options: Any) -> "Turn":
        """Make every call of a model's answer; `dialect`, `caller` and more as `Responses.turn`."""
        return await self.vendors.turn(response, **options)

    async def metrics(self, more: Iterable[Reading] = ()) -> str:
        """The page of metrics as Prometheus reads it; empty where toolrt.yaml wants none. `more` is
        what a face has counted.
        """
        of_us = Reading("toolrt_build_info", (__version__,), 1)
        return await self._page.written(self.snapshot, (*self.standing.readings(), *more, of_us))

    def swap(self, snapshot: Snapshot) -> Snapshot:
        """Make another generation the current one; gives the one before back."""
        return self._registry.swap(snapshot)

    async def check_store(self) -> None:
        """Raises StoreError where nothing can be remembered."""
        await self._state.database.run(lambda _session: None)

    async def close(self) -> None:
        """End what the bindings share: connections, threads, processes. Later calls are refused."""
        self.call = self._refused
        await self.reloader.close()
        await self._notices.close()
        await self._gateway.settle()
        self._gateway.close()
        await self._services.close()
        await self._state.close()

    def _call_now(self, *given: Any) -> Awaitable[ToolResult]:
        """A call, by whatever `call` is by then."""
        return self.call(*given)

    async def _refused(
        self,
        name: str,
        arguments: Any,
        caller: Caller | None = None,
        on_progress: Progress | None = None,
        marks: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        del arguments, on_progress, marks
        return self.refuse(name, closed(), caller)


@asynccontextmanager
async def open(  # noqa: A001 - `toolrt.open` is how it reads
    project: str | Path = ".",
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    random: Random | None = None,
    transport: Any = None,
    watch: bool = False,
    allow_foreign_config: bool = False,
    attended: bool = False,
) -> AsyncIterator[Runtime]:
    """Open the project in or above `project` for calls.

    `watch` reloads it whenever its files change. `allow_foreign_config` lets its folders belong to
    others, as TOOLRT_ALLOW_FOREIGN_CONFIG=1 does. `attended` says that somebody is there who can be
    asked: it matters where the project says `approvals: {when_unattended: deny}`.

    `environ` stands in for the process's environment. `clock`, `random` and `transport` are for
    tests: the last is an `httpx.AsyncBaseTransport`, such as `httpx.MockTransport`, that answers
    in place of every connection of the http tools.

    Raises:
        ProjectError: no project is there, or a file has an error; `report` shows them all.
    """
    root = find_project(project)
    given = os.environ if environ is None else environ
    workspace = Workspace(root, _services(root, transport), given)
    stock, allow_foreign = workspace.stock(), allow_foreign_config or is_allowed(given)
    foreign = None if allow_foreign else why_foreign(stock.places)
    if foreign is not None:
        raise ProjectError(f"the project in {root} is not safe: {foreign}; {OWN_THEM}")
    compiled = workspace.compile(stock)
    if compiled.snapshot is None:
        await workspace.services.close()
        raise _broken(root, compiled)
    runtime = Runtime(
        workspace,
        compiled,
        compiled.snapshot,
        State.of(root, compiled.files.project, clock, workspace.references.redactor),
        clock=clock or SystemClock(),
        random=random,
        allow_foreign=allow_foreign,
        attended=attended,
    )
    del compiled  # the first generation goes when another takes its place
    try:
        async with following(runtime.reloader, clock or SystemClock(), is_on=watch):
            yield runtime
    finally:
        await runtime.close()


def _services(root: Path, transport: Any) -> Services:
    services = Services(root)
    if transport is not None:
        from toolrt.bindings.network import Network  # noqa: PLC0415 - only tests hand one in

        services.put(Network, Network(transport=transport))
    return services


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
