"""Which of the tools that a program has added go, when it says what it does not want any more."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any

from toolrt.catalog.sources.subjects import key_of, label_of
from toolrt.core.errors import ProjectError
from toolrt.core.names import did_you_mean
from toolrt.loading.loader import WrittenTool
from toolrt.loading.reader import read
from toolrt.loading.sources import Given


@dataclass(slots=True)
class Removing:
    """What goes with `anything`; `tools` gives those in force. `problem` says why nothing does."""

    anything: Any
    tools: Callable[[], Sequence[WrittenTool]]
    problem: ProjectError | None = None

    def edit(self, before: tuple[Given, ...]) -> tuple[Given, ...]:
        """What is left: without what goes as a whole, and without single tools of others."""
        gone = [each for each in before if self._is_meant(each)]
        lost = {} if gone else self._single(before)
        if not gone and not lost:
            self.problem = self.problem or self._unknown(before)
            return before
        left = (each for each in before if each not in gone)
        return tuple(made for each in left for made in self._without(each, lost.get(each)))

    def _is_meant(self, given: Given) -> bool:
        """Whether all of it goes: it is the object, one of the class, or it belongs to that."""
        wanted, found = self.anything, given.found
        if isinstance(wanted, str):
            is_tool = any(tool.name == wanted for tool in self.tools())
            return wanted in (given.name, given.address) and not is_tool
        if wanted is found or (isinstance(found, MethodType) and found.__self__ is wanted):
            return True
        return isinstance(wanted, type) and given.is_alive and type(found) is wanted

    def _single(self, before: Sequence[Given]) -> dict[Given, set[str]]:
        """The tools that go, by what they came with: the names that they have there."""
        lost: dict[Given, set[str]] = {}
        name = self.anything if isinstance(self.anything, str) else None
        key = key_of(self.anything) if name is None else None
        for tool in self.tools():
            if tool.name != name and (key is None or tool.key != key):
                continue
            given = tool.source.given if tool.source is not None else None
            if given is not None and given in before:
                lost.setdefault(given, set()).add(str(tool.path[-1]))
            else:
                self.problem = _of_file(tool)
        return lost

    def _without(self, given: Given, lost: set[str] | None) -> Iterator[Given]:
        """What is left of something that loses these tools; nothing where it has no other."""
        if lost is None:
            yield given
            return
        own = {str(tool.path[-1]) for tool in self.tools() if _is_of(tool, given)}
        if own - lost:
            yield _losing(given, lost)

    def _unknown(self, before: Sequence[Given]) -> ProjectError:
        wanted = called(self.anything)
        added = [tool.name for tool in self.tools() if any(_is_of(tool, one) for one in before)]
        hint = did_you_mean(wanted, [*added, *(each.name for each in before)])
        return ProjectError(f"nothing was added as `{wanted}`", hint=hint)


def called(anything: Any) -> str:
    """What a message calls it."""
    return anything if isinstance(anything, str) else label_of(anything)


def _is_of(tool: WrittenTool, given: Given) -> bool:
    return tool.source is not None and tool.source.given is given


def _of_file(tool: WrittenTool) -> ProjectError:
    line = tool.document.span(tool.path, on_key=True).line
    message = f"`{tool.name}` was not added by this program: it stands in {tool.document.file}"
    return ProjectError(message, hint=f"take it out there, at line {line}")


def _losing(given: Given, lost: set[str]) -> Given:
    """The same without some of its tools."""
    entry = dict(given.document.data["sources"][given.name])
    entry["exclude"] = [*entry.get("exclude", ()), *sorted(lost)]
    overrides = {
        name: keys for name, keys in entry.get("overrides", {}).items() if name not in lost
    }
    if overrides:
        entry["overrides"] = overrides
    else:
        entry.pop("overrides", None)
    document = read(source_text(given.name, entry), given.document.file)
    return replace(given, document=document, removed=given.removed | lost)


def source_text(name: str, entry: Mapping[str, Any]) -> bytes:
    """A source as a file would have it. Raises ProjectError for what no file can hold."""
    try:
        return json.dumps({"sources": {name: entry}}, indent=2, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        message = f"what is said of `{name}` cannot stand in a file: {error}"
        raise ProjectError(message, hint="write plain values: texts, numbers, lists") from error
