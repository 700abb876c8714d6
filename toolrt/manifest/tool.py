"""One tool as a user writes it, and a file of tools. Every key is in docs/manifest.md."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from toolrt.manifest.cases import ToolTest
from toolrt.manifest.limits import (
    Breaker,
    CacheOption,
    Concurrency,
    RateOption,
    Retry,
    RetryOption,
    Timeout,
    TimeoutOption,
)
from toolrt.manifest.offers import Prompt, Resource, Toolset
from toolrt.manifest.result import (
    FallbackOption,
    Freshness,
    HitlOption,
    Hooks,
    IdempotencyKeyOption,
    Poll,
    Reject,
    ResultOptions,
    Verify,
)
from toolrt.manifest.source import McpSource, OpenApiOption, PythonOption
from toolrt.manifest.target import Target
from toolrt.manifest.written import OneOf, Written

KIND_NAMES = ("python", "http", "command", "shell", "mcp", "agent", "provider", "steps")
NAME = r"^[a-z][a-z0-9_]*$"

_TIMEOUT, _RETRY, _RESULT = Timeout(), Retry(), ResultOptions()

Effect = Literal["read", "write", "irreversible"]


class ToolManifest(Written):
    """A tool, all layers merged. The value of its kind stays raw: it belongs to the kind's Spec."""

    description: str | None = Field(default=None, min_length=1)
    title: str | None = None
    tags: list[str] = Field(default_factory=list)
    version: str | None = None
    deprecated: str | None = Field(default=None, json_schema_extra={"not": {"type": "boolean"}})
    enabled: bool = True
    instructions: str | None = None
    parameters: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    python: Any = None
    http: Any = None
    command: Any = None
    shell: Any = None
    mcp: Any = None
    agent: Any = None
    provider: Any = None
    steps: Any = None
    effect: Effect | None = None
    idempotent: bool | None = None
    idempotency_key: IdempotencyKeyOption | None = None
    timeout: TimeoutOption = Field(default_factory=lambda: _TIMEOUT)
    retry: RetryOption = Field(default_factory=lambda: _RETRY)
    coerce: Literal["none", "safe"] = "none"
    reject: list[Reject] = Field(default_factory=list)
    result: ResultOptions = Field(default_factory=lambda: _RESULT)
    hitl: HitlOption | None = None
    hooks: Hooks | None = None
    breaker: Breaker | None = None
    rate: RateOption | None = None
    concurrency: Concurrency | None = None
    cache: CacheOption | None = None
    verify: Verify | None = None
    fallback: FallbackOption | None = None
    poll: Poll | None = None
    freshness: Freshness | None = None
    expose: bool = True
    tests: list[ToolTest] = Field(default_factory=list)

    @field_validator("deprecated")
    @classmethod
    def _says_what_instead(cls, value: str | None) -> str | None:
        if value in {"true", "false"}:
            raise PydanticCustomError("invalid-value", "expected a text: what to use instead")
        return value


_FETCHED_PYTHON: dict[str, Any] = {
    "required": ["python"],
    "anyOf": [{"required": ["on_change"]}, {"required": ["on_failure"]}],
}


def _without_resets(value: Any) -> Any:
    """The keys that have a value: `null` resets what lies below, which is not known here."""
    if not isinstance(value, dict):
        return value
    return {
        key: {name: each for name, each in inner.items() if each is not None}
        if isinstance(inner, dict)
        else inner
        for key, inner in value.items()
        if inner is not None
    }


Override = Annotated[ToolManifest, BeforeValidator(_without_resets)]
"""Tool keys that a file lays over a tool of a source."""


class Source(OneOf):
    """One entry that yields many tools, of exactly one of three origins."""

    model_config = ConfigDict(json_schema_extra={"not": _FETCHED_PYTHON})
    choices: ClassVar[tuple[str, ...]] = ("mcp", "openapi", "python")

    mcp: McpSource | None = None
    openapi: OpenApiOption | None = None
    python: PythonOption | None = None
    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)
    prefix: str | None = None
    overrides: dict[str, Override] = Field(default_factory=dict)
    on_change: Literal["block", "warn"] | None = None
    on_failure: Literal["degrade", "fail", "use_pinned"] | None = None

    @field_validator("on_change", "on_failure")
    @classmethod
    def _is_of_a_server(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("python") is not None:
            raise PydanticCustomError(
                "no-effect", "a Python object does not change or fail by itself"
            )
        return value


class ToolsFile(Written):
    """A file of `tools.d`. Tools and defaults stay raw until their layers are merged."""

    namespace: str | None = Field(default=None, pattern=NAME)
    defaults: dict[str, Any] | None = None
    targets: dict[str, Target] | None = None
    tools: dict[str, dict[str, Any]] | None = None
    sources: dict[str, Source] | None = None
    toolsets: dict[str, Toolset] | None = None
    prompts: dict[str, Prompt] | None = None
    resources: dict[str, Resource] | None = None
