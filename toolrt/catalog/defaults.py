"""`defaults` are checked once each, whatever tools they reach.

Compiling a tool finds what is wrong in its layers, but no tool may be of the kind that a default is
for, or every tool may override it.
"""

from collections.abc import Iterable, Iterator

from toolrt.bindings.base import KINDS, kind
from toolrt.core.faults import Fault
from toolrt.core.faults import Path as FaultPath
from toolrt.core.names import nearest
from toolrt.loading.layers import Layered
from toolrt.loading.loader import LoadedFiles
from toolrt.loading.resets import reset_faults
from toolrt.loading.validation import validated
from toolrt.manifest import planned
from toolrt.manifest.tool import ToolManifest


def check_defaults(files: LoadedFiles) -> None:
    """Report the keys and values of each `defaults` that no tool can have."""
    for layer in files.defaults:
        layered = Layered([layer])
        faults = [*_of_tool(layered), *_of_kinds(layered)]
        faults += planned.unfinished(layered.merged, planned.TOOL, faults)
        files.report_layered(layer.prefix, layered, faults)
        files.broken_defaults |= {(layer.document.file, name) for name in _broken_kinds(faults)}


def _broken_kinds(faults: Iterable[Fault]) -> Iterator[str]:
    """The kinds whose options are wrong, or stand under a misspelt name."""
    for fault in faults:
        name = nearest(str(fault.path[0]), KINDS) if fault.path else None
        if name is not None and fault.severity == "error":
            yield name


def _of_tool(layered: Layered) -> Iterator[Fault]:
    _, faults = validated(ToolManifest, layered.merged, layered.source_text)
    faults += reset_faults(ToolManifest, layered)
    return (fault for fault in faults if not _is_left_to_tools(fault))


def _of_kinds(layered: Layered) -> Iterator[Fault]:
    for name in KINDS.keys() & layered.merged.keys():

        def source_text(path: FaultPath, name: str = name) -> str | None:
            return layered.source_text((name, *path))

        _, faults = validated(kind(name).spec, layered.merged[name], source_text)
        yield from (fault.under(name) for fault in faults if not _is_left_to_tools(fault))
        yield from reset_faults(kind(name).spec, layered, name)


def _is_left_to_tools(fault: Fault) -> bool:
    """Whether the fault is only that something is not there: the tools may bring it."""
    return fault.code == "missing-key" or not fault.path
