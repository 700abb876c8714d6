"""The tools that a caller is told of: as rules (P15) and open breakers with `hide` (B8) have it."""

from toolrt.catalog.registry import Registry
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.pipeline.breakers import Breakers
from toolrt.pipeline.stages.find import is_visible


class Listing:
    """What the lists of one runtime hold."""

    def __init__(self, registry: Registry, breakers: Breakers, clock: Clock) -> None:
        self._registry = registry
        self._breakers = breakers
        self._clock = clock

    async def listed(self, caller: Caller | None = None) -> list[ToolEntry]:
        """The tools that `caller` sees now, in the order of the snapshot.

        Those that cannot be called for other reasons are among them, and say so (`unavailable`).
        Of several versions of a tool it is the one that its plain name means.
        """
        seen = list(self._registry.current.listed.values())
        return [entry for entry in seen if await self.shows(entry, caller)]

    async def shows(self, entry: ToolEntry, caller: Caller | None = None) -> bool:
        """Whether a tool that lists hold is told of to `caller`."""
        caller = caller or Caller()
        looking = Invocation("", "", {}, caller, self._clock, 0.0, 0.0)
        if "admin" not in caller.may and not is_visible(entry, looking):
            return False
        return not await self._is_left_out(entry)

    async def _is_left_out(self, entry: ToolEntry) -> bool:
        options, shared = entry.manifest.breaker, self._breakers.of(entry)
        if options is None or shared is None or not options.hide:
            return False
        await self._breakers.ask(shared)  # another process may have opened it
        return self._breakers.is_hidden(entry)
