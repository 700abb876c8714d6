"""Faults with the place that they belong to; the line is looked up only when somebody asks.

A project of a thousand tools may well have a thousand warnings, and opening it must not pay for
places that nobody looks at.
"""

from dataclasses import dataclass
from typing import Protocol

from toolrt.core.faults import Fault, Path
from toolrt.loading.diagnostics import Diagnostic, Span, at_span
from toolrt.loading.layers import Layered
from toolrt.loading.reader import Document


class Place(Protocol):
    """Something that knows where paths stand."""

    def find(self, fault: Fault) -> tuple[str, Path, Span]:
        """File, path from the top of the file, and span."""
        ...


@dataclass(frozen=True, slots=True)
class InDocument:
    """Faults whose paths begin at `prefix` of a document."""

    document: Document
    prefix: Path

    def find(self, fault: Fault) -> tuple[str, Path, Span]:
        path = (*self.prefix, *fault.path)
        span = self.document.span(path, on_key=fault.on_key, offset=fault.offset)
        return self.document.file, path, span


@dataclass(frozen=True, slots=True)
class InLayers:
    """Faults whose paths begin at a tool; each stands in the layer that wrote the value."""

    layered: Layered

    def find(self, fault: Fault) -> tuple[str, Path, Span]:
        span = self.layered.span(fault.path, on_key=fault.on_key, offset=fault.offset)
        layer = self.layered.origin(fault.path)
        return layer.document.file, layer.place(fault.path), span


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault and its place; `shown` leads to the place that the path is counted from."""

    fault: Fault
    place: Place
    shown: Path

    @property
    def is_error(self) -> bool:
        return self.fault.severity == "error"

    @property
    def path(self) -> Path:
        """From the top of the file to the value."""
        return (*self.shown, *self.fault.path)

    def diagnostic(self) -> Diagnostic:
        file, path, span = self.place.find(self.fault)
        return at_span(self.fault, file, path, span)
