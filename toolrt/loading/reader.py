"""YAML text to plain data, with the place of every value for whoever asks.

Third step of a file's journey after its characters and its events; the loader takes it from here.
YAML 1.2 core scalars, no tags, no bombs, one document; everything that is wrong is a diagnostic.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from toolrt.core.faults import Fault, Path
from toolrt.loading import events
from toolrt.loading.assembly import Assembly
from toolrt.loading.characters import decode, report_hidden
from toolrt.loading.diagnostics import Diagnosis, Diagnostic, Span, TooManyFaultsError
from toolrt.loading.lines import Lines
from toolrt.loading.paths import Repeat, short, through
from toolrt.loading.places import Places

SIZE_LIMIT: Final = 4 * 1024 * 1024
LARGE_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a file that people do not write by hand, such as the document of an API."""
_LARGE: Final = LARGE_LIMIT, 4_000_000
_VARIANTS: Final = 20


class _Lookup:
    """The places of a text, made when first asked and shared by all readings of it."""

    __slots__ = ("_events", "_places", "_text")

    def __init__(self, text: str = "", events: int = 0) -> None:
        self._text = text
        self._events = events
        self._places: Places | None = None

    def places(self) -> Places:
        if self._places is None:
            self._places = Places(self._text, self._events)
        return self._places


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A file as read: its text, its data, and what is wrong with it.

    `data` is None when the file is unusable and `{}` when it says nothing. Values under an anchor
    are shared by their aliases: look, but do not change. Keys are texts, as written.
    """

    file: str
    text: str
    data: Any = None
    faults: list[Diagnostic] = field(default_factory=list)
    _hidden: tuple[tuple[Path, Any], ...] = ()
    _through: Path = ()
    _lookup: _Lookup = field(default_factory=_Lookup, repr=False)

    def span(self, path: Path, *, on_key: bool = False, offset: int | None = None) -> Span:
        """The place of the value at `path`, or of the deepest one on the way that exists.

        `on_key` gives the key's own place; `offset` counts characters of a scalar's value.
        """
        places = self._lookup.places()
        return places.span(through(path, self._through), on_key=on_key, offset=offset)

    def source_text(self, path: Path) -> str | None:
        """The plain scalar at `path` exactly as written (`1.10`); None for anything else."""
        return self._lookup.places().source_text(through(path, self._through))

    def variants(self) -> Iterator["Document"]:
        """The document once for each value that a duplicate key hid, with that value in place.

        A path that leads to the duplicate key leads into the hidden value. At most 20 are given.
        """
        hidden = self._hidden if self.data is not None else ()
        for path, value in islice(hidden, _VARIANTS):
            data = self.data
            for outer, around in hidden:
                if len(outer) < len(path) and path[: len(outer)] == outer:
                    data = _with(data, outer, around)
            yield replace(self, data=_with(data, path, value), faults=[], _hidden=(), _through=path)


def read(source: bytes, file: str, *, allow_merge: bool = True) -> Document:
    """The document of a file's bytes; `file` is the name that diagnostics show.

    Never raises for what the bytes are. `allow_merge` false refuses `<<`, as policies do.
    """
    return _read(source, file, allow_merge=allow_merge)


def read_large(source: bytes, file: str) -> Document:
    """The same of a file that is no manifest: larger, and merged as it likes."""
    return _read(source, file, allow_merge=True, most=_LARGE)


def _read(
    source: bytes,
    file: str,
    *,
    allow_merge: bool,
    most: tuple[int, int] = (SIZE_LIMIT, events.EVENT_LIMIT),
) -> Document:
    most_bytes, most_events = most
    if len(source) > most_bytes:
        message = f"larger than {most_bytes >> 20} MiB, which is the most for one file"
        return _unusable(file, "", Fault("too-large", message, hint="split it"))
    text, problem = decode(source)
    if problem is not None:
        return _unusable(file, text, *problem)
    diagnosis = Diagnosis(file, Lines(text))
    assembly = Assembly(diagnosis, allow_merge=allow_merge)
    data = assembly.build(islice(events.events(text.encode()), most_events))
    lookup = _Lookup(text, assembly.taken)
    try:
        _report_repeats(assembly.repeats, lookup, diagnosis)
        if data is not None:
            report_hidden(text, diagnosis)
    except TooManyFaultsError:
        pass
    return Document(file, text, data, diagnosis.found, tuple(assembly.repeats), _lookup=lookup)


def unreadable(file: str, why: str) -> Document:
    """Stands for a file whose bytes could not be had."""
    return _unusable(file, "", Fault("unreadable-file", f"{file} cannot be read: {why}"))


def _unusable(file: str, text: str, fault: Fault, index: int = 0) -> Document:
    diagnosis = Diagnosis(file, Lines(text))
    diagnosis.add(fault, index, min(index + 1, len(text)))
    return Document(file, text, faults=diagnosis.found)


def _report_repeats(repeats: list[tuple[Path, Any]], lookup: _Lookup, diagnosis: Diagnosis) -> None:
    for path, _ in repeats:
        places = lookup.places()
        first = places.span((*path[:-1], str(path[-1])), on_key=True)
        again = places.span(path, on_key=True)
        where = f"line {first.line}, column {first.column}"
        message = f"the key `{short(str(path[-1]))}` stands at {where} already"
        start = diagnosis.lines.start(again.line) + again.column - 1
        fault = Fault("duplicate-key", message, path, "keep one of the two")
        diagnosis.add(fault, start, start + again.end_column - again.column)


def _with(data: Any, path: Path, value: Any) -> Any:
    """`data` with `value` at `path`; what lies on the way is copied, the rest shared."""
    if not path:
        return value
    step = str(path[0]) if isinstance(path[0], Repeat) else path[0]
    if isinstance(data, Mapping):
        return {**data, step: _with(data.get(step), path[1:], value)}
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return [*data[:step], _with(data[step], path[1:], value), *data[step + 1 :]]
    return data
