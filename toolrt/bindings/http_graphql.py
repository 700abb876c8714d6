"""`graphql`: an operation whose text is constant; values reach it in its variables alone.

An answer with `errors` is a failure, whatever its status, and with what `data` it has in the
details; else `data` is the result (GraphQL specification, section 7).
"""

from collections.abc import Callable
from typing import Any

from pydantic_core import to_json

from toolrt.bindings.base import BindContext
from toolrt.bindings.http_answer import Reading, Reply
from toolrt.bindings.http_body import JsonBody
from toolrt.bindings.http_spec import GraphqlSpec
from toolrt.bindings.http_swept import Swept
from toolrt.core.errors import BindingError
from toolrt.core.results import HttpAnswer
from toolrt.expressions.scope import Scope
from toolrt.expressions.templates import Tree

_MOST_ERRORS = 10
_MOST_TOLD = 3
_LONGEST = 300


class GraphqlBody:
    """The operation of one tool."""

    content_type = "application/json"

    def __init__(self, query: str, variables: Tree, swept: Swept | None) -> None:
        self._query = query
        self._head = b'{"query":' + to_json(query) + b',"variables":'
        self._variables = JsonBody(variables, swept)
        self.references = variables.references

    def render(self, scope: Scope) -> bytes:
        return self._head + (self._variables.render(scope) or b"{}") + b"}"

    def masked(self, scope: Scope) -> dict[str, Any]:
        return {"query": self._query, "variables": self._variables.masked(scope) or {}}


class GraphqlReading(Reading):
    """How the answers to an operation are read."""

    __slots__ = ()

    def answer(self, reply: Reply, now: Callable[[], float]) -> HttpAnswer:
        """`data`, and the rest of the answer. Raises BindingError."""
        try:
            answer = super().answer(reply, now)
        except BindingError as error:
            if errors := _errors(error.body):
                error.message = _told(errors)
                error.details["errors"] = errors
            raise
        said = answer.value
        if errors := _errors(said):
            raise _failure(errors, said, reply.status_code)
        if not isinstance(said, dict) or "data" not in said:
            raise BindingError(
                "the answer is none of GraphQL: it has no `data`",
                code="bad-response",
                status=reply.status_code,
            )
        answer.value = said["data"]
        return answer


def check_query(graphql: GraphqlSpec, context: BindContext) -> None:
    """Report a value in the text of the operation."""
    for mark in ("{{", "${"):
        at = graphql.query.find(mark)
        if at >= 0:
            context.fault(
                "template-in-query",
                "the `query` of an operation is constant text, never a template",
                "graphql",
                "query",
                hint="declare a variable there, `query ($id: ID!) …`, and give it in `variables`",
                offset=at,
            )
            return


def _errors(said: Any) -> list[dict[str, Any]]:
    """What went wrong, without what servers tell of themselves, such as stack traces."""
    errors = said.get("errors") if isinstance(said, dict) else None
    if not errors:
        return []
    listed = errors if isinstance(errors, list) else [errors]
    return [_error(each) for each in listed[:_MOST_ERRORS]]


def _error(error: Any) -> dict[str, Any]:
    said = error if isinstance(error, dict) else {}
    message = said.get("message", error if isinstance(error, str) else None)
    made = {"message": _shown(message) if isinstance(message, str) else "an error without a word"}
    if isinstance(path := said.get("path"), list):
        made["path"] = ".".join(map(str, path[:20]))[:_LONGEST]
    extensions = said.get("extensions")
    code = extensions.get("code") if isinstance(extensions, dict) else None
    return {**made, "code": _shown(code)} if isinstance(code, str) else made


def _shown(text: str) -> str:
    """The start of a text, on one line, with what would not show escaped."""
    plain = "".join(c if c.isprintable() else " " if c in "\n\t" else ascii(c)[1:-1] for c in text)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def _told(errors: list[dict[str, Any]]) -> str:
    told = "; ".join(each["message"] for each in errors[:_MOST_TOLD])
    return f"{told}; …" if len(errors) > _MOST_TOLD else told


def _failure(errors: list[dict[str, Any]], said: dict[str, Any], status: int) -> BindingError:
    details: dict[str, Any] = {"errors": errors}
    if said.get("data") is not None:
        details["data"] = said["data"]
    return BindingError(_told(errors), status=status, details=details, body=said)
