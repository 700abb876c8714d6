"""What requests may say: their bodies and parameters, checked, with a problem for every other."""

from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.datastructures import QueryParams

from toolrt.faces.http.problems import ProblemError
from toolrt.faces.http.wire import json_object
from toolrt.manifest.scalars import Duration
from toolrt.stores.approvals import State

B = TypeVar("B", bound=BaseModel)

_MOST_LISTED = 1000
_Text = Annotated[str, Field(max_length=10_000)]


def _whole(value: Any) -> Any:
    """A number that a query has as text."""
    return int(value) if isinstance(value, str) and value.isdecimal() and value.isascii() else value


_Number = Annotated[int, BeforeValidator(_whole)]


class Body(BaseModel):
    """Strict keys; nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DecisionBody(Body):
    """What a person says to a question.

    `seen` is the `final_hash` of what they were shown. `edits` are other arguments. `for` makes it
    a yes to calls to come, within `scope`, at most `uses` times, with any value for what `any`
    names. `result` or `error` is what a call came to that they made by hand.
    """

    decision: Literal["approve", "deny"]
    note: _Text | None = None
    seen: str | None = None
    edits: dict[str, Any] | None = None
    for_: Duration | None = Field(default=None, alias="for")
    scope: Literal["session", "pattern"] = "pattern"
    uses: int = Field(default=100, ge=1)
    free: list[str] = Field(default_factory=list, alias="any")
    result: Any = None
    error: _Text | None = None


class TurnBody(Body):
    """`response` is what a vendor's API answered, `dialect` whose it is where it does not show."""

    response: Any
    dialect: str | None = None
    serial: bool = False


class ReloadBody(Body):
    accept_loss: bool = False


class ApprovalsQuery(Body):
    """`open` are those that somebody or something still waits for."""

    state: Literal["open", "all"] | State = "open"
    limit: _Number = Field(default=100, ge=1, le=_MOST_LISTED)


class GrantsQuery(Body):
    """`live` are those that still answer calls."""

    state: Literal["live", "all"] = "live"
    limit: _Number = Field(default=100, ge=1, le=_MOST_LISTED)


class InstructionsQuery(Body):
    toolset: str | None = None


class CallsQuery(Body):
    """`since` and `until` are dates with times, or how long ago."""

    tool: str | None = None
    caller: str | None = None
    status: str | None = None
    id: str | None = None
    since: str | None = None
    until: str | None = None
    limit: _Number = Field(default=50, ge=1, le=_MOST_LISTED)


class OutputQuery(Body):
    """Bytes."""

    offset: _Number = Field(default=0, ge=0)
    length: _Number = Field(default=50_000, ge=1, le=4 << 20)


class WaitQuery(Body):
    wait: Duration | None = None


EventName = Literal[
    "completed", "failed", "paused", "asked", "decided", "approval-changed", "requested",
    "batch-planned", "generation-changed", "call", "approval", "intent", "batch", "generation",
    "grant", "breaker",
]  # fmt: skip
"""Names of events, and kinds of entries of the journal."""


class EventsQuery(Body):
    tool: str | None = None
    kind: EventName | None = None


OPEN: tuple[State, ...] = ("pending", "approved", "claimed", "unknown")
STATES: tuple[str, ...] = ("open", "all", *get_args(State))


def parsed(model: type[B], body: bytes) -> B:
    """The body as `model` has it. Raises ProblemError."""
    return checked(model, json_object(body) if body else {}, "body")


def asked(model: type[B], query: QueryParams) -> B:
    """The parameters as `model` has them. Raises ProblemError."""
    twice = next((name for name in query if len(query.getlist(name)) > 1), None)
    if twice is not None:
        raise ProblemError(
            400, "bad-request", f"`{twice[:80]}` is given twice", hint="give it once"
        )
    return checked(model, dict(query), "query")


def checked(model: type[B], given: dict[str, Any], where: str) -> B:
    """What is given in the body, the query or the form, as `model` has it. Raises ProblemError."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])[:80] or where
        known = ", ".join(field.alias or name for name, field in model.model_fields.items())
        code = "bad-request" if where == "query" else "invalid-body"
        said = first["msg"][0].lower() + first["msg"][1:]
        hint = f"it takes {known or 'nothing'}"
        raise ProblemError(400, code, f"`{place}` of the {where}: {said}", hint=hint) from None
