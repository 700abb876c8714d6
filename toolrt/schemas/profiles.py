"""What each vendor takes of JSON Schema where it holds a model to a schema, as its pages say.

Sources: OpenAI, "Structured outputs: supported schemas"; Anthropic, "Structured outputs: JSON
Schema limitations" and "Strict tool use"; Google, "Structured output: JSON Schema support" and the
reference of FunctionDeclaration (`parametersJsonSchema`).
"""

import re
from dataclasses import dataclass
from typing import Any, Final

_FORMATS: Final = frozenset(
    ("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid")
)
_BOUNDS: Final = frozenset(
    ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf")
)
_OWN_SYNTAX = re.compile(r"\(\?(?!:)|\\[^dDsSwWbBnrtfv\\.\-\[\](){}^$*+?|/]")
"""Parts of patterns that other languages may not know: flags, named groups, Unicode's classes."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A vendor's subset.

    `words` are the checks that it takes, `formats` the values of `format`, `least_items` those of
    `minItems` (None: any). `is_strict`: every object is closed, every value has a type, and what
    cannot be said so is an obstacle; else something more general stands in its place.
    `all_required`: who leaves a member out sends null. `has_type_lists`: `["string", "null"]` is
    known. `has_refs`: references stay, and `has_recursion` those that lead back. `has_any_items`:
    the items of a list may be anything. `option_types` are those of the values of `enum`; `names`
    is what a property may be called. The last are counts over a whole schema.
    """

    name: str
    words: frozenset[str]
    formats: frozenset[str]
    names: re.Pattern[str] | None = None
    least_items: frozenset[int] | None = None
    option_types: tuple[type, ...] = (str, int, float, bool, type(None))
    is_strict: bool = True
    all_required: bool = False
    has_type_lists: bool = False
    has_refs: bool = True
    has_recursion: bool = False
    has_const: bool = True
    has_any_items: bool = True
    most_levels: int | None = None
    most_properties: int | None = None
    most_options: int | None = None
    most_characters_of_long_enum: int | None = None
    most_characters: int | None = None

    def takes(self, word: str, value: Any) -> bool:
        """Whether a check may stand in a schema for this vendor."""
        if word == "format":
            return value in self.formats
        if word == "minItems" and self.least_items is not None:
            return value in self.least_items
        if word == "pattern" and _OWN_SYNTAX.search(str(value)):
            return False
        return word in self.words

    def takes_options(self, options: list[Any]) -> bool:
        """Whether these may be the values of an `enum`."""
        return bool(options) and all(type(each) in self.option_types for each in options)


OPENAI: Final = Profile(
    name="openai",
    words=_BOUNDS | {"maxItems", "minItems", "pattern"},
    formats=_FORMATS,
    all_required=True,
    has_type_lists=True,
    has_recursion=True,
    most_levels=10,
    most_properties=5_000,
    most_options=1_000,
    most_characters_of_long_enum=15_000,
    most_characters=120_000,
)

ANTHROPIC: Final = Profile(
    name="anthropic",
    words=frozenset({"minItems"}),
    formats=_FORMATS | {"uri"},
    names=re.compile(r"[a-zA-Z0-9_.-]{1,64}"),
    least_items=frozenset({0, 1}),
)

GOOGLE: Final = Profile(
    name="google",
    words=frozenset({"maxItems", "maximum", "minItems", "minimum"}),
    formats=frozenset({"date", "date-time", "time"}),
    names=re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"),
    option_types=(str, int, float),
    is_strict=False,
    has_type_lists=True,
    has_refs=False,
    has_const=False,
    has_any_items=False,
)
