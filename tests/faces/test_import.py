"""`toolrt import`: files of tools made once, which load as they are."""

import json
import sys

import pytest
import yaml

from tests.mcp_project import SERVER, lists, tool
from tests.openapi_documents import document, operation, parameter, with_body

PETS = document(
    {
        "/pets": {
            "get": {"operationId": "listPets", "summary": "List pets.", "tags": ["pets"]},
            "post": {
                "operationId": "addPet",
                "tags": ["admin"],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"type": "object", "properties": {"name": {"type": "string"}}}
                        }
                    },
                },
            },
        },
        "/pets/{id}": {"delete": {"operationId": "removePet", "parameters": [parameter("id", "path")]}},
    },
    servers=[{"url": "https://pets.example.com/v1"}],
    security=[{"petKey": []}],
    components={"securitySchemes": {"petKey": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    webhooks={"new": {}},
)  # fmt: skip


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "pets.v1.json"
    path.write_text(json.dumps(PETS))
    return path


def test_a_document_becomes_a_file_of_tools(invoke, spec):
    shown = invoke("import", "openapi", str(spec))

    assert shown.stdout.splitlines()[:3] == [
        "# yaml-language-server: $schema=../.toolrt/schema/tools.json",
        "# Made by `toolrt import openapi` of pets.v1.json: 3 of 3 operations.",
        "# It needs the secret pets_petkey, as TOOLRT_SECRET_PETS_PETKEY.",
    ]
    assert yaml.safe_load(shown.stdout) == {
        "namespace": "pets",
        "targets": {
            "pets": {
                "url": "https://pets.example.com/v1",
                "auth": {"api_key": {"header": "X-Key", "value": "${secret:pets_petkey}"}},
            }
        },
        "defaults": {"http": {"target": "pets"}},
        "tools": {
            "list_pets": {"description": "List pets.", "tags": ["pets"], "http": "/pets"},
            "add_pet": {
                "description": "POST /pets",
                "tags": ["admin"],
                "parameters": {"name": {"type": "string", "required": False}},
                "http": {"method": "POST", "url": "/pets", "json": {"name": "{{ name }}"}},
            },
            "remove_pet": {
                "description": "DELETE /pets/{id}",
                "effect": "irreversible",
                "parameters": {"id": "string"},
                "http": {"method": "DELETE", "url": "/pets/{{ id }}"},
            },
        },
    }


def test_what_is_in_no_tool_is_told_with_its_place(invoke, spec):
    assert invoke("import", "openapi", str(spec)).stderr == (
        "not mapped: other /webhooks/new: webhooks: requests that the service makes\n"
    )


def test_what_is_written_passes_check(invoke, spec, project):
    made = invoke("import", "openapi", str(spec), "--to", str(project / "tools.d/pets.yaml"))
    checked = invoke("check", "-o", "json")

    assert made.exit_code == 0
    assert made.stderr.endswith("pets.yaml\n")
    assert json.loads(checked.stdout)["errors"] == 0


def test_a_schema_of_any_depth_passes_check(invoke, project, tmp_path):
    deep = {"type": "string"}
    for _ in range(80):
        deep = {"type": "object", "properties": {"a": deep, "b": {}}}
    path = tmp_path / "deep.json"
    path.write_text(json.dumps(with_body({"type": "array", "items": deep})))
    made = invoke("import", "openapi", str(path), "--to", str(project / "tools.d/deep.yaml"))

    assert made.exit_code == 0, made.stderr
    assert json.loads(invoke("check", "-o", "json").stdout)["errors"] == 0


def test_nothing_is_written_over_what_is_there_but_by_force(invoke, spec, tmp_path):
    taken = tmp_path / "x.yaml"
    taken.write_text("mine")
    made = invoke("import", "openapi", str(spec), "--to", str(taken))

    assert (made.exit_code, taken.read_text()) == (2, "mine")
    assert "--force writes over it" in made.stderr
    assert invoke("import", "openapi", str(spec), "--to", str(taken), "--force").exit_code == 0
    assert taken.read_text().startswith("# yaml-language-server")
    assert sorted(each.name for each in tmp_path.iterdir() if "tmp" in each.name) == []


def test_a_link_is_not_written_through(invoke, spec, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("mine")
    link = tmp_path / "link.yaml"
    link.symlink_to(other)
    assert invoke("import", "openapi", str(spec), "--to", str(link)).exit_code == 2
    assert invoke("import", "openapi", str(spec), "--to", str(link), "--force").exit_code == 0

    assert other.read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--include", "tag:pets"), ["list_pets"]),
        (("--exclude", "tag:pets"), ["add_pet", "remove_pet"]),
        (("--include", "*_pet", "--exclude", "add*"), ["remove_pet"]),
    ],
)
def test_some_of_the_operations_can_be_chosen(invoke, spec, options, names):
    made = invoke("import", "openapi", str(spec), *options)

    assert list(yaml.safe_load(made.stdout)["tools"]) == names


def test_nothing_chosen_is_an_error_that_names_the_nearest(invoke, spec):
    made = invoke("import", "openapi", str(spec), "--include", "listPets")

    assert (made.exit_code, "did you mean `list_pets`?" in made.stderr) == (7, True)


def test_a_target_of_the_project_is_named_and_none_is_made(invoke, spec):
    made = yaml.safe_load(invoke("import", "openapi", str(spec), "--target", "mine").stdout)

    assert "targets" not in made
    assert made["defaults"] == {"http": {"target": "mine"}}


def test_another_name_is_that_of_namespace_target_and_secrets(invoke, spec):
    made = yaml.safe_load(invoke("import", "openapi", str(spec), "--name", "zoo").stdout)

    assert (made["namespace"], list(made["targets"])) == ("zoo", ["zoo"])
    assert made["targets"]["zoo"]["auth"]["api_key"]["value"] == "${secret:zoo_petkey}"


def test_a_document_without_an_address_needs_one(invoke, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document({"/x": {"get": {}}})))

    assert "--base-url" in invoke("import", "openapi", str(path)).stderr
    made = invoke("import", "openapi", str(path), "--base-url", "https://a.example/")
    assert yaml.safe_load(made.stdout)["targets"] == {"a": {"url": "https://a.example"}}


@pytest.mark.parametrize("text", ["{", "a: [", "[]", '{"swagger": "2.0"}'])
def test_a_file_that_is_no_document_is_told(invoke, tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    made = invoke("import", "openapi", str(path))

    assert (made.exit_code, "cannot be used" in made.stderr) == (2, True)


def test_too_large_a_file_is_not_written(invoke, tmp_path):
    big = {
        "type": "object",
        "properties": {f"p{n}": {"type": "string", "title": "x"} for n in range(2000)},
    }
    paths = {f"/{n}": with_body(big)["paths"]["/x"] for n in range(30)}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document(paths, servers=[{"url": "https://a.example"}])))

    assert "too large" in invoke("import", "openapi", str(path)).stderr


def test_a_program_gets_the_file_and_what_is_missing(invoke, spec):
    made = json.loads(invoke("import", "openapi", str(spec), "-o", "json").stdout)

    assert (made["operations"], made["tools"], list(made["manifest"]["tools"])) == (
        3, 3, ["list_pets", "add_pet", "remove_pet"],
    )  # fmt: skip
    assert made["unmapped"][0]["pointer"] == "/webhooks/new"


def test_texts_of_a_document_do_nothing_to_a_terminal(invoke, tmp_path):
    data = operation(parameter("c\x1b[31m", "cookie"), path="/x\x1b[2J", summary="\x1b[31mred")
    path = tmp_path / "a\x1b.json"
    path.write_text(json.dumps({**data, "paths": {**data["paths"], "/y": {"get": {}}}}))
    made = invoke("import", "openapi", str(path))

    assert "\x1b" not in made.stdout + made.stderr


ORDERS = '''\
"""Orders of a shop."""

from toolrt import tool


def place(item: str, copies: int = 1) -> dict:
    """Place an order."""
    return {"item": item, "copies": copies}


def undocumented(a: int) -> int:
    return a


class Desk:
    """A desk."""

    @tool(effect="read")
    def status(self, order: str) -> str:
        """Say how an order stands."""
        return order

    def close_order(self, order: str) -> str:
        """Close an order."""
        return order
'''


@pytest.mark.parametrize(
    ("named", "namespace", "tools"),
    [
        ("orders:place", "place", {"place": {"python": "orders:place", "effect": "write"}}),
        (
            "orders:undocumented",
            "undocumented",
            {
                "undocumented": {
                    "description": "Undocumented.",
                    "python": "orders:undocumented",
                    "effect": "write",
                }
            },
        ),
        (
            "orders:Desk",
            "desk",
            {
                "status": {"python": {"object": "orders:Desk", "call": "status"}},
                "close_order": {
                    "python": {"object": "orders:Desk", "call": "close_order"},
                    "effect": "write",
                },
            },
        ),
    ],
)
def test_d1_a_python_object_becomes_a_file_that_repeats_nothing_of_its_code(
    invoke, project, named, namespace, tools
):
    (project / "orders.py").write_text(ORDERS)
    made = invoke("import", "python", named, "--to", str(project / "tools.d/orders.yaml"))
    written = yaml.safe_load((project / "tools.d/orders.yaml").read_text())

    assert made.exit_code == 0, made.stderr
    assert written == {"namespace": namespace, "tools": tools}
    assert json.loads(invoke("check", "-o", "json").stdout)["errors"] == 0


@pytest.mark.parametrize("named", ["orders:nope", "nowhere:x", "orders:Desk.nope"])
def test_a_python_object_that_is_not_there_is_told(invoke, project, named):
    (project / "orders.py").write_text(ORDERS)
    made = invoke("import", "python", named)

    assert made.exit_code == 2
    assert made.stdout == ""


def test_the_tools_of_a_server_become_a_source_that_names_each(invoke, project):
    lists(project, tool("look", annotations={"readOnlyHint": True}), "put", {"name": "odd"})
    (project / "mcp_server.py").write_text(SERVER.read_text())
    (project / "toolrt.yaml").write_text("{}\n")
    command = ("--", sys.executable, "mcp_server.py")
    made = invoke("import", "mcp", "odd", "--to", str(project / "tools.d/odd.yaml"), *command)
    text = (project / "tools.d/odd.yaml").read_text()

    assert made.exit_code == 0, made.stderr
    assert "not mapped: odd" in made.stderr
    assert yaml.safe_load(text) == {
        "sources": {"odd": {"mcp": {"command": list(command[1:])}, "include": ["look", "put"]}}
    }
    assert "- look  # Do look. (says that it only reads)" in text
    assert json.loads(invoke("check", "-o", "json").stdout)["errors"] == 0


def test_a_server_that_does_not_answer_is_told_and_nothing_is_written(invoke, project):
    (project / "ends.py").write_text("")
    command = ("--", sys.executable, "ends.py")
    made = invoke("import", "mcp", "odd", "--to", str(project / "tools.d/odd.yaml"), *command)

    assert (made.exit_code, (project / "tools.d/odd.yaml").exists()) == (1, False)
    assert "cannot be reached" in made.stderr


def test_a_server_is_started_or_reached_in_one_way(invoke):
    assert invoke("import", "mcp", "odd").exit_code == 2
