"""An open project, which puts all parts together: the only module that knows them all."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from random import Random
from typing import TYPE_CHECKING, Any

from toolrt.bindings.python_hosts import closed
from toolrt.catalog.compiler import Compiled
from toolrt.catalog.do_tool import Askers
from toolrt.catalog.meta_tools import Finders
from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot
from toolrt.core.about import VERSION
from toolrt.core.calls import Caller, Reach
from toolrt.core.clock import Clock
from toolrt.core.results import ToolResult
from toolrt.loading.findings import Finding
from toolrt.manifest.project import ProjectFile
from toolrt.observe.metrics import Reading
from toolrt.pipeline.approvals import Approvals
from toolrt.pipeline.batch import Batches
from toolrt.pipeline.dispatching import MetaTools
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.listing import Listing
from toolrt.pipeline.metrics_page import Page
from toolrt.pipeline.notices import Notices
from toolrt.pipeline.telemetry import Telemetry
from toolrt.reloading.adding import Additions
from toolrt.reloading.discovering import Discovery
from toolrt.reloading.outcome import Standing
from toolrt.reloading.reloader import Reloader
from toolrt.reloading.workspace import Workspace
from toolrt.state import State

if TYPE_CHECKING:
    from toolrt.agent.conversation import Reply
    from toolrt.agent.loop import Loop
    from toolrt.catalog.sources.approving import Foreign
    from toolrt.dialects.base import Export
    from toolrt.observe.journal_records import Records
    from toolrt.pipeline.plan_files import PlanFiles
    from toolrt.pipeline.responses import Responses, Turn
    from toolrt.pipeline.searching import Search

Progress = Callable[[float, float | None, str], None]


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
        discovery: Discovery,
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
                compiled.files.project.telemetry, state.memory.questions, VERSION
            ),
        )
        self._page = Page(self._gateway, state.memory, workspace.references.redactor)
        self._notices = Notices(self._gateway, self._registry)
        self.approvals = Approvals(self._gateway, state.memory.questions)
        self._meta = MetaTools(self._gateway, self._registry, clock, lambda: self.search)
        self.call = self._meta.way_in(snapshot)
        batches = Batches(self._gateway, state.memory, clock, self._call_now)
        self.call_many, self.plan_many = batches.call_many, batches.plan
        self._clock = clock
        self.preview, self.explain = self._meta.preview, self._meta.explain
        self.breakers = self._gateway.breakers
        self._listing = Listing(self._registry, self.breakers, clock)
        self.listed = self._listing.listed
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
        self.reload, self.on_reload = self.reloader.reload, self.reloader.on_reload
        additions = Additions(workspace.root, self.reloader)
        self.add, self.remove = additions.add, additions.remove
        self._search: Search | None = None
        self._discovery = discovery
        discovery.follow(self.reloader, compiled.files)
        self._acquaint()

    def _acquaint(self) -> None:
        """Let the parts below know those above them that they call."""
        questions = self._state.memory.questions
        questions.on_new = self._notices.asked
        questions.identities = lambda: self._registry.current.identities
        self._gateway.remake = lambda *plan: self.plans.made(*plan)  # noqa: PLW0108 - lazily
        self._services.share(Finders).find = self._meta.found
        self._services.share(Askers).ask = lambda *asked: self.agent.done(*asked)  # noqa: PLW0108 - lazily
        self.on_reload(lambda _outcome: self._open_again())
        self.on_reload(self._gateway.let_go)

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
    def foreign(self) -> "Foreign":
        """What is approved of tools of servers, and what these say now."""
        from toolrt.catalog.sources.approving import Foreign  # noqa: PLC0415 - few programs ask

        return Foreign(self.reloader.files, self._services)

    @property
    def snapshot(self) -> Snapshot:
        """The current generation of tools."""
        return self._registry.current

    @cached_property
    def vendors(self) -> "Responses":
        """Exports tools in the dialects of vendors, and makes the calls of their answers."""
        from toolrt.pipeline.responses import Responses  # noqa: PLC0415 - few programs need them

        return Responses(self._gateway, self._clock, self.call_many, self.listed)

    @cached_property
    def plans(self) -> "PlanFiles":
        """Plans that stand in no catalogue."""
        from toolrt.pipeline.plan_files import PlanFiles  # noqa: PLC0415 - few programs have any

        return PlanFiles(self._gateway, self._services, lambda: self.written)

    async def plan(
        self,
        plan: object,
        arguments: Mapping[str, Any] | None = None,
        caller: Caller | None = None,
        **options: Any,
    ) -> ToolResult:
        """Run a plan: the path of its file, a mapping with `steps`, or a list of steps.

        Raises:
            BrokenPlanError: something is wrong with it; `report` tells where.
        """
        return await self.plans.run(plan, arguments, caller, **options)

    @property
    def search(self) -> "Search":
        """Finds the tools that serve an intent; called as `Search.__call__`."""
        from toolrt.pipeline.searching import search_of  # noqa: PLC0415 - few programs search

        self._search = search_of(
            self._search, self.project, self._registry, self._listing.shows, self.written.retrieval
        )
        return self._search

    async def export(self, dialect: str, caller: Caller | None = None, **options: Any) -> "Export":
        """The tools for a request of a vendor; see `Responses.export`."""
        return await self.vendors.export(dialect, caller, **options)

    async def turn(self, response: object, **options: Any) -> "Turn":
        """Make every call of a model's answer; `dialect`, `caller` and more as `Responses.turn`."""
        return await self.vendors.turn(response, **options)

    @cached_property
    def agent(self) -> "Loop":
        """Asks the model of the project, which calls tools until it answers."""
        from toolrt.agent.loop import Loop  # noqa: PLC0415 - few programs ask
        from toolrt.agent.turns import Turns  # noqa: PLC0415 - as above

        return Loop(
            Turns(self._gateway, self.vendors, self.call_many, self.approvals),
            lambda: self.search,
            self._state.memory.conversations,
            lambda: self.written.agent,
            self._clock,
        )

    async def ask(self, question: str, caller: Caller | None = None, **options: Any) -> "Reply":
        """Ask the model of the project; see `Loop.ask`."""
        return await self.agent.ask(question, caller, **options)

    async def metrics(self, more: Iterable[Reading] = ()) -> str:
        """The page of metrics as Prometheus reads it; empty where toolrt.yaml wants none. `more` is
        what a face has counted.
        """
        of_us = Reading("toolrt_build_info", (VERSION,), 1)
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
        await self._discovery.close()
        await self.reloader.close()
        await self._notices.close()
        await self._gateway.settle()
        self._gateway.close()
        await self._services.close()
        await self._state.close()

    def _open_again(self) -> None:
        """Take the way in that the generation of now has; not where there is none any more."""
        if self.call != self._refused:
            self.call = self._meta.way_in(self.snapshot)

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
