"""`tests:` of tools and of rules: a call, what stands in for the world, and what is expected."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from toolrt.manifest.written import Written

_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class As(Written):
    """Who calls in a test."""

    principal: str = Field(default="anonymous", min_length=1)
    roles: list[str] = Field(default_factory=list)
    tenant: str | None = None
    session: str | None = None
    scopes: list[str] = Field(default_factory=list)
    claims: dict[str, Any] = Field(default_factory=dict)


def long_as(value: Any) -> Any:
    """`ann:finance,ops` made long; raises PydanticCustomError for a text that names no user."""
    if not isinstance(value, str):
        return value
    principal, colon, roles = value.partition(":")
    named = roles.split(",") if colon else []
    if not principal or not all(named):
        raise PydanticCustomError("invalid-value", "expected user or user:role,…")
    return {"principal": principal, "roles": named}


AsOption = Annotated[As, BeforeValidator(long_as)]


def _code(value: str) -> str:
    if not _CODE.fullmatch(value):
        raise PydanticCustomError("invalid-value", "expected a code, such as `not-found`")
    return value


Code = Annotated[
    str, AfterValidator(_code), WithJsonSchema({"type": "string", "pattern": f"^{_CODE.pattern}$"})
]


class MockError(Written):
    """A failure that the binding ends in."""

    code: Code = "execution-failed"
    message: str = "it failed"
    hint: str | None = None
    retryable: bool = False


def _any_of(*keys: str) -> dict[str, Any]:
    return {"anyOf": [{"required": [key]} for key in keys]}


_ONE_ANSWER: dict[str, Any] = {
    "oneOf": [
        {**_any_of("json", "text", "status"), "not": {"required": ["json", "text"]}},
        _any_of("exit_code", "stdout", "stderr"),
        _any_of("error"),
    ]
}


class Mock(Written):
    """What the binding of a tool answers in a test, and whether a person said yes before.

    One of: a value (`json` or `text`), perhaps as the body of an HTTP `status`; the end of a
    program (`exit_code`, `stdout`, `stderr`); an `error`.
    """

    model_config = ConfigDict(json_schema_extra=_ONE_ANSWER)

    json_: Any = Field(default=None, alias="json")
    text: str | None = None
    status: int | None = Field(default=None, ge=100, le=599)
    exit_code: int | None = Field(default=None, ge=0, le=255)
    stdout: str | None = None
    stderr: str | None = None
    error: MockError | None = None
    approved: bool = False

    @property
    def written(self) -> set[str]:
        """Names of the fields that somebody wrote."""
        return self.model_fields_set

    @property
    def has_json(self) -> bool:
        return "json_" in self.written

    @property
    def is_of_a_program(self) -> bool:
        return not {"exit_code", "stdout", "stderr"}.isdisjoint(self.written)

    @property
    def is_failure(self) -> bool:
        """Whether it stands for something that goes wrong; nobody can ask that of the world."""
        has_failed = self.exit_code or (self.status or 0) >= _FIRST_FAILURE
        return self.error is not None or bool(has_failed)

    @model_validator(mode="after")
    def _is_one_answer(self) -> Self:
        bodies = self.has_json + (self.text is not None)
        of_a_service = bool(bodies) or self.status is not None
        answers = of_a_service + self.is_of_a_program + (self.error is not None)
        if answers != 1 or bodies > 1:
            known = "json, text, status (with json or text), exit_code and stdout, or error"
            raise PydanticCustomError("one-of", "needs one answer: {known}", {"known": known})
        return self


_FIRST_FAILURE = 400


class Expect(Written):
    """What a call of a tool must come to; what is not named may be anything.

    `data` is looked for in the result's data: keys that it does not name may be there. `text` is
    a part of the result's text, or of the failure's message.
    """

    status: Literal["success", "partial", "error", "paused"] | None = None
    code: Code | None = None
    data: Any = None
    text: str | None = None
    decision: Literal["allow", "ask", "deny"] | None = None


class ToolTest(Written):
    """A case of a tool: arguments, who calls, what stands in for the world, what is expected."""

    args: dict[str, Any] = Field(default_factory=dict)
    as_: AsOption | None = Field(default=None, alias="as")
    expect: Expect = Expect()
    mock: Mock | None = None


class RuleCall(Written):
    """The call that a rule is shown; `history` calls of the same tool and caller went before."""

    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    as_: AsOption | None = Field(default=None, alias="as")
    history: int = Field(default=0, ge=0, le=10_000)


class RuleTest(Written):
    """A case of a rule: whether it matches a call."""

    expect: Literal["match", "no-match"]
    call: RuleCall
