"""Reads the text of a condition without evaluating it: which names it uses, and where.

The checker of the CEL library takes any key of a map; names are checked here, against the roots and
the schemas that are known.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from toolrt.core.faults import Fault
from toolrt.expressions.vocabulary import suggestion

_STRING = re.compile(
    r"""(?P<raw>[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
    |[bB]?(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |//[^\n]*""",
    re.DOTALL | re.VERBOSE,
)
_NAME = re.compile(
    r"(?<![\w.])(?P<root>[A-Za-z_]\w*)(?:\s*\.\s*(?P<key>[A-Za-z_]\w*)(?!\w|\s*\())?"
)
_INDEXED = re.compile(r"(?<![\w.])args\s*\[")
_HAS = re.compile(r"(?<![\w.])has\(\s*[A-Za-z_]\w*\s*\.\s*[A-Za-z_]\w*\s*\)")
_PATTERN = re.compile(r"(?<=\.matches\()\s*$")


@dataclass(frozen=True, slots=True)
class Use:
    """A root that a condition names, with the key read from it, if any, and its place."""

    root: str
    key: str | None
    offset: int


class ConditionText:
    """A condition's text; `code` is the same with strings and comments blanked out."""

    __slots__ = ("code", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = _STRING.sub(lambda match: _blank(match[0]), text)

    def uses(self) -> Iterator[Use]:
        """Every name that may be a root, in order."""
        for match in _NAME.finditer(self.code):
            key = match["key"]
            yield Use(match["root"], key, match.start("key") if key else match.start())

    def for_check(self) -> str:
        """The text with `has(root.key)` made `true`: a typed key is no longer a map's."""
        spans = [match.span() for match in _HAS.finditer(self.code)]
        text = self.text
        for start, end in spans:
            text = text[:start] + "true" + _blank(text[start + 4 : end]) + text[end:]
        return text

    def patterns(self) -> Iterator[tuple[int, str]]:
        """The literal arguments of `matches`, as written, with their offsets."""
        for match in _STRING.finditer(self.text):
            if _PATTERN.search(self.text, 0, match.start()):
                yield match.start(), match[0]


def name_faults(uses: Iterable[Use], known: Mapping[str, Collection[str]]) -> Iterator[Fault]:
    """Keys that a root does not have; `known` lists those of roots with fixed keys."""
    for use in uses:
        if use.key is None or use.key in known.get(use.root, (use.key,)):
            continue
        what = "is no parameter" if use.root == "args" else f"is no key of `{use.root}`"
        yield Fault(
            "unknown-name",
            f"`{use.key}` {what}",
            hint=suggestion(use.key, frozenset(known[use.root]), f"{use.root}."),
            offset=use.offset,
        )


def index_faults(text: ConditionText) -> Iterator[Fault]:
    """`args["x"]` would escape the check of names."""
    for match in _INDEXED.finditer(text.code):
        yield Fault(
            "disallowed",
            'parameters are not read with `args["…"]`',
            hint="write args.name",
            offset=match.start(),
        )


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
