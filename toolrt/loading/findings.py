"""Faults with the place that they belong to; the line is looked up only when somebody asks.

A project of a thousand tools may well have a thousand warnings, and opening it must not pay for
places that nobody looks at.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolrt.core.faults import Fault, Path
from toolrt.loading.diagnostics import Diagnostic, Span, at_span, place_of
from toolrt.loading.layers import Layered
from toolrt.loading.reader import Document

_NO_VALUE = {"unknown-anchor", "alias-to-itself"}
_MERGE = re.compile(r'"<<"(?:\[[0-9]+\])?$')
_OF_GAPS = {"missing-key", "no-kind", "one-of", "unknown-name"}
"""What may be wrong only because a merge brought nothing."""


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


def worth_telling(
    findings: Iterable[Finding], of_texts: Sequence[Diagnostic]
) -> Iterator[Diagnostic]:
    """The findings that are no shadow of what is wrong with the texts themselves.

    Where an alias leads nowhere there is no value, so nothing else is wrong with it; where it was
    to be merged, what is missing may be there.
    """
    voids = {place_of(fault) for fault in of_texts if fault.code in _NO_VALUE}
    twice = {place_of(fault) for fault in of_texts if fault.code == "duplicate-key"}
    gaps = {_entry(each) for each in of_texts if each.code in _NO_VALUE and _is_merged(each)}
    for finding in findings:
        each = finding.diagnostic()
        place = place_of(each)
        is_shadow = (
            place in voids
            or (each.code in _OF_GAPS and _entry(each) in gaps)
            or (each.code == "unknown-key" and place in twice)
        )
        if not is_shadow:
            yield each


def _entry(one: Diagnostic) -> tuple[str, ...]:
    """The file, and the tool or target in it, that a diagnostic is about."""
    return (one.file, *one.path.split(".")[:2])


def _is_merged(one: Diagnostic) -> bool:
    """Whether it is about the value of a merge key, or about one of several."""
    return _MERGE.search(one.path) is not None
