"""What a project offers to MCP clients beside tools: prompts, resources, and sets of tools."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from toolrt.core.versions import AT, base_of, spellings
from toolrt.manifest.written import OneOf, Written, long_form


class Toolset(Written):
    """Some of the tools, by their names or globs; `hide` takes some away again."""

    description: str | None = None
    tools: list[str]
    hide: list[str] = Field(default_factory=list)

    def offers(self, name: str, version: str | None = None) -> bool:
        """Whether a tool of that name and version is among them."""
        return is_among(name, version, self.tools) and not is_among(name, version, self.hide)


class PromptArgument(Written):
    """A text that whoever uses the prompt gives; `values` are those that clients suggest."""

    description: str | None = None
    required: bool = True
    values: list[str] = Field(default_factory=list)


class PromptMessage(Written):
    """One message: a text, an image or sound from a file, or a resource with its content."""

    role: Literal["user", "assistant"] = "user"
    text: str | None = None
    file: str | None = None
    resource: str | None = None
    type: str | None = None

    @model_validator(mode="after")
    def _one_content(self) -> "PromptMessage":
        if (self.text is None) == (self.file is None):
            raise PydanticCustomError("one-of", "needs exactly one of text or file")
        return self


def _long_argument(value: Any) -> Any:
    return {} if value is None else long_form(value, "description")


def _long_message(value: Any) -> Any:
    return long_form(value, "text")


PromptArgumentOption = Annotated[PromptArgument, BeforeValidator(_long_argument)]
PromptMessageOption = Annotated[PromptMessage, BeforeValidator(_long_message)]


class Prompt(OneOf):
    """Messages to begin a conversation with: written out, or made by a tool."""

    choices: ClassVar[tuple[str, ...]] = ("text", "messages", "tool")

    title: str | None = None
    description: str | None = None
    arguments: dict[str, PromptArgumentOption] = Field(default_factory=dict)
    text: str | None = None
    messages: list[PromptMessageOption] | None = Field(default=None, min_length=1)
    tool: str | None = None


class Resource(OneOf):
    """Something to be read at a URI; in `{name}` of the URI stands what a reader chooses."""

    choices: ClassVar[tuple[str, ...]] = ("text", "file", "tool")

    uri: str = Field(min_length=1)
    title: str | None = None
    description: str | None = None
    type: str | None = None
    text: str | None = None
    file: str | None = None
    tool: str | None = None
    values: dict[str, list[str]] = Field(default_factory=dict)


def is_among(name: str, version: str | None, patterns: Iterable[str]) -> bool:
    """Whether a pattern means a tool: one with `@` a version, any other all versions."""
    whole = (name, *spellings(name, version))
    base = base_of(name)
    return any(
        any(fnmatchcase(each, pattern) for each in whole)
        if AT in pattern
        else fnmatchcase(base, pattern)
        for pattern in patterns
    )
