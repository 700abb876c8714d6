"""`search_tools` and `call_tool`: a call of the latter is that of the tool that it names."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolrt.catalog.meta_tools import CALL
from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import Snapshot
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.errors import RefusedError
from toolrt.core.names import without_dots
from toolrt.core.offered import is_offered
from toolrt.core.results import ToolResult
from toolrt.pipeline.explaining import Explanation, explain
from toolrt.pipeline.gateway import Gateway
from toolrt.pipeline.stages.find import is_visible
from toolrt.schemas.plain import without_surrogates

if TYPE_CHECKING:
    from toolrt.pipeline.searching import Search

Call = Callable[..., Awaitable[ToolResult]]


class MetaTools:
    """What stands behind them in one runtime."""

    def __init__(
        self, gateway: Gateway, registry: Registry, clock: Clock, search: Callable[[], "Search"]
    ) -> None:
        self._call = gateway.call
        self._gateway = gateway
        self._registry = registry
        self._clock = clock
        self._search = search
        self._by_wire: tuple[Snapshot | None, Mapping[str, str]] = None, {}

    def way_in(self, snapshot: Snapshot) -> Call:
        """The gateway's own `call`; where there is `call_tool`, one that knows what it means."""
        return self.call if CALL in snapshot.tools else self._call

    async def found(self, invocation: Invocation) -> list[dict[str, Any]]:
        """What `search_tools` gives: the tools as a model calls them."""
        asked = invocation.arguments
        found = await self._search()(asked["intent"], invocation.caller, k=asked.get("k"))
        tools = [each.entry.for_caller(invocation) for each in found]
        return [
            {
                "name": without_dots(each.name),
                "description": each.description,
                "parameters": each.input_schema,
            }
            for each in tools
            if each.kind != "built-in" and each.hosted is None
        ]

    async def call(
        self,
        name: str,
        arguments: Any,
        caller: Caller | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        marks: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """As that of the gateway."""
        try:
            name, arguments = self._come_to(name, arguments, caller)
        except RefusedError as refusal:
            return self._gateway.refuse(arguments["name"], refusal, caller)
        return await self._call(name, arguments, caller, on_progress, marks)

    async def preview(
        self, name: str, arguments: Any, caller: Caller | None = None
    ) -> dict[str, Any]:
        """As that of the gateway, of the call that would be made."""
        name, arguments = self._come_to(name, arguments, caller)
        return await self._gateway.preview(name, arguments, caller)

    async def explain(self, name: str, arguments: Any, caller: Caller) -> Explanation:
        """As `explain`, of the call that would be made."""
        name, arguments = self._come_to(name, arguments, caller)
        return await explain(self._gateway, name, arguments, caller)

    def _come_to(self, name: str, arguments: Any, caller: Caller | None) -> tuple[str, Any]:
        """The tool and the arguments of the call that a call is. Raises RefusedError where this
        endpoint does not offer that tool.
        """
        if name != CALL:
            return name, arguments
        looking = Invocation("", "", {}, caller or Caller(), self._clock, 0.0, 0.0)
        meant = _meant(arguments) if self._is_open(looking) else None
        if meant is None:
            return name, arguments
        snapshot, wire = self._registry.current, meant[0]
        own = self._own(snapshot, wire, looking)
        entry = snapshot.tool(own)
        if entry is not None and not is_offered(entry.name, entry.version):
            raise _not_here(wire)
        return own, meant[1]

    def _is_open(self, looking: Invocation) -> bool:
        """Whether no rule hides `call_tool` from the caller."""
        entry = self._registry.current.tools.get(CALL)
        return entry is not None and entry.kind == "built-in" and is_visible(entry, looking)

    def _own(self, snapshot: Snapshot, name: str, looking: Invocation) -> str:
        """The name of the tool that a model means; those without dots are unique, too. One that is
        hidden from the caller is as unknown as none.
        """
        if name == CALL or snapshot.tool(name) is not None:
            return name
        if self._by_wire[0] is not snapshot:
            self._by_wire = snapshot, {without_dots(each): each for each in snapshot.listed}
        own = self._by_wire[1].get(without_dots(name), name)
        return own if own in snapshot.tools and is_visible(snapshot.tools[own], looking) else name


def _not_here(name: str) -> RefusedError:
    """What is said of a tool that this endpoint does not offer: the same as of none."""
    hint = "search_tools finds what there is"
    message = f"there is no tool `{without_surrogates(name[:100])}`"
    return RefusedError(message, code="unknown-tool", hint=hint)


def _meant(arguments: Any) -> tuple[str, Any] | None:
    """The tool and its arguments; None where they are not said as they should be."""
    if not isinstance(arguments, Mapping) or not arguments.keys() <= {"name", "arguments"}:
        return None
    name, inner = arguments.get("name"), arguments.get("arguments")
    return (name, {} if inner is None else inner) if isinstance(name, str) else None
