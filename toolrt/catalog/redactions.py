"""`result.redact` compiled: fields and patterns that nobody sees of a tool's answers.

A name (`card`) or dotted path (`user.card`) is a field, wherever it stands, also in a text that is
JSON. Everything else is a regular expression, also in slashes (`/card/`) where it looks like a
name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolrt.catalog.written_fields import masked_fields
from toolrt.core.faults import Fault, FaultError, Path
from toolrt.core.redaction import MASK
from toolrt.core.unseen import bare
from toolrt.expressions.patterns import Pattern, compile_pattern

_FIELD = re.compile(r"[A-Za-z_$@][\w$-]*(?:\.[A-Za-z_$@][\w$-]*)*")
_LEAST_SLASHED = 3


@dataclass(frozen=True, slots=True)
class Redactions:
    """Masks fields by name, in whatever case, and what patterns match, in texts and numbers.

    `fields` are the last names of paths with the names before them, the nearest first.
    """

    fields: Mapping[str, tuple[tuple[str, ...], ...]]
    patterns: tuple[Pattern, ...]

    def text(self, text: str, above: tuple[str, ...] = ()) -> str:
        """`text` with every match masked, and every field that it writes as JSON; without what
        nobody sees, where that hid a match.
        """
        if self.fields and '"' in text and ":" in text and self._may_name_one(text):
            text = masked_fields(text, above, self._is_field, self.text)
        seen = bare(text)
        if seen is not text and any(pattern.is_in(seen) for pattern in self.patterns):
            text = seen
        for pattern in self.patterns:
            text = pattern.replaced(text, MASK)
        return text

    def value(self, value: Any, above: tuple[str, ...] = ()) -> Any:
        """A copy of a JSON value with its fields and matches masked; names are masked by patterns.

        `above` are the names of the fields that it stands in, the nearest first.
        """
        if isinstance(value, str):
            return self.text(value, above)
        if isinstance(value, dict):
            return {self.text(name): self._member(name, value[name], above) for name in value}
        if isinstance(value, list):
            return [self.value(each, above) for each in value]
        return MASK if self._is_matched(value) else value

    def unfit(self, schema: Any, path: Path = (), above: tuple[str, ...] = ()) -> Iterator[Path]:
        """Where a schema of what is masked takes no text: the paths of such fields in it."""
        if not isinstance(schema, dict):
            return
        for name, below in _mapping(schema.get("properties")).items():
            own, at = bare(str(name)).casefold(), (*path, "properties", str(name))
            if not self._is_field(own, above):
                yield from self.unfit(below, at, (own, *above))
            elif not _takes_text(below):
                yield at
        yield from self.unfit(schema.get("items"), (*path, "items"), above)

    def _member(self, name: str, value: Any, above: tuple[str, ...]) -> Any:
        own = bare(name).casefold()
        if self._is_field(own, above):
            return MASK
        return self.value(value, (own, *above))

    def _is_field(self, own: str, above: tuple[str, ...], is_torn: bool = False) -> bool:
        """Whether the path to a name ends like one of a field, as far as it is known."""
        paths = self.fields.get(own, ())
        if any(above[: len(path)] == path for path in paths):
            return True
        return is_torn and any(path[: len(above)] == above for path in paths)

    def _may_name_one(self, text: str) -> bool:
        if "\\u" in text or " bytes left out " in text or bare(text) is not text:
            return True
        folded = text.casefold()
        return any(f'{name}"' in folded or f"{name}\\" in folded for name in self.fields)

    def _is_matched(self, value: Any) -> bool:
        """Whether a number, as it is written, holds a match."""
        if not self.patterns or value is None or isinstance(value, bool):
            return False
        try:
            digits = repr(value)
        except ValueError:  # thousands of digits: no result may hold it anyway
            return True
        return any(pattern.is_in(digits) for pattern in self.patterns)


def unfit_masks(schema: Mapping[str, Any] | None, redactions: Redactions | None) -> list[Fault]:
    """A warning for each field of an output schema that is masked, which makes it a text, and may
    be none.
    """
    if schema is None or redactions is None:
        return []
    return [
        Fault(
            "unfit-redact",
            f"`{path[-1]}` is masked with a text, and no text may stand there",
            ("output_schema", *path),
            "let it be a string there, too: answers that do not fit lose their structure",
            severity="warning",
        )
        for path in redactions.unfit(schema)
    ]


def _takes_text(schema: Any) -> bool:
    """Whether a text may stand there, as far as its `type` says."""
    types = _mapping(schema).get("type", "string")
    return "string" in (types if isinstance(types, list) else [types])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def compile_redactions(written: Sequence[str], faults: list[Fault]) -> Redactions | None:
    """Compile `result.redact`; faults are at its items. None where nothing is written."""
    fields: dict[str, list[tuple[str, ...]]] = {}
    patterns: list[Pattern] = []
    for number, item in enumerate(written):
        try:
            found = _compiled(item)
        except FaultError as error:
            faults.extend(error.under("result", "redact", number))
            continue
        if isinstance(found, Pattern):
            patterns.append(found)
        else:
            fields.setdefault(found[0], []).append(found[1:])
    if not written:
        return None
    return Redactions({name: tuple(paths) for name, paths in fields.items()}, tuple(patterns))


def _compiled(item: str) -> Pattern | tuple[str, ...]:
    """The pattern, or the names of a path from the last to the first."""
    if _FIELD.fullmatch(item):
        return tuple(reversed(item.casefold().split(".")))
    if len(item) >= _LEAST_SLASHED and item[0] == item[-1] == "/":
        item = item[1:-1]
    return compile_pattern(item)
