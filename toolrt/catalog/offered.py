"""Prompts and resources, ready for MCP clients: texts are templates, URIs are patterns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from toolrt.expressions.templates import Template

VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Content:
    """A text, or a file of the project; `media_type` says what it is."""

    media_type: str
    text: Template | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a prompt; with `resource` its content is that of a resource."""

    role: Literal["user", "assistant"]
    content: Content
    resource: Template | None = None


@dataclass(frozen=True, slots=True)
class OfferedArgument:
    """An argument of a prompt."""

    name: str
    description: str | None
    is_required: bool
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfferedPrompt:
    """A prompt: messages written out, or the tool that makes them. `print` tells it from others."""

    name: str
    title: str | None
    description: str | None
    arguments: tuple[OfferedArgument, ...]
    parts: tuple[Part, ...]
    tool: str | None
    print: str = ""


@dataclass(frozen=True, slots=True)
class OfferedResource:
    """A resource, or with `{name}` in its URI many of them."""

    name: str
    uri: str
    title: str | None
    description: str | None
    content: Content
    tool: str | None
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    print: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """What its URI leaves open."""
        return tuple(VARIABLE.findall(self.uri))

    def match(self, uri: str) -> dict[str, str] | None:
        """What a URI fills in here; None where it is another one."""
        if not self.variables:
            return {} if uri == self.uri else None
        found = pattern(self.uri).fullmatch(uri)
        return (
            {name: unquote(value) for name, value in found.groupdict().items()} if found else None
        )


def pattern(uri: str) -> re.Pattern[str]:
    """What the URIs of a template look like: each name stands for one segment."""
    pieces = VARIABLE.split(uri)
    made = [
        f"(?P<{piece}>[^/?#]+)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)
    ]
    return re.compile("".join(made))
