"""Schemas and values in words: `integer between 1 and 14`, `"three"`, `filters[0].name`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.core.faults import Path
from toolrt.schemas.shapes import Schema, resolve

LONGEST_VALUE = 60
_LONGEST_PATTERN = 80
_MOST_OPTIONS = 20
_MOST_BRANCHES = 5
_DEEPEST = 3

_FORMATS = {
    "date": "a date like 2026-01-31",
    "date-time": "a date and time like 2026-01-31T12:00:00Z",
    "duration": "an ISO 8601 duration like PT1H30M",
    "email": "an e-mail address",
    "hostname": "a host name",
    "idn-email": "an e-mail address",
    "idn-hostname": "a host name",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "iri": "an absolute URI",
    "json-pointer": "a JSON pointer like /a/0",
    "regex": "a regular expression",
    "time": "a time like 12:00:00Z",
    "uri": "an absolute URI like https://example.com/a",
    "uri-reference": "a URI or relative reference",
    "uri-template": "a URI template",
    "uuid": "a UUID",
}
_BARE = ("one of ", "exactly ", "no ")


def shown(value: Any) -> str:
    """A value as a model may see it: JSON, at most 60 characters, nothing invisible.

    Objects and arrays show no values, only what they are made of.
    """
    if isinstance(value, dict):
        return _cut(f"an object with {', '.join(map(visible, value))}" if value else "{}")
    if isinstance(value, list):
        return f"an array of {len(value)}" if value else "[]"
    if isinstance(value, str):
        return _cut(visible(json.dumps(value[: LONGEST_VALUE + 1], ensure_ascii=False)))
    return _cut(json.dumps(value))


def visible(text: str, longest: int = LONGEST_VALUE) -> str:
    """`text` with control, bidi and other invisible characters written as escapes, cut short."""
    text = _cut(text, longest)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def place(path: Path) -> str:
    """A path as people write it: `filters[0].name`; empty for the whole."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{visible(step)}"
    return text.removeprefix(".")


def pointer(path: Path) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps).encode(errors="backslashreplace").decode()


def with_article(phrase: str) -> str:
    """`an integer`, `a string`; phrases that take none stay as they are."""
    if phrase.startswith(_BARE):
        return phrase
    return f"an {phrase}" if phrase[0] in "aeio" else f"a {phrase}"


def describe(schema: Schema, root: Schema, depth: int = _DEEPEST) -> str:
    """What values a schema takes, as a phrase that follows `must be`."""
    if schema is False:
        return "no value at all"
    if not isinstance(schema, Mapping) or depth == 0:
        return "value"
    if "$ref" in schema:
        target = resolve(root, schema["$ref"])
        return describe(target if target is not None else True, root, depth - 1)
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return alternatives(schema[word], root, depth)
    return _noun(schema, root, depth)


def number_range(schema: Mapping[str, Any]) -> str:
    """`between 1 and 14`, `greater than 0`, or nothing."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"between {low} and {high}"
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    limits = (("at least", low), ("greater than", above), ("at most", high), ("less than", below))
    phrase = " and ".join(f"{word} {limit}" for word, limit in limits if limit is not None)
    return f"of {phrase}" if phrase.startswith("at ") else phrase


def alternatives(branches: list[Schema], root: Schema, depth: int = _DEEPEST) -> str:
    """`integer or null`: what the branches of an `anyOf` or `oneOf` take."""
    phrases = dict.fromkeys(describe(one, root, depth - 1) for one in branches[:_MOST_BRANCHES])
    more = len(branches) - _MOST_BRANCHES
    return (" or ".join(phrases) or "value") + (f" or one of {more} more forms" if more > 0 else "")


def _noun(schema: Mapping[str, Any], root: Schema, depth: int) -> str:
    if "const" in schema:
        return f"exactly {shown(schema['const'])}"
    if "enum" in schema:
        return options(schema["enum"])
    return " ".join([_type(schema.get("type")), *_details(schema, root, depth)])


def options(values: list[Any]) -> str:
    """`one of "metric", "imperial"`."""
    listed = ", ".join(shown(value) for value in values[:_MOST_OPTIONS])
    more = len(values) - _MOST_OPTIONS
    prefix = "exactly" if len(values) == 1 else "one of"
    return f"{prefix} {listed}" + (f" and {more} more" if more > 0 else "")


def _type(written: Any) -> str:
    return " or ".join(map(str, written)) if isinstance(written, list) else str(written or "value")


def _details(schema: Mapping[str, Any], root: Schema, depth: int) -> Iterator[str]:
    """What narrows a type, each as a phrase that can follow it."""
    if limits := number_range(schema):
        yield limits
    if "multipleOf" in schema:
        yield f"that is a multiple of {schema['multipleOf']}"
    yield from _counts(schema, ("minLength", "maxLength"), "character")
    if "format" in schema:
        yield f"in the form of {_FORMATS.get(schema['format'], visible(str(schema['format'])))}"
    if "pattern" in schema:
        yield f"that matches {visible(str(schema['pattern']), _LONGEST_PATTERN)}"
    yield from _counts(schema, ("minItems", "maxItems"), "item")
    yield from _counts(schema, ("minProperties", "maxProperties"), "member")
    yield from _members(schema, root, depth)


def _counts(schema: Mapping[str, Any], words: tuple[str, str], noun: str) -> Iterator[str]:
    low, high = (schema.get(word) for word in words)
    if low is not None and low == high:
        yield f"of exactly {_counted(low, noun)}"
    elif low is not None and high is not None:
        yield f"of {low} to {_counted(high, noun)}"
    elif low is not None:
        yield f"of at least {_counted(low, noun)}"
    elif high is not None:
        yield f"of at most {_counted(high, noun)}"


def _counted(number: Any, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _members(schema: Mapping[str, Any], root: Schema, depth: int) -> Iterator[str]:
    items = schema.get("items")
    if isinstance(items, Mapping) and items and depth > 1:
        yield f"whose items are each {with_article(describe(items, root, depth - 1))}"
    if schema.get("uniqueItems"):
        yield "without repeated items"
    if "contains" in schema:
        wanted = with_article(describe(schema["contains"], root, depth - 1))
        yield f"with at least {schema.get('minContains', 1)} of {wanted}"
    if required := schema.get("required"):
        yield f"with {', '.join(map(visible, required[:_MOST_OPTIONS]))}"
    if "not" in schema:
        yield f"that is not {with_article(describe(schema['not'], root, depth - 1))}"
    for word, what in (("contentEncoding", "encoded as"), ("contentMediaType", "of media type")):
        if word in schema:
            yield f"{what} {visible(str(schema[word]))}"


def _cut(text: str, longest: int = LONGEST_VALUE) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
