"""Options of the kinds that a later part makes work; each moves to its kind when that is there."""

from typing import Any, ClassVar

from pydantic import Field

from toolrt.manifest.written import OneOf, Written


class McpOptions(Written):
    """A tool of an MCP server: the name of a source, and the tool's own name there."""

    server: str
    tool: str


class AgentOptions(OneOf):
    """Another agent, reached in exactly one of three ways; `input` is what it is given."""

    choices: ClassVar[tuple[str, ...]] = ("python", "http", "mcp")

    python: str | None = None
    http: str | dict[str, Any] | None = None
    mcp: McpOptions | None = None
    input: Any = None


class ProviderOptions(Written):
    """A tool that a model's vendor runs; nothing of it is called by us."""

    vendor: str
    type: str
    config: dict[str, Any] = Field(default_factory=dict)


class Step(Written):
    """A tool called on the way of another; `steps.ID` is what it came to."""

    id: str = Field(min_length=1)
    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    when: str | None = None
    for_each: str | None = None
    on_error: str | None = None
