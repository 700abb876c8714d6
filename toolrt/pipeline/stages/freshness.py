"""freshness: nobody changes what they have not seen, or what has changed since (F4).

The tools that show a thing remember which version it was; a tool that changes it is told that
version, and compares it in the same step as it writes. Calls that change the same thing go one
after the other.
"""

from typing import Final

from toolrt.catalog.freshness import Freshness
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation, Sighting
from toolrt.core.errors import RefusedError
from toolrt.core.results import Answer, Failure, Outcome
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import as_text
from toolrt.expressions.templates import Template
from toolrt.pipeline.stage import Chain, Equipment

_MOST_READERS: Final = 3


def freshness(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Absent for tools that change nothing under watch, and show nothing of it."""
    if entry.seen_as:
        following = _Showing(entry, equipment, following).handle
    if entry.freshness is None:
        return following
    return _Changing(entry, entry.freshness, equipment, following).handle


class _Showing:
    """A tool that others name in `read_by`."""

    def __init__(self, entry: ToolEntry, equipment: Equipment, following: Chain) -> None:
        self.entry = entry
        self.sightings = equipment.sightings
        self.following = following

    async def handle(self, invocation: Invocation) -> Outcome:
        session = await self.sightings.ready(invocation.caller)
        sighting = invocation.sighting = invocation.sighting or Sighting()
        outcome = await self.following(invocation)
        if isinstance(outcome, Answer):
            for template in self.entry.seen_as:
                resource = _resource(template, self.entry, invocation)
                if resource is not None:
                    self.sightings.saw(session, self.entry.name, resource, sighting.told)
        return outcome


class _Changing:
    """A tool with `freshness`."""

    def __init__(
        self, entry: ToolEntry, options: Freshness, equipment: Equipment, following: Chain
    ) -> None:
        self.entry = entry
        self.options = options
        self.sightings = equipment.sightings
        self.following = following

    async def handle(self, invocation: Invocation) -> Outcome:
        resource = _resource(self.options.resource, self.entry, invocation)
        if resource is None:
            message = f"`{self.options.resource.source}` says nothing of what would be changed"
            return Failure("invalid-arguments", message, "give the arguments that it is made of")
        try:
            async with self.sightings.turn(resource, invocation.remaining_s()):
                return await self._change(resource, invocation)
        except RefusedError as error:
            return Failure.of(error)

    async def _change(self, resource: str, invocation: Invocation) -> Outcome:
        readers, sightings = self.options.read_by, self.sightings
        session = await sightings.ready(invocation.caller)
        seen = sightings.last(session, readers, resource)
        if seen is None:
            return self._unread()
        sighting = invocation.sighting = Sighting(seen.version)
        outcome = await self.following(invocation)
        if isinstance(outcome, Answer):
            sightings.changed(session, readers, resource, sighting.told)
        return outcome

    def _unread(self) -> Failure:
        readers = self.options.read_by[:_MOST_READERS]
        names = " or ".join(f"`{name}`" for name in readers)
        message = "what this would change was not read before in this session"
        return Failure("conflict", message, f"nothing was changed; read it first, with {names}")


def _resource(template: Template, entry: ToolEntry, invocation: Invocation) -> str | None:
    """What a call is about; two spellings of one path are the same."""
    made = template.value(Scope.of(invocation, entry.vars))
    text = "" if made is None or made is ABSENT else as_text(made)
    return "/".join(part for part in text.split("/") if part not in {"", "."}) or text or None
