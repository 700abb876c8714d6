"""Tools, calls and results for tests of dialects, made by hand: no project, no call."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.core.binaries import Base64
from toolrt.core.decisions import Ask, Group, Need
from toolrt.core.results import Failure, Pause, ToolResult
from toolrt.dialects.names import WireNames

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8).decode()


@dataclass(frozen=True)
class Tool:
    name: str
    description: str = "It does a thing."
    title: str | None = None
    effect: str = "write"
    is_idempotent: bool = False
    input_schema: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}, "additionalProperties": False}
    )
    output_schema: Mapping[str, Any] | None = None
    hosted: None = None
    deprecated: str | None = None
    kind: str = "python"

    @property
    def told_schema(self) -> Mapping[str, Any] | None:
        return self.output_schema


def schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


FORECAST = Tool(
    "weather.forecast",
    "Forecast for a city. For the past there is `weather.history`.",
    "Forecast",
    "read",
    is_idempotent=True,
    input_schema=schema(
        ("city",),
        city={"type": "string", "title": "City", "minLength": 1, "examples": ["Tokyo"]},
        days={"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        units={"enum": ["metric", "imperial"], "default": "metric"},
        title={"type": "string", "description": "A property that is called title."},
    ),
)
HISTORY = Tool("weather.history", "What it was.", effect="read")
NOTE = Tool(
    "notes.put",
    "Keep a note.",
    input_schema={
        "type": "object",
        "properties": {"tags": {"type": "object", "additionalProperties": {"type": "string"}}},
        "additionalProperties": False,
    },
)
TREE = Tool(
    "trees.put",
    "Keep a tree.",
    input_schema={
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "required": ["tree"],
        "additionalProperties": False,
        "$defs": {
            "Tree": {
                "title": "Tree",
                "type": "object",
                "properties": {
                    "leaf": {"type": "string"},
                    "twigs": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                },
                "required": ["leaf"],
                "additionalProperties": False,
            }
        },
    },
)
TOOLS = (TREE, FORECAST, HISTORY, NOTE)


def names_of(*tools: Tool, longest: int = 64) -> WireNames:
    return WireNames((each.name for each in tools or TOOLS), longest)


def good(data: Any, text: str | None = None, **more: Any) -> ToolResult:
    text = text if text is not None else data if type(data) is str else ""
    return ToolResult("call-1", "weather.forecast", "success", text, data, **more)


def image() -> ToolResult:
    return good(Base64(PNG), "image/png, 16 bytes")


def bad(code: str = "denied", message: str = "`weather.forecast` is not allowed") -> ToolResult:
    failure = Failure(code, message, "ask for `weather.history` instead")
    return ToolResult("call-1", "weather.forecast", "error", failure.message, error=failure)


def paused() -> ToolResult:
    need = Need(Group(("finance",), ("boss-anna",)), ("big",))
    pause = Pause(
        "a1b2c3", "confirm", 1800000000.0, "`weather.forecast` waits for a person: too big.",
        url="https://tools.example/approve/a1b2c3", asks=(Ask("big", "too big"),), needs=(need,),
    )  # fmt: skip
    return ToolResult("call-1", "weather.forecast", "paused", pause.message, pause=pause)
