"""One kept answer, and the shelf where those of a tool lie."""

from collections import OrderedDict
from typing import Any, Final

from pydantic_core import SchemaSerializer

from toolrt.core.results import KnownAnswer
from toolrt.pipeline.copies import copier, known_bytes, read

_OVERHEAD = 400
"""Bytes that an answer costs beside its value, about."""
_MOST_WORDINGS = 4
LONGEST_WORDING: Final = 1000
"""Longer arguments are known by their digest alone."""
write = SchemaSerializer({"type": "any"}).to_json
"""JSON of what is plain, in the order in which it is there."""

Quick = tuple[bytes, bytes]
"""For whom, and the arguments as they were written: found sooner than the digest is made."""


class Kept:
    """One answer, made at `made_s` of the monotonic clock. `copy` gives each caller its own.

    `is_used`: it was asked for since somebody last looked for what to forget. `said` is how it was
    asked for before the arguments were checked, and `arguments` what they came to, which
    nobody changes.
    """

    __slots__ = (
        "arguments",
        "body",
        "copy",
        "digest",
        "is_used",
        "is_written",
        "known_bytes",
        "made_s",
        "quick",
        "said",
        "shelf",
        "size",
    )

    def __init__(self, shelf: "Shelf", digest: str, body: bytes, made_s: float) -> None:
        self.shelf = shelf
        self.digest = digest
        self.body = body
        self.made_s = made_s
        self.quick: Quick | None = None
        self.said: list[Quick] = []
        self.arguments: dict[str, Any] = {}
        self.is_written = self.is_used = False
        self.size = len(body) + _OVERHEAD
        value = read(body)
        self.copy = copier(value, body)
        self.known_bytes = known_bytes(value)

    def allow_for(self, quick: Quick) -> None:
        """Count what finding it soonest takes: its arguments, twice, and how they were said."""
        self.size += (_MOST_WORDINGS + 2) * len(quick[1])

    def answer(self) -> KnownAnswer:
        """It, for one more caller."""
        made: KnownAnswer = KnownAnswer()
        made.value, made.known_bytes = self.copy(), self.known_bytes
        return made


class Shelf:
    """The answers of one tool as it is defined, by digest.

    `quick` finds them by checked arguments, `said` by arguments as they came. `flights` are the
    calls under way that others wait for; `stored` are the digests in the store, once somebody has
    looked.
    """

    __slots__ = ("flights", "kept", "quick", "said", "stored")

    def __init__(self) -> None:
        self.kept: OrderedDict[str, Kept] = OrderedDict()
        self.quick: dict[Quick, Kept] = {}
        self.said: dict[Quick, Kept] = {}
        self.flights: dict[str, Any] = {}
        self.stored: frozenset[str] | None = None

    def learn(self, said: Quick, checked: Quick, arguments: dict[str, Any]) -> None:
        """Find an answer by other words from now on: by those that `checked` was made of.

        `arguments` are the checked ones, flat.
        """
        kept = self.quick.get(checked)
        if kept is None or said in self.said or len(said[1]) > LONGEST_WORDING:
            return
        if len(kept.said) >= _MOST_WORDINGS:
            return
        kept.arguments = arguments.copy()
        kept.said.append(said)
        self.said[said] = kept

    def forget(self, kept: Kept) -> None:
        """Have an answer no longer."""
        del self.kept[kept.digest]
        if kept.quick is not None:
            self.quick.pop(kept.quick, None)
        for said in kept.said:
            self.said.pop(said, None)
