"""A file of `policies.d`: rules, the default, operators' settings, limits."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from toolrt.manifest.cases import RuleTest
from toolrt.manifest.limits import (
    Breaker,
    CacheOption,
    Concurrency,
    RateOption,
    RetryOption,
    TimeoutOption,
)
from toolrt.manifest.result import HitlOption
from toolrt.manifest.scalars import Duration
from toolrt.manifest.written import Written


def _something(value: Any) -> Any:
    """A key without a value would widen a rule in silence: half of it may not be written yet."""
    if value is None:
        raise PydanticCustomError("wrong-type", "a key without a value; give one, or leave it away")
    return value


_Given = BeforeValidator(_something)


class Approvers(Written):
    roles: list[str] = Field(default_factory=list)
    principals: list[str] = Field(default_factory=list)


class Approval(Written):
    """Who may say yes, how many of them, for how long. Times in seconds."""

    approvers: Approvers = Approvers()
    count: int = Field(default=1, ge=1)
    exclude_requester: bool = False
    ttl: Duration | None = Field(default=None, gt=0)
    execute_by: Duration | None = Field(default=None, gt=0)
    scopes: list[Literal["once", "session", "pattern"]] = Field(default=["once"])


class Rule(Written):
    """One clause; `decide` has no default."""

    id: str = Field(min_length=1)
    decide: Literal["deny", "ask", "allow"]
    tools: list[str] = Field(min_length=1)
    when: Annotated[str | SkipJsonSchema[None], _Given] = None
    unless: Annotated[str | SkipJsonSchema[None], _Given] = None
    reason: str | None = None
    mode: Literal["enforce", "audit"] = "enforce"
    approval: Annotated[Approval | SkipJsonSchema[None], _Given] = None
    tests: list[RuleTest] = Field(default_factory=list)


class Limits(Written):
    """What a session may do: calls in all, and how often in a row the same tool may fail alike, or
    be called with the same arguments; questions open, and asked in a minute.
    """

    max_calls: int | None = Field(default=None, ge=1)
    same_error: int | None = Field(default=None, ge=1)
    same_call: int | None = Field(default=None, ge=1)
    pending: int | None = Field(default=None, ge=1)
    asks: int | None = Field(default=None, ge=1)


class Setting(Written):
    """What an operator lays over the tools' own options; only what is written counts."""

    tools: list[str] = Field(min_length=1)
    when: Annotated[str | SkipJsonSchema[None], _Given] = None
    retry: RetryOption | None = None
    timeout: TimeoutOption | None = None
    breaker: Breaker | None = None
    rate: RateOption | None = None
    concurrency: Concurrency | None = None
    cache: CacheOption | None = None
    limits: Limits | None = None
    hitl: HitlOption | None = None


class PoliciesFile(Written):
    rules: list[Rule] = Field(default_factory=list)
    approval: Annotated[Approval | SkipJsonSchema[None], _Given] = None
    default: Annotated[Literal["deny", "allow"] | SkipJsonSchema[None], _Given] = None
    settings: list[Setting] = Field(default_factory=list)
    limits: Limits | None = None
