"""`sources: {NAME: {openapi: FILE}}`: from a file of the project to tools that can be called."""

import json

import pytest
import yaml

from tests.loopback import json_reply, loopback
from tests.openapi_documents import document, opened, operation, parameter
from toolrt.core.calls import Caller
from toolrt.runtime import load
from toolrt.testing import open_files, write_files

CALLER = Caller("ada")
PETS = document(
    {
        "/pets": {"get": {"operationId": "listPets", "tags": ["pets"], "summary": "List pets."}},
        "/pets/{id}": {
            "parameters": [parameter("id", "path")],
            "get": {"operationId": "getPet", "tags": ["pets"]},
            "delete": {"operationId": "removePet", "tags": ["admin"]},
        },
    },
    servers=[{"url": "https://pets.example.com/v1"}],
)
KEYED = {
    **PETS,
    "security": [{"key": []}],
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
}


def loaded(folder, data=PETS, spec="pets.json", *, options="", more="", files=()):
    source = f"sources:\n  pets:\n    openapi: {{spec: {spec}{options}}}\n{more}"
    text = data if isinstance(data, str) else json.dumps(data)
    return load(write_files(folder, {"tools.d/a.yaml": source, "pets.json": text, **dict(files)}))


def told(made):
    return [(one.code, one.path, one.severity) for one in made.diagnostics]


def test_a_document_yields_a_tool_for_each_operation(folder):
    made = loaded(folder)

    assert told(made) == []
    assert list(made.snapshot.tools) == ["pets.getPet", "pets.listPets", "pets.removePet"]
    entry = made.snapshot.tools["pets.listPets"]
    assert (entry.kind, entry.effect, entry.description) == ("http", "read", "List pets.")


def test_yaml_is_as_good_as_json(folder):
    text = yaml.safe_dump(PETS)
    made = loaded(folder, spec="pets.yaml", files={"pets.yaml": text}.items())

    assert list(made.snapshot.tools) == ["pets.getPet", "pets.listPets", "pets.removePet"]


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ("    include: [tag:pets]\n", ["getPet", "listPets"]),
        ("    exclude: ['tag:ad*']\n", ["getPet", "listPets"]),
        ("    include: ['get*', tag:admin]\n", ["getPet", "removePet"]),
        ("    include: [tag:pets]\n    exclude: [getPet]\n", ["listPets"]),
    ],
)
def test_tags_choose_tools_like_names(folder, keys, names):
    assert list(loaded(folder, more=keys).snapshot.tools) == [f"pets.{name}" for name in names]


def test_a_tag_that_no_tool_has_is_told(folder):
    made = loaded(folder, more="    include: [tag:pest]\n")

    assert [(one.code, one.hint) for one in made.diagnostics] == [
        ("no-such-tool", "did you mean `pets`?")
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("{", "it is no JSON"),
        ("openapi: 3.0.0\npaths:\n  a: [\n", "line "),
        ("!!python/object:x {}", "line 1"),
        ("a: &a [*a]\n", "line 1"),
        ('{"swagger": "2.0"}', "it is Swagger 2.0"),
        ("", "it does not say"),
    ],
)
def test_a_file_that_is_no_document_is_an_error_where_it_is_named(folder, data, why):
    made = loaded(folder, data)

    assert told(made) == [("unreadable-spec", "sources.pets.openapi.spec", "error")]
    assert why in made.diagnostics[0].message


def test_a_file_that_is_not_there_is_an_error(folder):
    assert told(loaded(folder, spec="nope.json")) == [
        ("unreadable-spec", "sources.pets.openapi.spec", "error")
    ]


def test_what_is_not_mapped_is_one_warning(folder):
    data = operation(parameter("c", "cookie"), parameter("d", "cookie"), path="/x/{y}")
    made = loaded(folder, data)

    assert told(made) == [("not-mapped", "sources.pets.openapi.spec", "warning")]
    assert made.diagnostics[0].message == "1 of 1 operations are tools; not mapped: 3 parameters"


def test_keys_for_servers_are_told_to_do_nothing(folder):
    made = loaded(folder, more="    on_change: warn\n    on_failure: fail\n")

    assert [one[:2] for one in told(made)] == [
        ("no-effect", "sources.pets.on_change"),
        ("no-effect", "sources.pets.on_failure"),
    ]


def test_a_target_that_nobody_declares_is_told_once(folder):
    made = loaded(folder, options=", target: api")

    assert [one[0] for one in told(made)] == ["unknown-target"]


def test_credentials_are_secrets_of_a_target_called_like_the_source(folder):
    made = loaded(folder, KEYED)
    entry = made.snapshot.tools["pets.getPet"]

    assert entry.target == "pets"
    assert "no secret pets_key" in entry.unavailable


def test_a_target_of_that_name_is_left_alone(folder):
    target = {"tools.d/t.yaml": "targets: {pets: {url: 'https://other.example.com'}}"}
    made = loaded(folder, KEYED, files=target.items())

    assert made.snapshot.tools["pets.getPet"].target == "pets_openapi"


def test_a_tool_without_an_address_is_unavailable_and_says_what_to_write(folder):
    made = loaded(folder, document({"/x": {"get": {"operationId": "x"}}}))

    assert "say `base_url` or `target`" in made.snapshot.tools["pets.x"].unavailable


@pytest.mark.anyio
async def test_a_credential_is_sent_and_never_shown(monkeypatch):
    monkeypatch.setenv("TOOLRT_SECRET_API_KEY", "s3cret-key")
    async with loopback(json_reply("[]")) as server, opened(KEYED, server.url) as rt:
        await rt.call("api.listPets", {})
        seen = await rt.preview("api.listPets", {})

    assert server.heard[0].headers["x-key"] == "s3cret-key"
    assert "s3cret" not in str(seen)


@pytest.mark.anyio
async def test_an_override_lies_over_what_the_document_says():
    override = (
        "    overrides:\n      getPet:\n        description: One pet.\n"
        "        parameters: {id: {type: integer}}\n        http: {query: {full: 'yes'}}\n"
    )
    async with (
        loopback(json_reply("{}")) as server,
        opened(PETS, server.url, source=override) as rt,
    ):
        await rt.call("api.getPet", {"id": 7})
        entry = rt.snapshot.tools["api.getPet"]

    assert (server.lines, entry.description) == (["GET /pets/7?full=yes"], "One pet.")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("rules", "more", "tool", "decision"),
    [
        ("", "", "listPets", "ask"),
        ("", "    overrides: {listPets: {effect: read}}\n", "listPets", "allow"),
        ("default: allow", "", "listPets", "ask"),
        ("default: allow", "", "removePet", "ask"),
        ("rules: [{id: r, decide: allow, tools: ['*'], when: tool.effect == 'read'}]", "", "listPets", "ask"),
    ],
)  # fmt: skip
async def test_x3_no_method_relaxes_a_policy(rules, more, tool, decision):
    data = {**PETS, "servers": [{"url": "https://a.example"}]}
    files = {
        "tools.d/a.yaml": f"sources:\n  pets:\n    openapi: p.json\n{more}",
        "p.json": json.dumps(data),
    }
    if rules:
        files["policies.d/p.yaml"] = rules
    async with open_files(files) as rt:
        entry = rt.snapshot.tools[f"pets.{tool}"]
        arguments = {} if tool == "listPets" else {"id": "1"}
        assert (await rt.explain(f"pets.{tool}", arguments, CALLER)).decision.verdict == decision
        assert entry.effect == ("read" if tool == "listPets" else "irreversible")


@pytest.mark.anyio
async def test_a_changed_document_counts_after_a_reload_and_an_unchanged_one_is_not_read_again(
    monkeypatch, folder
):
    import toolrt
    from toolrt.catalog.sources import openapi

    reads = []
    real = openapi.document_data
    monkeypatch.setattr(openapi, "document_data", lambda *a: reads.append(1) or real(*a))
    write_files(
        folder, {"tools.d/a.yaml": "sources: {pets: {openapi: p.json}}", "p.json": json.dumps(PETS)}
    )
    async with toolrt.open(folder) as rt:
        (folder / "tools.d/b.yaml").write_text("targets: {x: {url: 'https://x.example'}}\n")
        await rt.reload()
        before = len(reads)
        changed = json.dumps(PETS).replace("List pets.", "All pets.")
        (folder / "p.json").write_text(changed)
        await rt.reload()
        after = rt.snapshot.tools["pets.listPets"].description

    assert (before, len(reads), after) == (1, 2, "All pets.")
