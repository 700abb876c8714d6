"""What the description of a parameter tells beside its author's words: defaults, examples, and the
checks that a vendor's schema cannot hold.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from toolrt.schemas.keywords import FORMATS

Schema = Mapping[str, Any]

_LONGEST_TOLD = 200
IN_WORDS = frozenset(
    ("exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength", "maxProperties",
     "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "pattern",
     "uniqueItems")
)  # fmt: skip
"""Checks that a description can tell."""
_TOLD_ALWAYS = {"default": "default", "examples": "for example", "contentEncoding": "encoding"}


def described(schema: Schema, told: Iterable[str] = ()) -> str:
    """The description in a schema, with its default, its examples, and what else is `told`."""
    always = (
        f"{word}: {text_of(schema[key])}"
        for key, word in _TOLD_ALWAYS.items()
        if schema.get(key) is not None
    )
    notes = "; ".join(dict.fromkeys([*always, *told]))
    text = str(schema.get("description", "")).strip()
    return f"{text} ({notes})".strip() if notes else text


def checks_in_words(schema: Schema) -> list[str]:
    """What words can tell of the checks in a schema, such as `minLength: 3`."""
    words = sorted(IN_WORDS & schema.keys())
    return [
        f"{word}: {text_of(schema[word])}" for word in words if not is_silent(word, schema[word])
    ]


def is_silent(word: str, value: Any) -> bool:
    """Whether a check is none for anybody but toolrt: a format of its own, or an unknown one."""
    return word == "format" and value not in FORMATS


def text_of(value: Any) -> str:
    """A value for a description; of a list of examples the first few."""
    shown = value[:5] if isinstance(value, list) else value
    text = ", ".join(map(_one, shown)) if isinstance(shown, list) else _one(shown)
    return text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}…"


def _one(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
