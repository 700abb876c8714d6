"""One tool as a user writes it, and a file of tools. Every key is in docs/manifest.md."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

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
from toolrt.manifest.result import (
    Fallback,
    Freshness,
    Hitl,
    Hooks,
    IdempotencyKey,
    Poll,
    Reject,
    ResultOptions,
    ToolTest,
    Verify,
)
from toolrt.manifest.target import Target
from toolrt.manifest.written import Written, long_form

KIND_NAMES = ("python", "http", "command", "shell", "mcp", "agent", "provider", "steps")
NAME = r"^[a-z][a-z0-9_]*$"

_TIMEOUT, _RETRY, _RESULT = Timeout(), Retry(), ResultOptions()

Effect = Literal["read", "write", "irreversible"]


def long_hitl(value: Any) -> Any:
    return long_form(value, "mode")


def long_fallback(value: Any) -> Any:
    return long_form(value, "tool")


def long_idempotency_key(value: Any) -> Any:
    return long_form(value, "value")


class ToolManifest(Written):
    """A tool, all layers merged. The value of its kind stays raw: it belongs to the kind's Spec."""

    description: str | None = None
    title: str | None = None
    tags: list[str] = Field(default_factory=list)
    version: str | None = None
    deprecated: str | None = None
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
    idempotency_key: Annotated[IdempotencyKey, BeforeValidator(long_idempotency_key)] | None = None
    timeout: TimeoutOption = Field(default_factory=lambda: _TIMEOUT)
    retry: RetryOption = Field(default_factory=lambda: _RETRY)
    coerce: Literal["none", "safe"] = "none"
    reject: list[Reject] = Field(default_factory=list)
    result: ResultOptions = Field(default_factory=lambda: _RESULT)
    hitl: Annotated[Hitl, BeforeValidator(long_hitl)] | None = None
    hooks: Hooks | None = None
    breaker: Breaker | None = None
    rate: RateOption | None = None
    concurrency: Concurrency | None = None
    cache: CacheOption | None = None
    verify: Verify | None = None
    fallback: Annotated[Fallback, BeforeValidator(long_fallback)] | None = None
    poll: Poll | None = None
    freshness: Freshness | None = None
    expose: bool = True
    tests: list[ToolTest] = Field(default_factory=list)


class Source(Written):
    """One entry that yields many tools."""

    mcp: Any = None
    openapi: Any = None
    python: Any = None
    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)
    prefix: str | None = None
    overrides: dict[str, dict[str, Any]] = Field(default_factory=dict)
    on_change: Literal["block", "warn"] = "block"
    on_failure: Literal["degrade", "fail", "use_pinned"] = "degrade"


class Toolset(Written):
    description: str | None = None
    tools: list[str]
    hide: list[str] = Field(default_factory=list)


class ToolsFile(Written):
    """A file of `tools.d`. Tools and defaults stay raw until their layers are merged."""

    namespace: str | None = Field(default=None, pattern=NAME)
    defaults: dict[str, Any] | None = None
    targets: dict[str, Target] | None = None
    tools: dict[str, dict[str, Any]] | None = None
    sources: dict[str, Source] | None = None
    toolsets: dict[str, Toolset] | None = None
    prompts: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None
