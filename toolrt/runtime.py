"""Opens projects: finds them, compiles what they hold, and ends what was begun."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from toolrt.bindings.base import Services
from toolrt.catalog.compiler import Compiled
from toolrt.core.calls import Caller
from toolrt.core.clock import Clock, SystemClock
from toolrt.core.errors import ProjectError
from toolrt.core.results import ToolResult
from toolrt.loading.files import misnamed
from toolrt.loading.loader import PROJECT_FILE
from toolrt.loading.owners import HINT as OWN_THEM
from toolrt.loading.owners import is_allowed, why_foreign
from toolrt.loading.snippet import render
from toolrt.opened import Runtime
from toolrt.reloading.discovering import Discovery, alone
from toolrt.reloading.following import following
from toolrt.reloading.workspace import Workspace
from toolrt.state import State, stored_pins


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
    asks: bool = False,
) -> Compiled:
    """Compile everything in `project`; what is wrong with it is in the outcome.

    `imports` false leaves Python callables alone. Nothing is connected or run, unless `asks`: then
    the servers of its sources are asked what tools they have.
    """
    given = os.environ if environ is None else environ
    root = Path(project)
    workspace = Workspace(root, Services(root), given, imports=imports)
    stock = workspace.stock()
    compiled = workspace.compile(stock)
    if not (compiled.ok and compiled.files.servers):
        return compiled
    written = compiled.files.project
    state = State.of(root, written, None, workspace.references.redactor)
    again = partial(workspace.compile, stock)
    discovery = Discovery(workspace.services, state.pins)
    stored = None if asks else partial(stored_pins, root, written)
    return alone(discovery.known(compiled, again, stored, state.close))


class BrokenProjectError(ProjectError):
    """Files of the project have errors: `compiled` holds them with their places."""

    def __init__(self, message: str, compiled: Compiled, *, hint: str, report: str) -> None:
        super().__init__(message, hint=hint, report=report)
        self.compiled = compiled


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
    async with AsyncExitStack() as unfinished:
        unfinished.push_async_callback(workspace.services.close)
        compiled = workspace.compile(stock)
        state = State.of(root, compiled.files.project, clock, workspace.references.redactor)
        unfinished.push_async_callback(state.close)
        discovery = Discovery(workspace.services, state.pins)
        compiled = await discovery.first(compiled, partial(workspace.compile, stock))
        if compiled.snapshot is None:
            raise _broken(root, compiled)
        runtime = Runtime(
            workspace,
            compiled,
            compiled.snapshot,
            state,
            discovery=discovery,
            clock=clock or SystemClock(),
            random=random,
            allow_foreign=allow_foreign,
            attended=attended,
        )
        unfinished.pop_all()
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
