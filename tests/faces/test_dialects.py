"""Tools and answers of vendors on the command line."""

import asyncio
import json
import shutil

import pytest

import toolrt
from toolrt.faces.cli.schema import complete, verb
from toolrt.testing import write_files

CALLS = [
    {
        "id": "c1",
        "type": "function",
        "function": {"name": "t_add", "arguments": '{"a": 1, "b": null}'},
    },
    {"id": "c2", "type": "function", "function": {"name": "t_fails", "arguments": "{}"}},
]
ANSWER = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": CALLS}}]}


@pytest.fixture
def answer(project):
    (project / "answer.json").write_text(json.dumps(ANSWER))
    return "answer.json"


def test_schema_prints_the_tools_of_a_request(invoke):
    shown = invoke("schema", "--dialect", "openai")

    tools = json.loads(shown.stdout)
    assert shown.exit_code == 0
    assert [each["function"]["name"] for each in tools] == ["t_add", "t_echo", "t_fails", "t_nap"]
    assert tools[0]["function"]["parameters"]["required"] == ["a", "b"]


def test_schema_prints_the_tools_that_are_named_only(invoke):
    tools = json.loads(invoke("schema", "--dialect", "anthropic", "t.echo", "t.add").stdout)

    assert [each["name"] for each in tools] == ["t_add", "t_echo"]


def test_schema_of_a_tool_that_is_none_tells_the_nearest(invoke):
    shown = invoke("schema", "--dialect", "openai", "t.ad")

    assert shown.exit_code == 7
    assert "did you mean `t.add`?" in shown.stderr


def test_r13_schema_explains_what_is_lost(invoke):
    shown = invoke("schema", "--dialect", "anthropic", "--explain")

    assert shown.stdout == "t.add b: `minimum` is told in the description\n"


def test_schema_says_that_something_is_lost_beside_the_tools(invoke):
    shown = invoke("schema", "--dialect", "anthropic")

    assert "1 difference from the schemas as written" in shown.stderr
    assert "toolrt schema --dialect anthropic --explain lists them" in shown.stderr


def test_schema_explains_that_nothing_is_lost(invoke):
    assert invoke("schema", "--dialect", "mcp", "--explain").stdout.startswith("nothing is lost")


def test_m2_r17_schema_prints_a_fingerprint_that_stays(invoke):
    first, second = (invoke("schema", "--dialect", "google", "--fingerprint") for _ in range(2))

    assert first.stdout == second.stdout
    assert len(first.stdout) == 65


def test_schema_as_json_is_the_whole_export(invoke):
    document = json.loads(invoke("schema", "--dialect", "anthropic", "-o", "json").stdout)

    assert document["schema"] == "toolrt/v1"
    assert document.keys() == {"schema", "dialect", "fingerprint", "tools", "report"}
    assert document["report"] == [
        {"tool": "t.add", "path": "b", "says": "`minimum` is told in the description"}
    ]


def test_schema_as_jsonl_is_a_tool_a_line(invoke):
    lines = invoke("schema", "--dialect", "mcp", "-o", "jsonl").stdout.splitlines()

    assert [json.loads(line)["name"] for line in lines] == ["t_add", "t_echo", "t_fails", "t_nap"]


def test_r18_schema_prints_stubs_that_are_python(invoke):
    shown = invoke("schema", "--dialect", "python", "t.add").stdout

    assert shown.startswith("def t_add(*, a: int, b: int = 2) -> Any:\n")
    compile(shown, "stubs", "exec")


@pytest.mark.parametrize("option", [("--strict", "never"), ("--explain",), ("--fingerprint",)])
def test_options_of_vendors_go_with_a_dialect(invoke, option):
    shown = invoke("schema", *option)

    assert shown.exit_code == 2
    assert f"`{option[0]}` goes with `--dialect`" in shown.stderr


def test_schema_of_files_that_are_none_names_a_vendor(invoke):
    shown = invoke("schema", "t.add")

    assert shown.exit_code == 2
    assert "toolrt schema --dialect openai t.add" in shown.stderr


def test_strict_always_tells_the_tool_that_cannot_be(invoke, project):
    tools = project / "tools.d" / "t.yaml"
    added = "  free: {description: Free., parameters: {any: object}, python: 'sums:add'}\n"
    tools.write_text(tools.read_text() + added.replace("'sums:add'", "{callable: sums:add}"))
    tools.write_text(tools.read_text().replace("python: {callable: sums:add}", 'command: ["true"]'))

    shown = invoke("schema", "--dialect", "openai", "--strict", "always")

    assert shown.exit_code == 2
    assert "`t.free` cannot be strict for openai at `any`" in shown.stderr


def test_r17_what_breaks_since_an_older_export_is_told_and_ends_with_10(invoke, project):
    old = project / "old.json"
    old.write_text(invoke("schema", "--dialect", "mcp", "-o", "json").stdout)
    tools = project / "tools.d" / "t.yaml"
    tools.write_text(tools.read_text().replace("minimum: 0, default: 2", "minimum: 1")
                     .replace("  fails:", "  failed:"))  # fmt: skip

    shown = invoke("schema", "--dialect", "mcp", "--compat", "old.json")

    assert shown.exit_code == 10
    assert shown.stdout.splitlines() == [
        "breaking: t_add b: it is required now",
        "breaking: t_add b: `minimum` is 1",
        "harmless: t_failed: the tool is new",
        "breaking: t_fails: the tool is gone",
    ]


def test_r17_what_breaks_since_the_project_of_another_folder_is_told(invoke, project, tmp_path):
    old = tmp_path / "released"
    shutil.copytree(project, old)
    tools = project / "tools.d" / "t.yaml"
    tools.write_text(tools.read_text().replace("minimum: 0, default: 2", "minimum: 1"))

    shown = invoke("schema", "--compat", str(old))

    assert shown.exit_code == 10
    assert shown.stdout.splitlines() == [
        "breaking: t_add b: it is required now",
        "breaking: t_add b: `minimum` is 1",
    ]


def test_a_broken_project_to_compare_with_is_told(invoke, tmp_path):
    old = tmp_path / "released"
    (old / "tools.d").mkdir(parents=True)
    (old / "tools.d" / "t.yaml").write_text("tools: {a: {}}")

    shown = invoke("schema", "--compat", str(old))

    assert shown.exit_code == 3
    assert "no-kind" in shown.stderr


@pytest.mark.parametrize("dialect", ["openai", "openai_responses", "anthropic", "google", "mcp"])
def test_nothing_that_broke_is_ok_in_every_dialect(invoke, project, dialect):
    (project / "old.json").write_text(invoke("schema", "--dialect", dialect).stdout)

    shown = invoke("schema", "--dialect", dialect, "--compat", "old.json")

    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "nothing has changed since old.json" in shown.stderr


@pytest.mark.parametrize("text", ["{", "{}", "[3]", '[{"name": "a", "code": "b"}]'])
def test_a_file_without_tools_is_told(invoke, project, text):
    (project / "old.json").write_text(text)

    shown = invoke("schema", "--dialect", "mcp", "--compat", "old.json")

    assert shown.exit_code == 2
    assert "old.json" in shown.stderr


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([], ["tools"]),
        (["--dialect", "openai"], ["t.add", "t.echo", "t.fails", "t.nap", "t.broken"]),
    ],
)
def test_completion_names_files_or_with_a_dialect_tools(invoke, given, found):
    context = verb.make_context("schema", given, resilient_parsing=True)

    assert sorted(complete(context, verb.params[0], "t")) == sorted(found)


def test_list_and_show_print_a_request_too(invoke):
    listed = json.loads(invoke("list", "--dialect", "google", "t.add").stdout)
    shown = json.loads(invoke("show", "t.add", "--dialect", "google").stdout)

    assert listed == shown
    assert shown[0]["name"] == "t_add"


def test_run_makes_the_calls_of_an_answer(invoke, answer):
    shown = invoke("run", "--response", answer)

    messages = json.loads(shown.stdout)
    assert shown.exit_code == 1
    assert [each["tool_call_id"] for each in messages] == ["c1", "c2"]
    assert messages[0]["content"] == "3"


def test_run_reads_an_answer_from_stdin(invoke, answer, project):
    shown = invoke("run", "--response", "-", input=json.dumps(ANSWER))

    assert json.loads(shown.stdout)[0]["content"] == "3"


def test_run_of_an_answer_as_json_has_the_results_beside_the_messages(invoke, answer):
    document = json.loads(invoke("run", "--response", answer, "-o", "json").stdout)

    assert document["schema"] == "toolrt/v1"
    assert document["dialect"] == "openai"
    assert [each["status"] for each in document["results"]] == ["success", "error"]


def test_run_of_an_answer_can_be_looked_at_before(invoke, answer):
    shown = invoke("run", "--response", answer, "--dry-run")

    assert shown.stdout == 'c1 t.add {"a": 1, "b": null}\nc2 t.fails {}\n'


def test_run_of_an_answer_in_words_says_so(invoke, project):
    (project / "words.json").write_text('{"role": "assistant", "content": "Hi."}')

    shown = invoke("run", "--response", "words.json")

    assert (shown.exit_code, shown.stdout) == (0, "[]\n")
    assert "the answer asks for no call" in shown.stderr


def test_run_of_code_names_its_dialect(invoke, project):
    (project / "code.py").write_text("total = t_add(a=1, b=2)\n")

    shown = invoke("run", "--response", "code.py", "--dialect", "python")

    assert json.loads(shown.stdout)[0] == {
        "id": "total", "name": "t_add", "output": "3", "failed": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "bad.json: the JSON ends too early"),
        ('{"choices": []}', "bad.json: choices: the answer has no choices"),
        ('{"a": 1}', "bad.json: no dialect knows this answer"),
    ],
)
def test_an_answer_that_is_none_is_told_with_its_place(invoke, project, text, says):
    (project / "bad.json").write_text(text)

    shown = invoke("run", "--response", "bad.json")

    assert shown.exit_code == 2
    assert says in shown.stderr


@pytest.mark.parametrize("beside", [("t.add",), ("--json", "{}"), ("--batch", "x"), ("--watch",)])
def test_what_is_for_other_calls_does_not_go_with_an_answer(invoke, answer, beside):
    shown = invoke("run", *beside, "--response", answer)

    assert shown.exit_code == 2
    assert "`--response` makes the calls of a file" in shown.stderr


def test_a_dialect_goes_with_an_answer(invoke):
    assert "`--dialect` is for a `--response`" in invoke("run", "t.add", "--dialect", "mcp").stderr


def test_u82_only_what_no_rule_keeps_from_anybody_is_exported_for_its_vendor(invoke, project):
    one = "{provider: {vendor: anthropic, type: %s}}"
    tools = "".join(f"  {name}: {one % name}\n" for name in ("free", "asked", "some"))
    rules = (
        "rules:\n  - {id: all, decide: allow, tools: ['*']}\n"
        "  - {id: ask, decide: ask, tools: [asked]}\n"
        "  - {id: few, decide: deny, tools: [some], unless: \"'boss' in caller.roles\"}\n"
    )
    write_files(project, {"tools.d/t.yaml": f"tools:\n{tools}", "policies.d/p.yaml": rules})
    done = invoke("schema", "--dialect", "anthropic", "-o", "json")
    assert [each["name"] for each in json.loads(done.stdout)["tools"]] == ["free"]


def test_r17_tools_that_a_vendor_runs_are_compared_too(invoke, project):
    tools = "tools:\n  a: {provider: {vendor: openai, type: web_search}}\n"
    write_files(project, {"tools.d/t.yaml": tools})
    given = ("schema", "--dialect", "openai_responses")
    old = project / "old.json"
    old.write_text(invoke(*given, "-o", "json").stdout)
    done = invoke(*given, "--compat", "old.json")
    assert done.exit_code == 0
    assert "nothing has changed" in done.stderr


@pytest.mark.parametrize("deep", ["[" * 200_000, '{"tools": [%s{}%s]}'])
def test_a_file_that_is_nested_too_deeply_is_told(invoke, project, deep):
    inner, end = '{"name": "w", "input_schema": ' + '{"properties": {"a": ' * 250, "}}" * 250 + "}"
    old = project / "old.json"
    old.write_text(deep % (inner, end) if "%s" in deep else deep)
    done = invoke("schema", "--compat", "old.json")
    assert done.exit_code in {2, 10}
    assert "bug" not in done.stderr


@pytest.mark.parametrize("name", ["list", "schema"])
def test_a_request_has_only_what_its_model_can_call(invoke, project, name):
    tools = """
tools:
  f@1: {description: Old., effect: read, command: [echo]}
  f@2: {description: New., effect: read, command: [echo]}
  inner: {description: For others., expose: false, effect: read, command: [echo]}
  shut: {description: Shut., effect: read, command: {argv: [echo], stdin: "${secret:none}"}}
  kept: {description: Kept., effect: read, command: [echo]}
"""
    rules = (
        "rules:\n  - {id: all, decide: allow, tools: ['*']}\n"
        "  - {id: no, decide: deny, tools: [kept]}\n"
    )
    write_files(project, {"tools.d/t.yaml": tools, "policies.d/p.yaml": rules})
    shown = invoke(name, "--dialect", "anthropic")
    assert [each["name"] for each in json.loads(shown.stdout)] == ["f"]


MANY = {
    "toolrt.yaml": "builtins: [search_tools, call_tool]\n"
    "retrieval: {max_told: 2, always: ['t.kept']}\n",
    "tools.d/t.yaml": "namespace: t\ntools:\n"
    "  kept: {description: Kept., effect: read, command: [echo]}\n"
    "  left: {description: Left., effect: read, command: [echo], tags: [some]}\n",
    "policies.d/p.yaml": "rules:\n  - {id: all, decide: allow, tools: ['*']}\n",
}


def names_in(shown):
    return [each["name"] for each in json.loads(shown.stdout)]


async def exported_by_runtime(folder, dialect):
    async with toolrt.open(folder) as runtime:
        return [each["name"] for each in (await runtime.export(dialect)).documents]


@pytest.mark.parametrize("verb_", ["list", "schema"])
def test_r9_a_request_has_the_tools_that_models_are_told_of(invoke, project, verb_):
    write_files(project, MANY)

    shown = names_in(invoke(verb_, "--dialect", "anthropic"))

    assert shown == ["call_tool", "search_tools", "t_kept"]
    assert shown == asyncio.run(exported_by_runtime(project, "anthropic"))


@pytest.mark.parametrize(
    "wanted", [("list", "t.*"), ("list", "--tag", "some"), ("schema", "t.left")], ids=" ".join
)
def test_r9_who_says_which_tools_gets_these_all_the_same(invoke, project, wanted):
    write_files(project, MANY)

    assert "t_left" in names_in(invoke(*wanted, "--dialect", "anthropic"))


@pytest.mark.parametrize("verb_", ["list", "schema"])
def test_m3_no_list_without_items_is_in_a_request(invoke, project, verb_):
    tools = (
        "tools:\n  t: {description: D., effect: read, parameters: {tags: array}, command: [echo]}\n"
    )
    write_files(project, {"tools.d/t.yaml": tools})

    shown = invoke(verb_, "--dialect", "openai", "-o", "json")

    made = json.loads(shown.stdout)
    function = made["tools"][0]["function"]
    assert function["strict"] is False
    assert function["parameters"]["properties"]["tags"] == {"type": "array", "items": {}}
    assert {"tool": "t", "path": "tags[]", "says": "not strict: it takes any value"} in made[
        "report"
    ]


@pytest.mark.parametrize("files", [{}, {"notes.txt": "mine"}, {"toolrt.yaml": "vars: {a: 1}\n"}])
def test_a_folder_to_compare_with_that_has_no_tools_is_refused(invoke, tmp_path, files):
    old = tmp_path / "elsewhere"
    old.mkdir()
    write_files(old, files)

    shown = invoke("schema", "--compat", str(old))

    assert shown.exit_code == 2
    assert "no tools" in shown.stderr
    assert "tools.d" in shown.stderr
