"""Where the tools of a source come from: an MCP server, an OpenAPI document, a Python object."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from toolrt.manifest.limits import TimeoutOption
from toolrt.manifest.written import OneOf, Written, long_form


class McpSource(OneOf):
    """A server that is started by `command`, or reached at `url` or `target`."""

    choices: ClassVar[tuple[str, ...]] = ("command", "url", "target")

    command: list[str] | None = Field(default=None, min_length=1)
    url: str | None = None
    target: str | None = None
    env: dict[str, str | None] = Field(default_factory=dict)
    timeout: TimeoutOption | None = None


class OpenApiSource(Written):
    """`spec` is a file; where its service is reached stands in it, or in one of the others."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["target", "base_url"]}})

    spec: str
    target: str | None = None
    base_url: str | None = None

    @model_validator(mode="after")
    def _one_address(self) -> "OpenApiSource":
        if self.target is not None and self.base_url is not None:
            raise PydanticCustomError("one-of", "needs at most one of target and base_url")
        return self


class PythonSource(Written):
    """An object whose methods are tools, or the class of one that `init` makes."""

    object: str
    init: dict[str, Any] = Field(default_factory=dict)
    select: Literal["decorated", "public", "async"] | None = None


def long_openapi(value: Any) -> Any:
    return long_form(value, "spec")


def long_python_source(value: Any) -> Any:
    return long_form(value, "object")


OpenApiOption = Annotated[OpenApiSource, BeforeValidator(long_openapi)]
PythonOption = Annotated[PythonSource, BeforeValidator(long_python_source)]
