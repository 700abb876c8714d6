"""Docstrings to a description and the descriptions of parameters.

Google, numpy, sphinx and epydoc styles; which one it is shows in how its parameters are announced.
"""

import inspect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docstring_parser import DocstringParam

_SECTIONS = r"(Args|Arguments|Parameters|Params|Attributes|Keyword Args|Returns|Yields|Raises)"
_STYLES = (
    ("NUMPYDOC", re.compile(r"(?m)^(Other )?(Parameters|Returns|Yields|Raises|Attributes)\n-{3,}")),
    ("REST", re.compile(r"(?m)^:(param|parameter|arg|argument|key|type|returns?|raises?|rtype)\b")),
    ("EPYDOC", re.compile(r"(?m)^@(param|type|return|rtype|raise)\b")),
    ("GOOGLE", re.compile(rf"(?m)^{_SECTIONS}:[ \t]*$")),
)


@dataclass(frozen=True, slots=True)
class Docstring:
    """`description` is summary and long text, without the sections; None when there is neither."""

    description: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """What a docstring says about a callable and its parameters."""
    cleaned = inspect.cleandoc(text) if text else ""
    style = next((name for name, pattern in _STYLES if pattern.search(cleaned)), None)
    if style is None:
        return Docstring(cleaned.strip() or None)
    return _parsed(cleaned, style)


def _parsed(text: str, style: str) -> Docstring:
    from docstring_parser import (  # noqa: PLC0415 - only docstrings with sections need it
        DocstringStyle,
        ParseError,
        parse,
    )

    try:
        # It dedents all but the first line once more, so that line must not be a section's.
        found = parse(f"\n{text}", DocstringStyle[style])
    except ParseError:
        return Docstring(text)
    return Docstring(_description(found.description), _parameters(found.params))


def _description(text: str | None) -> str | None:
    return text.strip() or None if text else None


def _parameters(params: "list[DocstringParam]") -> dict[str, str]:
    return {
        name.strip().lstrip("*"): " ".join(param.description.split())
        for param in params
        if param.description
        for name in param.arg_name.split(",")
    }
