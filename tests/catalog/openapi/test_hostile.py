"""Documents are foreign: nothing in one fills arguments, reads files, or chooses where calls go."""

import json
from contextlib import suppress

import pytest

from tests.loopback import json_reply, loopback
from tests.openapi_documents import (
    document,
    mapped,
    only,
    opened,
    operation,
    parameter,
    unmapped,
    with_body,
)
from toolrt.catalog.openapi.mapping import NoOpenApiError
from toolrt.runtime import load
from toolrt.testing import write_files

ACTING = ("{{ caller.tenant }}", "${secret:prod}", "${env:HOME}", "{% if x %}")


@pytest.mark.parametrize("text", ACTING)
def test_no_path_holds_a_template_or_a_reference(text):
    found = mapped(operation(path=f"/x/{text}")).tools

    assert [tool.written["http"]["url"] for tool in found] == (
        ["/x/{{ if_x }}"] if "%" in text else []
    )


def test_no_value_stands_behind_a_dollar():
    assert mapped(operation(parameter("x", "path"), path="/a/${x}")).tools == []


@pytest.mark.parametrize("text", ACTING)
def test_no_address_holds_a_template_or_a_reference(text):
    servers = [{"url": "https://a.example/{v}", "variables": {"v": {"default": text}}}]
    found = mapped(document({"/x": {"get": {}}}, servers=servers))

    assert [each["url"] for each in found.targets.values()] == ["https://unknown.invalid"]
    assert "is no http address" in found.tools[0].blocked


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080", "http://localhost/v1", "http://10.0.0.5", "http://[::1]:80/",
        "http://169.254.169.254/latest", "http://192.168.1.1", "http://100.100.100.200",
    ],
)  # fmt: skip
def test_an_address_inside_this_network_counts_only_where_the_project_names_it(url):
    found = mapped(document({"/x": {"get": {}}}, servers=[{"url": url}]))

    assert "inside this network" in found.tools[0].blocked
    assert mapped(document({"/x": {"get": {}}}), base_url=url).tools[0].blocked is None


def test_an_operation_with_a_server_of_its_own_is_no_tool_of_the_projects_target():
    paths = {"/x": {"get": {"servers": [{"url": "https://evil.example"}]}}}

    assert mapped(document(paths), target="mine").tools == []
    assert mapped(document(paths), base_url="https://api.example.com").tools == []


@pytest.mark.parametrize(
    "word",
    [{"from": "caller.tenant"}, {"default_from": "caller.principal"}, {"root": "/"}, {"format": "path"},
     {"format": "workspace-path"}, {"allow_dash": True}, {"sensitive": True}],
)  # fmt: skip
def test_words_of_toolrt_mean_nothing_in_a_document(word):
    schema = {"type": "string", **word}
    body = {"type": "object", "properties": {"b": schema, "c": {"type": "array", "items": schema}}}
    data = with_body(body)
    data["paths"]["/x"]["post"]["parameters"] = [parameter("q", schema=schema)]

    assert not {*word.items()} & {*only(data)["parameters"]["q"].items()}
    assert next(iter(word)) not in json.dumps(only(data)["parameters"])


@pytest.mark.anyio
async def test_a_field_of_a_form_sends_no_file_but_where_the_document_says_binary():
    schema = {"type": "object", "properties": {"f": {"type": "string", "format": "path"}}}
    data = with_body(schema, "multipart/form-data")
    async with loopback(json_reply("{}")) as server, opened(data, server.url) as rt:
        await rt.call("api.op", {"f": "api.json"})

    assert b"api.json\r\n" in server.heard[0].body
    assert b"filename" not in server.heard[0].body


@pytest.mark.parametrize(
    "ref", ["https://evil.example/s.json", "other.yaml#/X", "file:///etc/passwd", "#/nope", "../a.json"]
)  # fmt: skip
def test_nothing_is_fetched_and_what_leads_nowhere_takes_anything(ref):
    found = only(operation(parameter("q", schema={"$ref": ref})))

    assert found["parameters"] == {"q": {"required": False}}


def test_a_reference_of_an_operation_that_leads_out_is_told():
    data = document({"/x": {"$ref": "https://evil.example/x.json"}})

    assert unmapped(data) == [("other", "/paths/~1x")]


def test_references_in_a_circle_end():
    data = document({"/x": {"$ref": "#/paths/~1y"}, "/y": {"$ref": "#/paths/~1x"}})

    assert mapped(data).tools == []


def test_schemas_that_never_come_to_a_value_take_anything(folder):
    schemas = {
        "A": {"allOf": [{"$ref": "#/components/schemas/B"}]},
        "B": {"anyOf": [{"$ref": "#/components/schemas/A"}]},
        "C": {"$ref": "#/components/schemas/C"},
    }
    bodies = {name: {"$ref": f"#/components/schemas/{name}"} for name in schemas}
    data = with_body({"type": "object", "properties": bodies})
    data["components"] = {"schemas": schemas}

    assert _loads(folder, data)


def test_schemas_that_multiply_are_cut(folder):
    schemas = {"S0": {"type": "string"}}
    for number in range(1, 60):
        one = {"$ref": f"#/components/schemas/S{number - 1}"}
        schemas[f"S{number}"] = {"allOf": [one, one], "properties": {"a": one, "b": one}}
    data = with_body({"$ref": "#/components/schemas/S59"})
    data["components"] = {"schemas": schemas}

    assert _loads(folder, data)


def test_a_schema_as_deep_as_json_goes_is_cut(folder):
    schema = {"type": "string"}
    for _ in range(60):
        schema = {"type": "object", "properties": {"a": schema, "b": {}}}

    assert _loads(folder, with_body(schema))


def test_a_schema_that_is_too_large_costs_its_operation_alone():
    big = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(4000)}}
    data = with_body(big)
    data["paths"]["/y"] = {"get": {"operationId": "other"}}

    assert [tool.name for tool in mapped(data).tools] == ["other"]


@pytest.mark.parametrize("name", ["apikey_of_bank", "ap", "api", "bank_key", "../bank", "API-Bank"])
def test_no_scheme_names_a_secret_of_another_source(name):
    scheme = {"type": "http", "scheme": "bearer"}
    data = operation(security=[{name: []}])
    data["components"] = {"securitySchemes": {name: scheme}}
    bearer = mapped(data).targets["api"]["auth"]["bearer"]

    assert bearer.startswith("${secret:api_")


@pytest.mark.parametrize("kind", ["source", "target"])
@pytest.mark.parametrize("scheme", ["bank_token", "api_bank_token", "bank", "Bank-Token"])
def test_a_scheme_whose_secret_would_be_that_of_a_longer_name_costs_its_tools(folder, kind, scheme):
    more = {
        "source": "sources: {api_bank: {openapi: {spec: api.json, target: own}}}",
        "target": "targets: {api_bank: {url: 'https://bank.example.com'}}",
    }[kind]
    data = operation(security=[{scheme: []}])
    data["components"] = {"securitySchemes": {scheme: {"type": "http", "scheme": "bearer"}}}
    own = "targets: {own: {url: 'https://own.example.com'}}"
    files = {"tools.d/a.yaml": "sources: {api: {openapi: api.json}}", "tools.d/b.yaml": more}
    write_files(folder, {**files, "tools.d/c.yaml": own, "api.json": json.dumps(data)})
    made = load(folder, environ={"TOOLRT_SECRET_API_BANK_TOKEN": "of the bank"})

    assert "would be one of `api_bank`" in made.snapshot.tools["api.op"].unavailable


def test_a_longer_name_that_a_secret_does_not_begin_with_is_no_matter():
    data = operation(security=[{"banker": []}])
    data["components"] = {"securitySchemes": {"banker": {"type": "http", "scheme": "bearer"}}}
    made = mapped(data, others=frozenset({"api_bank", "ap", "other"}))

    assert made.targets["api"]["auth"] == {"bearer": "${secret:api_banker}"}


@pytest.mark.parametrize(
    "more",
    [
        "targets: {api_open: {url: 'https://bank.example.com'}}",
        "targets: {api_open_2: {url: 'https://x.example'}, api_open: {url: 'https://x.example'}}",
        "sources: {api_open: {openapi: {spec: bank.json}}}",
    ],
)
def test_no_tool_of_a_document_goes_to_the_target_of_somebody_else(folder, more):
    data = operation()
    data["paths"]["/y"] = {
        "get": {"operationId": "other", "servers": [{"url": "https://b.example.com"}]}
    }
    bank = {**operation(), "servers": [{"url": "https://bank.example.com"}]}
    files = {"tools.d/b.yaml": "sources: {api: {openapi: api.json}}", "tools.d/a.yaml": more}
    write_files(folder, {**files, "api.json": json.dumps(data), "bank.json": json.dumps(bank)})
    made = load(folder, environ={})
    tools = {name: made.files.targets[each.target] for name, each in made.snapshot.tools.items()}

    assert tools["api.op"].target.url == "https://api.example.com"
    assert tools["api.other"].target.url == "https://b.example.com"


def test_text_that_nobody_sees_is_taken_out_of_descriptions():
    data = operation(summary="Lists\u202e pets\U000e0041.", description="\u200bAll.")

    assert only(data)["description"] == "Lists pets.\n\nAll."


def test_names_of_headers_that_toolrt_sets_are_left_out():
    data = operation(parameter("Host", "header"), parameter("X\r\nY", "header"))

    assert "headers" not in only(data)["http"]
    assert [what for what, _ in unmapped(data)] == ["parameter", "parameter"]


@pytest.mark.parametrize(
    "data", [[], None, "x", {}, {"openapi": 3}, {"openapi": "4.0.0"}, {"swagger": "2.0"}]
)
def test_what_is_no_document_is_told(data):
    with pytest.raises(NoOpenApiError):
        mapped(data)


def test_capitals_and_dashes_alone_tell_no_two_tools_apart():
    paths = {
        "/a": {"get": {"operationId": "get-pet"}},
        "/b": {"get": {"operationId": "Get_Pet"}},
        "/c": {"get": {"operationId": "get-pet"}},
    }

    assert [tool.name for tool in mapped(document(paths)).tools] == ["get-pet", "get_b", "get_c"]


def _loads(folder, data):
    source = "sources: {api: {openapi: {spec: api.json, base_url: 'https://a.example'}}}"
    made = load(write_files(folder, {"tools.d/a.yaml": source, "api.json": json.dumps(data)}))
    assert made.ok, made.diagnostics
    return made.snapshot.tools


RICH = {
    "openapi": "3.0.3",
    "info": {"title": "T", "version": "1"},
    "servers": [{"url": "https://{h}.example.com", "variables": {"h": {"default": "api"}}}],
    "security": [{"k": [], "o": ["read"]}],
    "components": {
        "securitySchemes": {
            "k": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "o": {
                "type": "oauth2",
                "flows": {"clientCredentials": {"tokenUrl": "https://a.example.com/t"}},
            },
        },
        "schemas": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
    "paths": {
        "/a/{id}": {
            "parameters": [{"name": "id", "in": "path", "schema": {"type": "array", "items": {}}}],
            "get": {
                "operationId": "look",
                "tags": ["a"],
                "parameters": [
                    {"name": "q", "in": "query", "style": "form", "explode": True,
                     "schema": {"type": ["string", "null"], "enum": ["a"], "pattern": "a"}},
                    {"name": "j", "in": "query", "content": {"application/json": {"schema": {}}}},
                    {"name": "o", "in": "query", "schema": {"type": "object", "properties": {"x": {"type": "string"}}}},
                ],
                "responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}},
            },
            "post": {
                "servers": [{"url": "https://b.example.com"}],
                "requestBody": {"content": {"application/json": {"schema": {"allOf": [
                    {"$ref": "#/components/schemas/Pet"},
                    {"type": "object", "required": ["n"], "properties": {"n": {"anyOf": [{"minimum": 1}]}}},
                ]}}}},
            },
            "put": {
                "requestBody": {"content": {"application/x-www-form-urlencoded": {
                    "schema": {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}},
                    "encoding": {"l": {"style": "deepObject"}},
                }}},
            },
            "patch": {
                "requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {
                    "f": {"type": "string", "format": "binary"},
                    "g": {"type": "array", "items": {"type": "string", "format": "binary"}},
                }}}}},
            },
        }
    },
}  # fmt: skip
JUNK = ({"a": {}}, [[{}]], [1, {}], "x", 5, None, True, 1.5)


def _spoilt(value, junk):
    """The value with junk in place of each of its parts, one at a time."""
    yield junk
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: each} for each in _spoilt(part, junk))
    if isinstance(value, list):
        for at, part in enumerate(value):
            yield from ([*value[:at], each, *value[at + 1 :]] for each in _spoilt(part, junk))


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_part_of_a_document_that_is_something_else_breaks_the_mapping(junk):
    for data in _spoilt(RICH, junk):
        with suppress(NoOpenApiError):
            mapped(data)


@pytest.mark.parametrize("place", ["servers", "token"])
@pytest.mark.parametrize("path", ["/..", "/a/../b", "/%2e%2E/a", "/./a"])
def test_an_address_that_leads_elsewhere_costs_its_tools_and_not_the_project(folder, place, path):
    url = f"https://api.example.com{path}"
    more = {"servers": [{"url": url}]} if place == "servers" else {
        "security": [{"k": []}],
        "components": {"securitySchemes": {"k": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url}}}}},
    }  # fmt: skip
    files = {"tools.d/a.yaml": "sources: {api: {openapi: api.json}}"}
    write_files(folder, {**files, "api.json": json.dumps({**operation(), **more})})
    made = load(folder)

    assert [each for each in made.diagnostics if each.severity == "error"] == []
    assert [each.blocked is not None for each in made.snapshot.tools.values()] == [True]


@pytest.mark.parametrize("name", ["a\r\nX-Evil: 1", "a\u202eb", "a\x1b[31m"])
def test_why_a_tool_cannot_be_called_holds_nothing_that_acts_on_who_reads_it(name):
    scheme = {"type": "apiKey", "in": "header", "name": name}
    [tool] = mapped({
        **operation(), "security": [{"k": []}], "components": {"securitySchemes": {"k": scheme}},
    }).tools  # fmt: skip

    assert tool.blocked is not None
    assert tool.blocked.isprintable()


def test_a_type_of_nothing_is_taken_as_anything(folder):
    data = operation(parameter("v", schema={"type": []}))
    write_files(folder, {"tools.d/a.yaml": "sources: {api: {openapi: api.json}}", "api.json": json.dumps(data)})  # fmt: skip
    made = load(folder)

    assert [each for each in made.diagnostics if each.severity == "error"] == []
    assert made.snapshot.tools["api.op"].parameters.names == {"v"}
