"""Small OpenAPI documents, and calls of their tools over the wire."""

import json
from contextlib import asynccontextmanager

from toolrt.catalog.openapi.mapping import Options, map_document
from toolrt.testing import open_files

ALLOWED = "default: allow\n"


def document(paths=None, *, openapi="3.0.3", **more):
    """A document with these paths; `components` and the like go beside them."""
    return {
        "openapi": openapi,
        "info": {"title": "T", "version": "1"},
        "paths": paths or {},
        **more,
    }


def operation(*parameters, method="get", path="/x", **more):
    """A document with one operation, `op`."""
    made = {"operationId": "op", "parameters": list(parameters), "responses": {}, **more}
    return document({path: {method: made}}, servers=[{"url": "https://api.example.com"}])


def parameter(name, place="query", schema=None, **more):
    needed = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, "schema": schema or {"type": "string"}, **needed, **more}


def with_body(schema, kind="application/json", *, required=True, method="post", **more):
    """A document whose one operation has a body."""
    body = {"required": required, "content": {kind: {"schema": schema, **more.pop("media", {})}}}
    return operation(method=method, requestBody=body, **more)


def mapped(data, **options):
    return map_document(data, Options("api", **options))


def only(data, **options):
    """The one tool of a document, as a file could say it."""
    made = mapped(data, **options)
    assert len(made.tools) == 1, made.unmapped
    return made.tools[0].written


def unmapped(data, **options):
    return [(each.what, each.pointer) for each in mapped(data, **options).unmapped]


@asynccontextmanager
async def opened(data, url, *, source="", **files):
    """A project whose source `api` is the document, at `url`."""
    tools = f"sources:\n  api:\n    openapi: {{spec: api.json, base_url: '{url}'}}\n{source}"
    tools = f"defaults: {{hitl: none}}\n{tools}"  # else people are asked about what is foreign
    texts = {"tools.d/api.yaml": tools, "policies.d/p.yaml": ALLOWED, "api.json": json.dumps(data)}
    async with open_files({**texts, **files}) as rt:
        yield rt
