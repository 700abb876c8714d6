"""`cache` looked at when the files are loaded: what must not be kept, and for whom."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from toolrt.bindings.base import Effect
from toolrt.core.faults import Fault
from toolrt.manifest.target import Target
from toolrt.manifest.tool import ToolManifest

_IN_TEMPLATES = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_OF_CALLER = re.compile(r"(?<![\w.])caller(?:\.(\w+))?")
_SHARED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "global": frozenset(),
        "tenant": frozenset({"tenant"}),
        "session": frozenset({"tenant", "principal", "session"}),
        "caller": frozenset({"tenant", "principal", "roles", "scopes", "claims"}),
    }
)
"""What all who share an answer have in common."""


def cache_faults(
    manifest: ToolManifest, effect: Effect, options: Any, service: Target | None
) -> Iterator[Fault]:
    """What is wrong with keeping answers of this tool; `options` are those of its kind."""
    if manifest.cache is None:
        return
    if effect != "read":
        message = f"a kept answer would stand in for a call that does something (`{effect}`)"
        hint = "write `effect: read` if the tool only reads; else leave `cache` out"
        yield Fault("unfit-cache", message, ("cache",), hint, on_key=True)
        return
    scope = manifest.cache.scope
    for key in sorted(_asked_of_caller(options, service) - _SHARED[scope]):
        message = f"the answer depends on `caller.{key}`, and `scope: {scope}` would share it"
        hint = "take a narrower `scope`" if scope != "caller" else "write `scope: session`"
        yield Fault("unfit-cache", message, ("cache",), hint, on_key=True)
        return


def _asked_of_caller(options: Any, service: Target | None) -> set[str]:
    """The keys of `caller` that templates of the tool and its target read; `*` for the whole."""
    texts = list(_texts(options))
    if service is not None:
        texts += _texts(service.model_dump(mode="json"))
    asked = [found for text in texts for each in _IN_TEMPLATES.findall(text)
             for found in _OF_CALLER.findall(each)]  # fmt: skip
    return {key or "*" for key in asked}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(key)
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
