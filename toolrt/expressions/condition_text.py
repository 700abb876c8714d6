"""Reads the text of a condition without evaluating it: which names it uses, and where.

The checker of the CEL library takes any key of a map; names are checked here, against the roots and
the schemas that are known.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from toolrt.core.faults import Fault
from toolrt.expressions.vocabulary import suggestion

_LITERAL = re.compile(
    r"""(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
    |[bB]?(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3})
    |[bB]?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<comment>//[^\n]*)""",
    re.DOTALL | re.VERBOSE,
)
_NAME = re.compile(
    r"(?<![\w.])(?P<root>[A-Za-z_]\w*)(?:\s*\.\s*(?P<key>[A-Za-z_]\w*)(?!\w|\s*\())?"
)
_INDEXED = re.compile(r"(?<![\w.])args\s*\[")
_FROM_DOT = re.compile(r"(?:^|[^\w\s)\]}\"])\s*(\.)\s*[A-Za-z_]")
_HAS = re.compile(r"(?<![\w.])has[ \t]*\(\s*[A-Za-z_]\w*\s*\.\s*[A-Za-z_]\w*\s*\)")
_MATCHES = re.compile(r"\.\s*matches\s*\(\s*$")
_CLOSED = re.compile(r"\s*\)")
_HISTORY = re.compile(r"(?<![\w.])history\b")
_CALLS = re.compile(r"history\s*\.\s*calls\s*\(\s*")


class Tried(NamedTuple):
    """A literal that some functions do not take: an expression that fails for those, and what is
    said of it then; without a hint the reason of the library is one.
    """

    offset: int
    expression: str
    code: str
    message: str
    hint: str | None


_NEAR: Final = 100
"""Characters before a literal in which the name of its function is looked for."""
_TRIED: Final = (
    (_MATCHES, "''.matches({})", "invalid-pattern", "this regular expression is invalid", None),
    (
        re.compile(r"(?<![\w.])timestamp\s*\(\s*$"), "timestamp({})",
        "invalid-condition", "this is no time", 'write timestamp("2030-01-31T12:00:00Z")',
    ),
    (
        re.compile(r"(?<![\w.])duration\s*\(\s*$"), "duration({})",
        "invalid-duration", "this is no duration", 'write duration("90s"), or 5m, 1h30m',
    ),
    (
        re.compile(r"\.\s*get[A-Z]\w*\s*\(\s*$"), "timestamp(0).getHours({})",
        "invalid-condition", "this is no time zone", 'write one such as "Europe/Berlin"',
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """A root that a condition names, with the key read from it, if any, and its place."""

    root: str
    key: str | None
    offset: int


class ConditionText:
    """A condition's text; in `code`, of the same length, literals are quotes, comments spaces."""

    __slots__ = ("code", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = _LITERAL.sub(
            lambda match: _filled(match[0], " " if match["comment"] else '"'), text
        )

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
            text = text[:start] + "true" + _filled(text[start + 4 : end], " ") + text[end:]
        return text

    def tried(self) -> Iterator[Tried]:
        """The literals that are all that some functions get, such as the patterns of `matches`."""
        for match in _LITERAL.finditer(self.text):
            if match["comment"] or not _CLOSED.match(self.code, match.end()):
                continue
            near = self.code[max(0, match.start() - _NEAR) : match.start()]
            for before, expression, *said in _TRIED:
                if before.search(near):
                    yield Tried(match.start(), expression.format(match[0]), *said)

    def windows(self) -> Iterator[tuple[int, str | None]]:
        """The windows of `history.calls("10m")` with their offsets; None for anything else that is
        read from `history`.
        """
        literals = {match.start(): match for match in _LITERAL.finditer(self.text)}
        for use in _HISTORY.finditer(self.code):
            call = _CALLS.match(self.code, use.start())
            literal = literals.get(call.end()) if call else None
            if literal is None or not _CLOSED.match(self.code, literal.end()):
                yield use.start(), None
                continue
            yield literal.start() + 1, literal[0][1:-1]


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


def shape_faults(text: ConditionText) -> Iterator[Fault]:
    """Ways to read a name that would escape the check of names."""
    for match in _INDEXED.finditer(text.code):
        message = 'parameters are not read with `args["…"]`'
        yield Fault("disallowed", message, hint="write args.name", offset=match.start())
    for match in _FROM_DOT.finditer(text.code):
        yield Fault("disallowed", "a name does not begin with a dot", offset=match.start(1))


def _filled(text: str, character: str) -> str:
    """`text` with every character but newlines replaced."""
    return re.sub(r"[^\n]", character, text)
