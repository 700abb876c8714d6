"""`/openapi.json`: what can be asked, with an operation for each tool that the caller may see."""

import json
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from operator import is_
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt import __version__
from toolrt.catalog.snapshot import ToolEntry
from toolrt.dialects.base import DIALECTS
from toolrt.faces.http.bodies import (
    ApprovalsQuery,
    CallsQuery,
    DecisionBody,
    EventsQuery,
    GrantsQuery,
    InstructionsQuery,
    OutputQuery,
    ReloadBody,
    TurnBody,
    WaitQuery,
)
from toolrt.faces.http.looking import listed_tools
from toolrt.faces.http.openapi_shapes import SCHEMAS
from toolrt.faces.http.site import Site, caller_of
from toolrt.pipeline.searching import MOST

_COMPONENTS: Final = "#/components/schemas/"
_EVERYWHERE: Final = (400, 401, 403, 413, 429, 500, 503)
_OF_CALLS: Final = (404, 409, 415, 422, 504)
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key again has the answer of before, for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_ID: Final = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"},
}
_TEXT: Final = "text/plain"


def routes(site: Site) -> list[Route]:
    """The description, made anew for who sees other tools than who asked last."""
    seen: list[ToolEntry] = []
    written = b""

    async def described(request: Request) -> Response:
        nonlocal seen, written
        tools = [each.entry for each in listed_tools(site.runtime, caller_of(request))]
        if not written or len(tools) != len(seen) or not all(map(is_, tools, seen)):
            seen, written = tools, to_json(openapi(tools, site.access.starting.url))
        return Response(written, media_type="application/json")

    return [Route("/openapi.json", described)]


def openapi(tools: list[ToolEntry], url: str) -> dict[str, Any]:
    """OpenAPI 3.1 of a server with these tools."""
    schemas = dict(SCHEMAS)
    paths = dict(_fixed())
    for entry in tools:
        schemas[_name(entry)] = _rooted(entry.input_schema, _COMPONENTS + _name(entry))
        paths[f"/v1/tools/{entry.name}/call"] = {"post": _of_tool(entry)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "toolrt", "version": __version__},
        "servers": [{"url": url}],
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _name(entry: ToolEntry) -> str:
    return f"arguments.{entry.name}"


def _of_tool(entry: ToolEntry) -> dict[str, Any]:
    has_required = bool(entry.input_schema.get("required"))
    body: dict[str, Any] = {
        "type": "object",
        "properties": {"arguments": {"$ref": _COMPONENTS + _name(entry)}},
        "additionalProperties": False,
    }
    if has_required:
        body["required"] = ["arguments"]
    return {
        "operationId": f"call.{entry.name}",
        "summary": entry.title or entry.name,
        "description": entry.description,
        "tags": list(entry.tags),
        "deprecated": bool(entry.deprecated),
        "parameters": [*_query(WaitQuery), _KEY],
        "requestBody": _json(body, required=True),
        "responses": {
            "200": {"description": "What the call came to.", **_json_of("Result")},
            "202": {"description": "It waits for a person.", **_json_of("Result")},
            **_problems(*_OF_CALLS),
        },
        "x-toolrt-effect": entry.effect,
    }


@cache
def _fixed() -> dict[str, Any]:
    """What every server has."""
    decision = _operation("decide", "Approval", 404, 409, 415, body=DecisionBody, on=[_ID])
    return {
        "/v1/tools": {"get": _operation("tools.list", "Tools", 422, on=_query_of_tools())},
        "/v1/tools/{id}": {"get": _operation("tools.show", "Tool", 404, on=[_ID])},
        "/v1/approvals": {
            "get": _operation("approvals.list", "Approvals", on=_query(ApprovalsQuery))
        },
        "/v1/approvals/{id}": {
            "get": _operation("approvals.show", "Approval", 404, on=[_ID, *_query(WaitQuery)])
        },
        "/v1/approvals/{id}/decision": {"post": decision},
        "/v1/approvals/{id}/cancel": {
            "post": _operation("approvals.cancel", "Approval", 404, 409, 415, on=[_ID])
        },
        "/v1/approvals/{id}/run": {
            "post": _operation("approvals.run", "Result", *_OF_CALLS, on=[_ID], more=(202,))
        },
        "/v1/grants": {"get": _operation("grants.list", "Grants", on=_query(GrantsQuery))},
        "/v1/grants/{id}/revoke": {
            "post": _operation("grants.revoke", "Grant", 404, 409, 415, on=[_ID])
        },
        "/v1/instructions": {
            "get": _operation("instructions", "Instructions", 404, on=_query(InstructionsQuery))
        },
        "/v1/calls": {"get": _operation("calls.list", "Entries", on=_query(CallsQuery))},
        "/v1/calls/{id}": {"get": _operation("calls.show", "Entries", 404, on=[_ID])},
        "/v1/calls/{id}/output": {
            "get": _operation("calls.output", "Output", 404, 416, on=[_ID, *_query(OutputQuery)])
        },
        "/v1/turns": {"post": _operation("turns", "Turn", 404, 409, 415, 422, body=TurnBody)},
        "/v1/events": {"get": _streamed("events", _query(EventsQuery))},
        "/v1/reload": {"post": _operation("reload", "Reload", 415, body=ReloadBody, more=(409,))},
        "/healthz": {"get": _plain("healthz")},
        "/readyz": {"get": _plain("readyz")},
        "/metrics": {"get": _plain("metrics")},
    }


def _operation(
    name: str,
    shape: str,
    *problems: int,
    body: type[BaseModel] | None = None,
    on: list[Any] | None = None,
    more: tuple[int, ...] = (),
) -> dict[str, Any]:
    """`shape` is what it answers; with `more`, by other statuses as well."""
    answers = {
        str(status): {"description": HTTPStatus(status).phrase, **_json_of(shape)}
        for status in (200, *more)
    }
    made: dict[str, Any] = {"operationId": name, "parameters": list(on or [])}
    if body is not None:
        made["requestBody"] = _json(body.model_json_schema(), required=body is not ReloadBody)
    made["responses"] = {**_problems(*problems), **answers}
    return made


def _plain(name: str) -> dict[str, Any]:
    answer = {"description": "OK", "content": {_TEXT: {"schema": {"type": "string"}}}}
    return {"operationId": name, "responses": {**_problems(), "200": answer}}


def _streamed(name: str, on: list[Any]) -> dict[str, Any]:
    answer = {"description": "Events.", "content": {"text/event-stream": {}}}
    return {"operationId": name, "parameters": on, "responses": {**_problems(), "200": answer}}


def _problems(*statuses: int) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": f"{_COMPONENTS}Problem"}}}
    return {
        str(status): {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted({*_EVERYWHERE, *statuses})
    }


def _json(schema: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def _json_of(shape: str) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": _COMPONENTS + shape}}}}


@cache
def _query(model: type[BaseModel]) -> list[dict[str, Any]]:
    """The parameters that `model` reads."""
    properties = model.model_json_schema()["properties"]
    return [
        {"name": name, "in": "query", "schema": _not_null(schema)}
        for name, schema in properties.items()
    ]


def _query_of_tools() -> list[dict[str, Any]]:
    text = {"type": "string"}
    vendors = {"type": "string", "enum": list(DIALECTS)}
    many = {"type": "integer", "minimum": 1, "maximum": MOST}
    schemas = {"tag": text, "namespace": text, "q": text, "k": many, "dialect": vendors}
    return [{"name": name, "in": "query", "schema": each} for name, each in schemas.items()]


def _not_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What is left away in a query is not null there."""
    made = {key: value for key, value in schema.items() if key not in {"default", "title"}}
    choices = [each for each in made.pop("anyOf", []) if each != {"type": "null"}]
    if len(choices) == 1:
        return {**made, **choices[0]}
    return {**made, "anyOf": choices} if choices else made


def _rooted(schema: Mapping[str, Any], place: str) -> Any:
    """The schema with its references as they are in a document that has it at `place`."""
    made = json.loads(json.dumps(schema))
    _re_root(made, place)
    return made


def _re_root(value: Any, place: str) -> None:
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            _re_root(each, place)
    if isinstance(value, dict) and isinstance(value.get("$ref"), str):
        value["$ref"] = value["$ref"].replace("#", place, 1)
