"""The schemas for editors: valid, and of one mind with `check` about good files and bad ones."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from textwrap import dedent, indent
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner
from manifest.key_case import POLICIES, PROJECT, TOOLS, found, right, with_mark
from manifest.key_cases import LATER, WORKS, WRONG

from toolrt.bindings.base import KINDS
from toolrt.catalog.editor import SHORT_KINDS, editor_schema
from toolrt.catalog.editor_words import SHORT
from toolrt.faces.cli.main import cli
from toolrt.loading.reader import read
from toolrt.manifest.longform import LONG

ROOT = Path(__file__).parent.parent.parent
WHICH = ("tools", "policies", "project")
SCHEMAS = {which: editor_schema(which) for which in WHICH}
VALIDATORS = {which: jsonschema_rs.Draft202012Validator(SCHEMAS[which]) for which in WHICH}


def tool_with(keys: str) -> dict[str, str]:
    """A file with the one tool `t` that has these keys, in braces or as a block."""
    return {TOOLS: f"tools:\n  t:\n{indent(dedent(keys).strip(), '    ')}\n"}


def which(file: str) -> str | None:
    """The schema that an editor uses for a file; None when it is no manifest."""
    if file == PROJECT:
        return "project"
    folder, _, name = file.partition("/")
    return (
        {"tools.d": "tools", "policies.d": "policies"}.get(folder)
        if name.endswith(".yaml")
        else None
    )


def refused(files: dict[str, str]) -> list[str]:
    """What the schemas say about the manifests among the files."""
    kinds = {file: which(file) for file in files}
    return [
        f"{file}: {error.instance_path} {error.message}"
        for file, kind in kinds.items()
        if kind is not None
        for error in VALIDATORS[kind].iter_errors(read(files[file].encode(), file).data)
    ]


@pytest.mark.parametrize("name", WHICH)
def test_a_schema_is_one(name: str) -> None:
    schema = SCHEMAS[name]

    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(references(schema)) <= {f"#/$defs/{one}" for one in schema["$defs"]}


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [ref for one in schema for ref in references(one)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [ref for one in schema.values() for ref in references(one)]


@pytest.mark.parametrize("name", WHICH)
def test_the_command_line_prints_it(name: str) -> None:
    done = CliRunner().invoke(cli, ["schema", name])

    assert json.loads(done.stdout) == SCHEMAS[name]


def test_every_short_form_is_known() -> None:
    models = {key.title().replace("_", "") for key in LONG.keys() - SHORT_KINDS.keys()}

    others = {"As", "OpenApiSource", "PythonSource", "PromptArgument", "PromptMessage"}
    assert SHORT.keys() == models | others
    assert SHORT_KINDS.keys() == KINDS.keys() & LONG.keys()


FOLDERS = [ROOT, *sorted(path.parent.parent for path in ROOT.glob("examples/*/tools.d/*.yaml"))]


@pytest.mark.parametrize("folder", dict.fromkeys(FOLDERS), ids=lambda folder: folder.name)
def test_the_manifests_of_this_repository_are_judged_as_check_does(folder: Path) -> None:
    paths = [
        *folder.glob("tools.d/*.yaml"),
        *folder.glob("policies.d/*.yaml"),
        *folder.glob(PROJECT),
    ]
    files = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}

    assert files
    assert bool(refused(files)) == (folder.name == "diagnostics")


@pytest.mark.parametrize("case", [*WORKS, *LATER], ids=lambda case: case.key.split()[0])
def test_what_check_takes_the_schema_takes(case: Any) -> None:
    files = right(case.files) if case in WORKS else with_mark(case.files)[0]

    assert refused(files) == []


BEYOND_SHAPE = {
    "bad-pattern",
    "bad-default", "bad-reference", "bad-schema", "bad-uri", "duplicate-rule", "file-not-found",
    "hitl-by-pattern", "import-failed", "no-policy", "no-such-tool", "two-defaults", "type-mismatch",
    "invalid-condition", "invalid-folder", "invalid-header", "invalid-select", "invalid-url",
    "no-callable", "one-body", "program-not-constant", "reference-in-argv", "reserved-header",
    "pages-of-a-write", "signature-drift", "template-in-query", "template-in-script", "two-schemas", "unknown-anchor", "unknown-keyword",
    "unknown-name", "unknown-target", "unreadable-schema", "unsupported", "value-in-host",
    "needs-cache", "unfit-cache", "unknown-server", "weak-key",
}  # fmt: skip
"""Codes of faults that only names, files, code or several values together can tell."""

LAYERED = {
    "tool.description", "tool.hitl.mode", "mcp.server", "provider.vendor",
    "tool.idempotency_key.value", "tool.rate.per", "tool.cache.ttl", "tool.verify.applied_when",
    "tool.poll.tool", "http.url", "http.method", "http.body.type", "http.graphql.query",
    "http.paginate",
    "command.argv",
}  # fmt: skip
"""Keys that may be missing in a tool, because another layer or the code may bring them."""

LEFT_TO_CHECK = {
    ("agent.http", "unknown-key"),
    ("agent.input", "wrong-type"),
    ("project.serve.hosts", "invalid-value"),
    ("project.serve.origins", "invalid-value"),
    ("tool.timeout.total", "out-of-range"),  # 0s
    ("tool.hitl.ttl", "out-of-range"),
    ("tool.breaker.recovery", "out-of-range"),
    ("tool.rate.per", "out-of-range"),
    ("tool.cache.ttl", "out-of-range"),
    ("tool.poll.every", "out-of-range"),
    ("policies.approval.ttl", "out-of-range"),
    ("policies.approval.execute_by", "out-of-range"),
    ("project.identities", "invalid-value"),  # the same proof twice
    ("project.credentials.header", "invalid-value"),  # one that says who calls
    ("project.serve.public_url", "invalid-value"),  # a URL with a path
    ("project.serve.auth.jwt.jwks", "invalid-value"),  # a URL that is not private
    ("http.allow_private", "invalid-value"),  # whether a text is a network
    ("target.allow_private", "invalid-value"),
    ("http.method", "invalid-value"),  # of GraphQL
    ("command.env", "bad-name"),
    ("shell.env", "bad-name"),
    ("python.call", "not-a-name"),  # what it may be hangs on `object`
    *((key, "missing-key") for key in LAYERED),
}


def test_what_check_refuses_for_its_shape_the_schema_refuses() -> None:
    shapes = [case for case in WRONG if case.code not in BEYOND_SHAPE]
    let_through = [case for case in shapes if not refused(with_mark(case.files)[0])]

    assert {(case.key, case.code) for case in let_through} == LEFT_TO_CHECK


ECHO = "command: [echo, hello]"
GOOD = {
    "nothing": {TOOLS: ""},
    "keys without values": {TOOLS: "namespace:\ndefaults:\ntargets:\ntools:\n", PROJECT: "vars:\n"},
    "scalars as texts": tool_with(f"{{description: 3, version: 1.10, tags: [1, yes], {ECHO}}}"),
    "arguments that are numbers": tool_with("{description: T., command: [sleep, 0, {-n: 3}]}"),
    "a kind that is reset": tool_with(f"{{description: T., http: null, {ECHO}}}"),
    "values that are reset": tool_with(
        f"{{description: T., timeout: null, retry: {{attempts: null}}, result: {{select: null}}, {ECHO}}}"
    ),
    "what defaults bring": {
        TOOLS: "defaults: {description: T., http: {url: https://example.com, method: POST}}\n"
        "tools:\n  t: {http: {json: {a: 1}}}\n"
    },
    "defaults of several kinds": {
        PROJECT: "defaults: {timeout: 5s, http: {target: a}, command: {cwd: .}, shell: {output: json}}"
    },
    "short forms": tool_with(
        f"{{description: T., timeout: 5s, retry: none, hitl: none, parameters: {{}}, {ECHO}}}"
    ),
    "short forms of limits": {
        TOOLS: "tools:\n"
        f"  t: {{description: T., effect: read, cache: 5m, rate: 60/1m, fallback: u, {ECHO}}}\n"
        f"  u: {{description: U., effect: read, {ECHO}}}\n"
    },
    "the short form of a key": tool_with(
        "{description: T., parameters: {a: string}, idempotency_key: '{{ a }}',"
        " command: [echo, '--k={{ call.idempotency_key }}']}"
    ),
    "no kind for somebody outside": tool_with("{description: T., hitl: external}"),
    "parameters": tool_with(
        """
        description: T.
        command: [echo, --, "{{ a }}", "{{ b }}", "{{ c }}", "{{ d }}", "{{ e }}"]
        parameters:
          a: string
          b: {type: [integer, "null"], required: false, minimum: 1, x-note: hello}
          c: {enum: [x, y], default: x}
          d: {type: array, items: {type: string, format: path}, root: ., minItems: 1}
          e: {from: caller.claims.team}
          f: {type: object, properties: {g: {type: string}}, required: [g]}
        """
    ),
    "a whole schema": tool_with(
        """
        description: T.
        python: kit:echo
        input_schema:
          $schema: https://json-schema.org/draft/2020-12/schema
          type: object
          properties: {a: {$ref: "#/$defs/a"}, b: {type: string, default_from: caller.tenant}}
          required: [a]
          additionalProperties: false
          $defs: {a: {oneOf: [{type: string}, {type: integer}]}}
        """
    ),
    "anchors": {
        TOOLS: "x-quick: &quick {timeout: 5s}\n"
        "tools:\n  t: {description: T., <<: *quick, command: [echo]}\n"
    },
    "a rule": {POLICIES: "rules: [{id: a, decide: deny, tools: ['*']}]\ndefault: allow\n"},
    "settings with short forms": {
        POLICIES: "settings: [{tools: [t], timeout: 5s, retry: none, rate: 60/1m, cache: 5m, hitl: none}]"
    },
    "a project": {PROJECT: "secrets: [env, {files: .}, {command: [pass, show]}]\nvars: {a: [1]}\n"},
}

BAD = {
    "a file that is a list": {TOOLS: "- a\n"},
    "unknown key of a file": {TOOLS: "toools: {}\n"},
    "unknown key of a tool": tool_with(f"{{description: T., timeuot: 5s, {ECHO}}}"),
    "unknown key of a kind": tool_with("{description: T., command: {argv: [echo], cdw: .}}"),
    "unknown key of defaults": {TOOLS: "defaults: {http: {targt: a}}\n"},
    "unknown key of a target": {TOOLS: "targets: {a: {url: https://example.com, hedaers: {}}}\n"},
    "unknown key of a rule": {POLICIES: "rules: [{id: a, decide: deny, tools: ['*'], wen: a}]\n"},
    "unknown key of a project": {PROJECT: "tool_dir: a\n"},
    "wrong type": tool_with(f"{{description: T., tags: a, {ECHO}}}"),
    "wrong type of a kind": tool_with("{description: T., http: [a]}"),
    "wrong enum": tool_with(f"{{description: T., effect: reads, {ECHO}}}"),
    "text for a flag": tool_with(f"{{description: T., enabled: no, {ECHO}}}"),
    "two kinds": tool_with(f"{{description: T., shell: ls, {ECHO}}}"),
    "no kind": tool_with("{description: T.}"),
    "a duration without unit": tool_with(f"{{description: T., timeout: 10, {ECHO}}}"),
    "a duration in words": tool_with(f"{{description: T., timeout: 10 seconds, {ECHO}}}"),
    "a size without unit": tool_with(f"{{description: T., result: {{max_size: 50}}, {ECHO}}}"),
    "a number out of range": tool_with(f"{{description: T., retry: {{attempts: 0}}, {ECHO}}}"),
    "a command in one text": tool_with("{description: T., command: df -h}"),
    "a type that is none": tool_with(f"{{description: T., parameters: {{a: strng}}, {ECHO}}}"),
    "a parameter of templates": tool_with(
        f"{{description: T., parameters: {{vars: string}}, {ECHO}}}"
    ),
    "a whole schema for parameters": tool_with(
        f"{{description: T., parameters: {{type: object, properties: {{}}}}, {ECHO}}}"
    ),
    "a name in capitals": {TOOLS: "tools: {Loud: {description: T., command: [echo]}}\n"},
    "a namespace with a dot": {TOOLS: "namespace: a.b\n"},
    "two ways to be known": {
        TOOLS: "targets: {a: {url: https://example.com, auth: {bearer: a, python: b}}}\n"
    },
    "no way to be known": {TOOLS: "targets: {a: {url: https://example.com, auth: {}}}\n"},
    "a target without url": {TOOLS: "targets: {a: {redirects: true}}\n"},
    "a rule without id": {POLICIES: "rules: [{decide: deny, tools: ['*']}]\n"},
    "a rule that decides nothing": {POLICIES: "rules: [{id: a, tools: ['*']}]\n"},
    "a rule for no tool": {POLICIES: "rules: [{id: a, decide: deny, tools: []}]\n"},
    "an anchor in policies": {POLICIES: "x-a: 1\n"},
    "rules without value": {POLICIES: "rules:\n"},
    "a reason that is missing": tool_with(
        f"{{description: T., reject: [{{when: 'true'}}], {ECHO}}}"
    ),
    "a step without tool": tool_with("{description: T., steps: [{id: a}]}"),
    "a port that is none": {PROJECT: "serve: {port: 70000}\n"},
    "a place of secrets that is none": {PROJECT: "secrets: [vault]\n"},
}


VALUES = [
    None, True, 0, 1.5, "", "a", "5s", "50KB", "none", "read", "confirm", [], ["a"], [1], {},
    {"a": 1}, {"a": "b"},
]  # fmt: skip
KEYS = ["zzz", "when", "url", "tool", "value", "required"]


def steps_into(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for step, below in items:
        yield (*path, step)
        yield from steps_into(below, (*path, step))


def changed(data: Any, chance: Random) -> Any:
    """The same data with one value replaced, left out or added."""
    *way, last = chance.choice(list(steps_into(data)))
    at = data
    for step in way:
        at = at[step]
    how = chance.choice(("replace", "replace", "leave out", "add"))
    if how == "leave out":
        del at[last]
    elif how == "add" and isinstance(at, dict):
        at[chance.choice(KEYS)] = chance.choice(VALUES)
    else:
        at[last] = chance.choice(VALUES)
    return data


@pytest.mark.parametrize("seed", range(5))
def test_a_file_with_one_change_is_never_good_for_check_alone(seed: int) -> None:
    """Nor does checking it end in anything but diagnostics."""
    chance = Random(seed)
    for _ in range(60):
        files = dict(chance.choice([right(case.files) for case in WORKS]))
        file = chance.choice([each for each in files if which(each)])
        data = read(files[file].encode(), file).data
        files[file] = json.dumps(changed(data, chance)) if data else ""
        errors = [one for one in found(files) if one[0] == "error"]
        assert errors or not refused(files), files[file]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_file_is_good_for_both(name: str) -> None:
    assert [one for one in found(GOOD[name]) if one[0] == "error"] == []
    assert refused(GOOD[name]) == []


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_bad_for_both(name: str) -> None:
    assert [one for one in found(BAD[name]) if one[0] == "error"] != []
    assert refused(BAD[name]) != []
