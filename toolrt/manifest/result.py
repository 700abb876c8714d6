"""`result`: what becomes of a binding's value before anyone sees it."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from toolrt.manifest.scalars import Duration, Size
from toolrt.manifest.written import OneOf, Written, long_form


class ResultOptions(Written):
    """`failed_when` is CEL, `error` and `select` are JMESPath, `text` is a template.

    `max_size` holds for `text` and for `data` each, in bytes; `keep` says which part of a longer
    one stays. `redact` names fields, or holds regular expressions. `empty` is the text of an answer
    that has nothing in it.
    """

    failed_when: str | None = None
    error: str | None = None
    select: str | None = None
    text: str | None = None
    empty: str | None = None
    max_size: Size = 50_000
    keep: Literal["head", "tail", "both"] = "head"
    redact: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    to: Literal["both", "model", "user"] = "both"
    final: bool = False


class Reject(Written):
    """A check across parameters: `when` holds, so the call is refused with `reason`."""

    when: str
    reason: str


class Hooks(Written):
    before: list[str] = Field(default_factory=list)
    after: list[str] = Field(default_factory=list)


class Hitl(Written):
    """What a tool asks of people: `confirm`, `input` of some fields, or an `external` result."""

    mode: Literal["none", "confirm", "input", "external"]
    fields: list[str] = Field(default_factory=list)
    ttl: Duration | None = Field(default=None, gt=0)
    note: str | None = None
    channels: Any = None


class Verify(Written):
    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    applied_when: str


class Fallback(OneOf):
    """Exactly one of another tool, a static value, or a stale cached answer."""

    choices: ClassVar[tuple[str, ...]] = ("tool", "value", "stale")

    tool: str | None = None
    value: Any = None
    stale: bool | None = None


class Poll(Written):
    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    every: Duration = Field(gt=0)
    until: str


class Freshness(Written):
    resource: str = Field(min_length=1)
    read_by: list[str] = Field(min_length=1)


class IdempotencyKey(Written):
    value: str
    header: str | None = None


def long_hitl(value: Any) -> Any:
    return long_form(value, "mode")


def long_fallback(value: Any) -> Any:
    return long_form(value, "tool")


def long_idempotency_key(value: Any) -> Any:
    return long_form(value, "value")


HitlOption = Annotated[Hitl, BeforeValidator(long_hitl)]
FallbackOption = Annotated[Fallback, BeforeValidator(long_fallback)]
IdempotencyKeyOption = Annotated[IdempotencyKey, BeforeValidator(long_idempotency_key)]
