"""Documents to tools: names, effects, texts, addresses, credentials, and what is left out."""

import pytest

from tests.openapi_documents import (
    document,
    mapped,
    only,
    operation,
    parameter,
    unmapped,
    with_body,
)
from toolrt.catalog.openapi.names import argument_name, own_spelling

SERVERS = [{"url": "https://api.example.com/v1/"}]


def names(paths, **options):
    return [tool.name for tool in mapped(document(paths), **options).tools]


@pytest.mark.parametrize(
    ("operation_id", "name", "own"),
    [
        ("listPets", "listPets", "list_pets"),
        ("repos/list-for-user", "repos_list-for-user", "repos_list_for_user"),
        ("Get HTTP2Status", "Get_HTTP2Status", "get_http2_status"),
        ("pets.list", "pets_list", "pets_list"),
        ("", "get_pets_by_id", "get_pets_by_id"),
        ("日本", "get_pets_by_id", "get_pets_by_id"),
    ],
)
def test_a_tool_is_called_by_its_operation_or_by_its_place(operation_id, name, own):
    paths = {"/pets/{id}": {"get": {"operationId": operation_id}}}

    assert names(paths) == [name]
    assert names(paths, spelling=own_spelling) == [own]


def test_two_operations_of_one_name_are_told_and_the_second_is_called_by_its_place():
    paths = {"/a": {"get": {"operationId": "x"}}, "/b": {"put": {"operationId": "x"}}}

    assert names(paths) == ["x", "put_b"]
    assert ("name", "/paths/~1b/put/operationId") in unmapped(document(paths))


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("q", "q"), ("X-Trace", "X_Trace"), ("filter[name]", "filter_name"), ("1st", "p_1st"),
        ("caller", "caller_"), ("if", "if_"), ("$top", "top"), ("日", "p"), ("a" * 80, "a" * 64),
        ("__x", "x"),
    ],
)  # fmt: skip
def test_an_argument_has_a_name_that_templates_can_say(name, argument):
    assert argument_name(name) == argument


@pytest.mark.parametrize(
    ("method", "effect"),
    [("get", "read"), ("head", "read"), ("post", "write"), ("put", "write"), ("patch", "write"),
     ("options", "write"), ("delete", "irreversible")],
)  # fmt: skip
def test_the_method_says_the_effect(method, effect):
    found = only(operation(method=method))

    assert (found["effect"], found["http"]["method"]) == (effect, method.upper())


def test_a_tool_has_tags_and_says_when_it_is_deprecated():
    found = only(operation(tags=["pets"], deprecated=True))

    assert (found["tags"], "deprecated" in found) == (["pets"], True)


def test_a_description_is_the_summary_and_what_fits_of_the_text():
    long = "First [sentence](https://x.example). " + "More of it. " * 100
    found = only(operation(summary="List pets", description=f"**Bold**\n\n{long}"))["description"]

    assert found.startswith("List pets.\n\n**Bold**\n\nFirst sentence. More of it.")
    assert found.endswith("it.")
    assert len(found) <= 800


def test_an_operation_without_any_text_says_what_it_calls():
    assert only(operation())["description"] == "GET /x"


def test_a_default_of_the_service_is_told_and_not_filled_in():
    data = operation(
        parameter("n", schema={"type": "integer", "default": 30}, description="Page size")
    )

    assert only(data)["parameters"]["n"] == {
        "type": "integer",
        "description": "Page size Default: 30.",
        "required": False,
    }


def test_parameters_of_the_path_item_count_and_the_operations_own_win():
    data = operation(parameter("a", schema={"type": "integer"}))
    data["paths"]["/x"]["parameters"] = [parameter("a"), parameter("b")]
    found = only(data)["parameters"]

    assert (found["a"]["type"], found["b"]["type"]) == ("integer", "string")


def test_a_parameter_of_the_path_that_nobody_declares_is_a_text():
    found = only(operation(path="/x/{id}"))

    assert (found["parameters"], found["http"]["url"]) == ({"id": "string"}, "/x/{{ id }}")
    assert unmapped(operation(path="/x/{id}")) == [("parameter", "/paths/~1x~1{id}/get")]


@pytest.mark.parametrize(
    "written",
    [
        parameter("c", "cookie"),
        parameter("q", schema={"type": "object", "additionalProperties": True}),
        parameter("q", schema={"type": "object"}, explode=False),
        parameter("q", schema={"anyOf": [{"type": "array"}, {"type": "string"}]}, explode=False),
        parameter("q", style="pipeDelimited"),
        {"name": "q", "in": "query", "content": {"application/xml": {}}},
    ],
)
def test_a_parameter_that_cannot_be_written_is_left_out_and_told(written):
    assert "parameters" not in only(operation(written))
    assert unmapped(operation(written)) == [("parameter", "/paths/~1x/get/parameters/0")]
    assert mapped(operation({**written, "required": True})).tools == []


@pytest.mark.parametrize("style", ["matrix", "label"])
def test_an_operation_whose_path_needs_another_style_is_no_tool(style):
    data = operation(parameter("id", "path", style=style), path="/x/{id}")

    assert unmapped(data) == [("operation", "/paths/~1x~1{id}/get")]


@pytest.mark.parametrize("kind", ["application/xml", "application/octet-stream", "image/png"])
def test_a_body_that_cannot_be_written_costs_the_operation_only_where_it_is_required(kind):
    data = with_body({"type": "string", "format": "binary"}, kind)
    free = with_body({"type": "string", "format": "binary"}, kind, required=False)

    assert mapped(data).tools == []
    assert (len(mapped(free).tools), unmapped(free)[0][0]) == (1, "body")


def test_of_several_types_json_is_sent_and_the_others_are_told():
    schema = {"type": "object", "properties": {"a": {}}}
    data = with_body(schema, "application/xml")
    content = data["paths"]["/x"]["post"]["requestBody"]["content"]
    content["application/json"] = {"schema": schema}

    assert only(data)["http"]["json"] == {"a": "{{ a }}"}
    assert unmapped(data) == [("body", "/paths/~1x/post/requestBody/content/application~1xml")]


def test_a_body_that_may_be_left_out_but_needs_names_is_one_argument():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    found = only(with_body(schema, required=False))

    assert found["http"]["json"] == "{{ body }}"
    assert found["input_schema"]["properties"]["body"]["required"] == ["a"]


def test_an_object_that_is_composed_of_objects_is_flat_and_what_is_read_only_is_not_sent():
    pet = {"type": "object", "required": ["id", "name"],
           "properties": {"id": {"type": "integer", "readOnly": True}, "name": {"type": "string"}}}  # fmt: skip
    data = with_body(
        {
            "allOf": [
                {"$ref": "#/components/schemas/Pet"},
                {"properties": {"tag": {"type": "string"}}},
            ]
        }
    )
    data["components"] = {"schemas": {"Pet": pet}}

    assert only(data)["http"]["json"] == {"name": "{{ name }}", "tag": "{{ tag }}"}
    assert only(data)["parameters"] == {
        "name": "string",
        "tag": {"type": "string", "required": False},
    }


def test_recursive_schemas_stay_recursive():
    node = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
    }
    data = with_body(
        {"type": "object", "properties": {"root": {"$ref": "#/components/schemas/Node"}}}
    )
    data["components"] = {"schemas": {"Node": node}}
    schema = only(data)["input_schema"]

    assert schema["properties"]["root"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "string", "enum": [1, 2]}, {"type": "string", "enum": ["1", "2"]}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"allOf": [{"type": "string"}], "nullable": True}, {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
        ({"type": "file"}, {"type": "string"}),
        ({"type": "string", "format": "timezone", "example": "x", "xml": {}}, {"type": "string"}),
        ({"type": "string", "pattern": "(?=a)"}, {"type": "string"}),
        ({"const": 1}, {"const": 1}),
    ],
)  # fmt: skip
def test_schemas_become_those_of_2020_12(written, made):
    found = only(operation(parameter("q", schema=written)))["parameters"]["q"]

    assert (
        {k: v for k, v in found.items() if k != "required"} == made
        if isinstance(found, dict)
        else made == {"type": found}
    )


def test_an_answer_is_described_without_what_a_service_slightly_off_would_break():
    schema = {"type": "object", "required": ["a"], "additionalProperties": False,
              "properties": {"a": {"type": "string", "enum": ["x"], "pattern": "x"}}}  # fmt: skip
    data = operation(responses={"200": {"content": {"application/json": {"schema": schema}}}})

    assert only(data)["output_schema"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }


def test_callbacks_links_and_webhooks_are_told():
    data = operation(
        callbacks={"done": {}}, responses={"200": {"links": {"next": {}}}}, method="post"
    )
    data["webhooks"] = {"new": {}}

    assert unmapped(data) == [
        ("other", "/paths/~1x/post/callbacks/done"),
        ("other", "/paths/~1x/post/responses/200/links/next"),
        ("other", "/webhooks/new"),
    ]


def test_servers_have_their_variables_filled_in_and_operations_may_have_their_own():
    servers = [
        {
            "url": "https://{r}.example.com/{v}",
            "variables": {"r": {"default": "eu"}, "v": {"default": "v2"}},
        }
    ]
    paths = {"/a": {"get": {}}, "/b": {"get": {"servers": [{"url": "https://up.example.com"}]}}}
    found = mapped(document(paths, servers=servers))

    assert [each["url"] for each in found.targets.values()] == [
        "https://eu.example.com/v2",
        "https://up.example.com",
    ]
    assert [tool.written["http"]["target"] for tool in found.tools] == list(found.targets)


@pytest.mark.parametrize("servers", [[], [{"url": "/v1"}], [{"url": "https://{x}"}]])
def test_without_an_address_its_tools_cannot_be_called_and_say_what_to_write(servers):
    found = mapped(document({"/x": {"get": {}}}, servers=servers))

    assert found.tools[0].blocked.endswith("say `base_url` or `target`")


SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "key2": {"type": "apiKey", "in": "header", "name": "X-Other"},
    "param": {"type": "apiKey", "in": "query", "name": "api_key"},
    "sid": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "token": {"type": "http", "scheme": "Bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "digest": {"type": "http", "scheme": "digest"},
    "tls": {"type": "mutualTLS"},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://id.example.com"},
    "code": {"type": "oauth2", "flows": {"authorizationCode": {}}},
    "machine": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://id.example.com/t"}}},
    "evil": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "http://169.254.169.254/"}}},
}  # fmt: skip


def secured(*security):
    paths = {"/x": {"get": {"security": list(security)}}}
    found = mapped(document(paths, servers=SERVERS, components={"securitySchemes": SCHEMES}))
    target = found.targets[found.tools[0].written["http"]["target"]]
    return {k: v for k, v in target.items() if k != "url"}, found.tools[0].blocked


@pytest.mark.parametrize(
    ("scheme", "auth"),
    [
        ("key", {"api_key": {"header": "X-Key", "value": "${secret:api_key}"}}),
        ("param", {"api_key": {"query": "api_key", "value": "${secret:api_param}"}}),
        ("sid", {"api_key": {"cookie": "sid", "value": "${secret:api_sid}"}}),
        ("token", {"bearer": "${secret:api_token}"}),
        ("oidc", {"bearer": "${secret:api_oidc}"}),
        ("code", {"bearer": "${secret:api_code}"}),
        ("evil", {"bearer": "${secret:api_evil}"}),
        ("basic", {"basic": {"username": "${secret:api_basic_username}", "password": "${secret:api_basic_password}"}}),
        (
            "machine",
            {
                "oauth2": {
                    "token_url": "https://id.example.com/t",
                    "client_id": "${secret:api_machine_client_id}",
                    "client_secret": "${secret:api_machine_client_secret}",
                    "scopes": ["read"],
                }
            },
        ),
    ],
)  # fmt: skip
def test_a_security_scheme_becomes_the_auth_of_a_target_with_a_secret(scheme, auth):
    scopes = ["read", "{{ x }}"] if scheme == "machine" else []

    assert secured({scheme: scopes}) == ({"auth": auth}, None)


def test_of_alternatives_the_first_that_can_be_said_counts_and_none_at_all_the_least():
    assert secured({}, {"digest": []}, {"token": []})[0] == {
        "auth": {"bearer": "${secret:api_token}"}
    }
    assert secured({"digest": []}, {}) == ({}, None)
    assert secured() == ({}, None)


def test_keys_that_are_needed_beside_another_are_headers_of_the_target():
    target, _ = secured({"key": [], "token": [], "key2": []})

    assert target == {
        "auth": {"bearer": "${secret:api_token}"},
        "headers": {"X-Key": "${secret:api_key}", "X-Other": "${secret:api_key2}"},
    }


@pytest.mark.parametrize("scheme", ["digest", "tls", "nowhere"])
def test_a_tool_whose_scheme_cannot_be_said_cannot_be_called(scheme):
    assert secured({scheme: []})[1].endswith("declare a target, and say `target`")


def test_operations_with_other_needs_have_targets_of_their_own():
    paths = {"/a": {"get": {}}, "/b": {"get": {"security": []}}, "/c": {"get": {}}}
    data = document(
        paths, servers=SERVERS, security=[{"key": []}], components={"securitySchemes": SCHEMES}
    )
    found = mapped(data)

    assert [tool.written["http"]["target"] for tool in found.tools] == ["api", "api_open", "api"]
    assert "auth" not in found.targets["api_open"]


def test_a_target_of_the_project_stands_for_address_and_credentials():
    data = document(
        {"/a": {"get": {}}}, security=[{"digest": []}], components={"securitySchemes": SCHEMES}
    )
    found = mapped(data, target="mine")

    assert (found.targets, found.tools[0].written["http"]["target"], found.tools[0].blocked) == (
        {},
        "mine",
        None,
    )


def test_the_same_document_gives_the_same_tools():
    data = operation(parameter("q"), tags=["a"])

    assert mapped(data) == mapped(data)


def test_a_report_counts_and_lists():
    data = operation(parameter("c", "cookie"), path="/a~b/{id}")
    found = mapped(data)

    assert found.summary() == "2 parameters"
    assert found.document() == {
        "title": "T",
        "openapi": "3.0.3",
        "operations": 1,
        "tools": 1,
        "unmapped": [
            {
                "what": "parameter",
                "pointer": "/paths/~1a~0b~1{id}/get",
                "reason": "`id` of its path is not declared: a text",
            },
            {
                "what": "parameter",
                "pointer": "/paths/~1a~0b~1{id}/get/parameters/0",
                "reason": "cookies are not sent, but for those of a security scheme",
            },
        ],
    }
