"""What is wrong with a toolset, a prompt or a resource beside its own keys: its name, and how the
tools that it names fit.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import starmap
from typing import Final

from toolrt.catalog.offered import VARIABLE
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean
from toolrt.manifest.offers import Toolset, is_among

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_GLOB: Final = frozenset("*?[")


def of_name(name: str, kind: str) -> Iterator[Fault]:
    """Clients write these names into addresses and commands."""
    if not _NAME.fullmatch(name):
        message = f"`{name}` is no name of a {kind}: letters, digits, `_`, `-` and `.` alone"
        yield Fault("bad-name", message, on_key=True)


def of_toolset(toolset: Toolset, names: Mapping[str, str | None]) -> Iterator[Fault]:
    """Names and globs that no tool has, and a set that is empty although it names nothing wrong.
    `names` are those of all tools, with their versions.
    """
    is_known = all(_is_known(name, names) for name in toolset.tools)
    for key in ("tools", "hide"):
        for at, glob in enumerate(getattr(toolset, key)):
            if _is_known(glob, names):
                continue
            message = f"`{glob}` is no tool of this project"
            if _GLOB.isdisjoint(glob):
                yield Fault("no-such-tool", message, (key, at), did_you_mean(glob, names))
                continue
            hint = did_you_mean(glob.strip("*?.[]"), {each.partition(".")[0] for each in names})
            yield Fault("no-such-tool", message, (key, at), hint, severity="warning")
    if is_known and not any(starmap(toolset.offers, names.items())):
        message = "this toolset has no tool"
        yield Fault("empty-toolset", message, ("tools",), severity="warning")


def _is_known(glob: str, names: Mapping[str, str | None]) -> bool:
    return any(is_among(name, version, (glob,)) for name, version in names.items())


def of_maker(kind: str, entry: ToolEntry | None, given: Collection[str]) -> Iterator[Fault]:
    """A tool that makes what is read: it changes something, or does not take what is `given`."""
    if entry is None:
        return
    if entry.effect != "read":
        message = f"who reads this {kind} calls `{entry.name}`, which may change something"
        hint = "name a tool with `effect: read`"
        yield Fault("writing-offer", message, ("tool",), hint, severity="warning")
    schema = entry.input_schema
    known, needed = schema.get("properties", {}), schema.get("required", ())
    for name in needed:
        if name not in given:
            message = f"`{entry.name}` needs `{name}`, and this {kind} does not give it"
            yield Fault("missing-argument", message, ("tool",), severity="warning")
    for name in given:
        if name not in known and schema.get("additionalProperties", True) is False:
            near = did_you_mean(name, known)
            message = f"`{entry.name}` does not take `{name}`"
            yield Fault("unknown-argument", message, ("tool",), near, severity="warning")


def of_uri(uri: str, others: Mapping[str, str]) -> Iterator[Fault]:
    """A URI that another resource has already: only the first would ever be read."""
    other = others.get(shape_of(uri))
    if other is not None:
        message = f"`{uri}` is that of the resource `{other}`, too"
        yield Fault("duplicate-offer", message, ("uri",), "give each its own")


def shape_of(uri: str) -> str:
    """The same for URIs that match the same."""
    return VARIABLE.sub("{}", uri)
