"""What bounds a call: timeouts, retries, breaker, rate, concurrency, cache. Times in seconds."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from toolrt.manifest.scalars import Duration
from toolrt.manifest.written import Written, long_form


class Timeout(Written):
    """`connect` to reach the target, `attempt` for one try, `total` for the whole call."""

    connect: Duration = Field(default=5.0, gt=0)
    attempt: Duration = Field(default=30.0, gt=0)
    total: Duration = Field(default=60.0, gt=0)


class Retry(Written):
    """How often and how patiently a failed attempt is tried again (full jitter).

    `when` is a condition over `status` and `result` that narrows what is retried;
    `rejected_means_not_applied` lets a 429 or a 503 with Retry-After be retried for any method.
    """

    attempts: int = Field(default=3, ge=1, le=10)
    initial: Duration = 0.1
    max: Duration = 20.0
    when: str | None = None
    rejected_means_not_applied: bool = False


class Breaker(Written):
    """When calls are refused for a while: `failures` in a row, or a `ratio` of those in a `window`.

    After `recovery` one call is the trial. `hide`: lists leave the tool out meanwhile. `by` says
    whether each tenant of callers has a breaker of its own.
    """

    failures: int = Field(default=3, ge=1)
    recovery: Duration = Field(default=300.0, gt=0)
    ratio: float = Field(default=0.5, gt=0, le=1)
    window: Duration = Field(default=60.0, gt=0)
    hide: bool = False
    by: Literal["target", "tenant"] = "target"


class Rate(Written):
    """At most `limit` calls in any span of `per`, counted by tool, or by caller or tenant."""

    limit: int = Field(ge=1)
    per: Duration = Field(gt=0)
    by: Literal["tool", "caller", "tenant"] = "tool"


class Cache(Written):
    """How long an answer is kept, for whom, and how many of them: those used last."""

    ttl: Duration = Field(gt=0)
    scope: Literal["caller", "tenant", "session", "global"] = "caller"
    max_entries: int = Field(default=1000, ge=1)


def long_timeout(value: Any) -> Any:
    return long_form(value, "total")


def long_retry(value: Any) -> Any:
    return {"attempts": 1} if value == "none" else value


def long_rate(value: Any) -> Any:
    if not isinstance(value, str) or "/" not in value:
        return value
    limit, _, per = value.partition("/")
    return {"limit": int(limit) if limit.isdecimal() else limit, "per": per}


def long_cache(value: Any) -> Any:
    return long_form(value, "ttl")


def _concurrency(value: Any) -> Any:
    if value == "serial" or (isinstance(value, int) and value >= 1 and value is not True):
        return value
    raise PydanticCustomError("invalid-concurrency", "expected a number from 1, or serial")


TimeoutOption = Annotated[Timeout, BeforeValidator(long_timeout)]
RetryOption = Annotated[Retry, BeforeValidator(long_retry)]
RateOption = Annotated[Rate, BeforeValidator(long_rate)]
CacheOption = Annotated[Cache, BeforeValidator(long_cache)]
Concurrency = Annotated[
    int | Literal["serial"],
    BeforeValidator(_concurrency),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "serial"}]}),
]
