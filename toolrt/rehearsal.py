"""A project looked at without being opened for calls: its tests, and its policy beside another.

Nothing that happens here is remembered: what people are asked is kept in a folder that goes away.
"""

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolrt.bindings.base import Services
from toolrt.catalog.compiler import Compiled
from toolrt.catalog.snapshot import Snapshot
from toolrt.core.clock import Clock
from toolrt.core.errors import ProjectError
from toolrt.loading.loader import PROJECT_FILE, load_files
from toolrt.loading.snippet import render
from toolrt.loading.stock import Stock
from toolrt.manifest.project import ProjectFile
from toolrt.pipeline.memory import Memory
from toolrt.pipeline.redeciding import Redecided, as_recorded, recorded, redecided, rules_of
from toolrt.policy.engine import ToolPolicy
from toolrt.policy.history import History
from toolrt.reloading.workspace import Workspace
from toolrt.state import State
from toolrt.suite.running import Equipment, Suite


@asynccontextmanager
async def rehearse(project: Path, environ: Mapping[str, str] | None = None) -> AsyncIterator[Suite]:
    """The tests of the project in the folder `project`, ready to run.

    Raises:
        ProjectError: a file has an error.
    """
    services = Services(project)
    workspace = Workspace(project, services, os.environ if environ is None else environ)
    try:
        compiled = workspace.compile(workspace.stock())
        snapshot = _sound(compiled, project)
        equipment = Equipment(workspace.references, _history(snapshot), _memory)
        yield Suite(snapshot, compiled.files, equipment)
    finally:
        await services.close()


async def compare(
    project: Path,
    other: Path,
    entries: Iterable[Mapping[str, Any]],
    environ: Mapping[str, str] | None = None,
) -> Redecided:
    """Calls of the journal, decided by the policies in `other` and by those of the project.

    `other` is the folder of a project or one of policy files; the tools are this project's.

    Raises:
        ProjectError: `other` has no policy files, or a file has an error.
    """
    environ = os.environ if environ is None else environ
    services = Services(project)
    try:
        now, then = (Workspace(project, services, environ) for _ in range(2))
        compiled = now.compile(now.stock())
        after = _sound(compiled, project)
        borrowed = _Borrowing(project, project / compiled.files.project.policies_dir, other)
        before = _sound(then.compile(borrowed), other)
        return redecided(recorded(entries), rules_of(before), rules_of(after))
    finally:
        await services.close()


async def replay(
    project: Path,
    entries: Iterable[Mapping[str, Any]],
    environ: Mapping[str, str] | None = None,
) -> Redecided:
    """Calls of the journal, as they were decided and as the project's rules decide them now.

    Raises:
        ProjectError: a file has an error.
    """
    services = Services(project)
    workspace = Workspace(project, services, os.environ if environ is None else environ)
    try:
        now = _sound(workspace.compile(workspace.stock()), project)
        return redecided(recorded(entries), as_recorded, rules_of(now))
    finally:
        await services.close()


class _Borrowing(Stock):
    """The files of a project, with the policies of another folder in place of its own."""

    def __init__(self, root: Path, own: Path, other: Path) -> None:
        super().__init__(root)
        self._own = own
        self._other = _policies_in(other.resolve())

    def manifest_files(self, folder: Path) -> list[Path]:
        return super().manifest_files(self._other if folder == self._own else folder)

    def not_read(self, folder: Path, *own: Path) -> dict[Path, list[Path]]:
        return super().not_read(self._other if folder == self._own else folder, *own)


def _policies_in(folder: Path) -> Path:
    """The folder that has the policy files: that of a project, or `folder` itself."""
    marks = (PROJECT_FILE, "tools.d", ProjectFile().policies_dir)
    is_project = any((folder / name).exists() for name in marks)
    found = folder / load_files(Stock(folder)).project.policies_dir if is_project else folder
    if not found.is_dir() or not any(found.glob("*.y*ml")):
        raise ProjectError(f"{folder} has no policy files", hint="name a project or its policies.d")
    return found


def _sound(compiled: Compiled, folder: Path) -> Snapshot:
    """The snapshot. Raises ProjectError where a file has an error."""
    if compiled.snapshot is not None:
        return compiled.snapshot
    errors = [one for one in compiled.diagnostics if one.severity == "error"]
    report = render(errors, compiled.sources)
    raise ProjectError(f"the files in {folder} have errors\n{report}", report=report)


def _history(snapshot: Snapshot) -> History:
    """What the rules of all tools count calls in."""
    deciders = (entry.decider for entry in snapshot.tools.values())
    return next((each.history for each in deciders if isinstance(each, ToolPolicy)), History())


@asynccontextmanager
async def _memory(clock: Clock) -> AsyncIterator[Memory]:
    """A store for the questions of one test."""
    with TemporaryDirectory(prefix="toolrt-test-") as folder:
        state = State.of(Path(folder), ProjectFile(), clock)
        try:
            yield state.memory
        finally:
            await state.close()
