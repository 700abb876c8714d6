"""`toolrt run --batch`: calls of a file, what is shown of them, and how it ends."""

import json

import pytest

from toolrt.faces.exits import CODES, WORST_FIRST, Exit

LIST = '[{"tool": "t.add", "arguments": {"a": 1}}, {"id": "say", "tool": "t.echo", "arguments": {"text": "hi\\nho"}}]'
LINES = '{"tool": "t.add", "arguments": {"a": 1}}\n\n{"id": "say", "tool": "t.echo", "arguments": {"text": "hi\\nho"}}\n'


@pytest.fixture
def batch(project, invoke):
    """`batch(text, *options)`: the calls in a file of their own."""

    def run(text: str, *options: str, name: str = "calls.json"):
        (project / name).write_text(text)
        return invoke("run", "--batch", name, *options)

    return run


@pytest.mark.parametrize("text", [LIST, LINES], ids=["a list", "lines"])
def test_each_call_is_a_line_in_order(batch, text):
    shown = batch(text)

    assert shown.exit_code == 0
    assert shown.stdout == "1    t.add   success  3\nsay  t.echo  success  hi ho\n"
    assert shown.stderr == ""


def test_calls_come_from_stdin(invoke):
    assert invoke("run", "--batch", "-", input=LIST).stdout.splitlines()[0].endswith("3")


def test_json_has_all_results_and_jsonl_one_a_line(batch):
    document = json.loads(batch(LIST, "-o", "json").stdout)
    lines = [json.loads(line) for line in batch(LIST, "-o", "jsonl").stdout.splitlines()]

    assert document["schema"] == "toolrt/v1"
    assert [each["data"] for each in document["results"]] == [3, "hi\nho"]
    assert [each["data"] for each in lines] == [3, "hi\nho"]
    assert lines[1]["context"]["batch"]["call"] == "say"


def test_dry_run_shows_the_groups_and_runs_nothing(batch, project):
    text = '[{"tool": "t.add"}, {"tool": "t.add"}, {"id": "n", "tool": "t.nap"}, {"tool": "t.add", "depends_on": ["n"]}]'
    shown, document = (
        batch(text, "--dry-run"),
        json.loads(batch(text, "--dry-run", "-o", "json").stdout),
    )

    assert shown.stdout == "1. 1 t.add, 2 t.add (2 together)\n2. n t.nap\n3. 4 t.add after n\n"
    assert document["dry_run"] is True
    assert document["groups"] == [["1", "2"], ["n"], ["4"]]
    assert document["calls"][3] == {"id": "4", "tool": "t.add", "depends_on": ["n"]}
    assert not (project / ".toolrt").exists()


def test_serial_makes_a_group_of_each(batch):
    assert len(batch(LIST, "--serial", "--dry-run").stdout.splitlines()) == 2


def test_what_failed_and_what_was_not_made_is_told(batch):
    text = '[{"id": "f", "tool": "t.fails"}, {"tool": "t.add", "arguments": {"a": "x"}}, {"tool": "t.add", "depends_on": ["f"]}]'
    shown = batch(text)

    assert shown.exit_code == 2
    assert [line.split()[:3] for line in shown.stdout.splitlines()] == [
        ["f", "t.fails", "execution-failed"], ["2", "t.add", "invalid-arguments"], ["3", "t.add", "not"],
    ]  # fmt: skip
    assert shown.stderr == "hint for 2: correct `a` and call again\n"


def test_stop_on_error_makes_no_more(batch):
    text = '[{"tool": "t.fails"}, {"tool": "t.nap", "arguments": {"seconds": 30}}]'
    shown = batch(text, "--stop-on-error")

    assert shown.exit_code == 1
    assert "not made" in shown.stdout.splitlines()[1]


def test_calls_that_wait_for_people_end_with_6_and_say_how_to_decide(batch, project):
    (project / "policies.d").mkdir()
    (project / "policies.d" / "p.yaml").write_text(
        "default: allow\nrules: [{id: r, decide: ask, tools: [t.echo]}]"
    )
    text = '[{"tool": "t.echo", "arguments": {"text": "a"}}, {"tool": "t.add", "arguments": {"a": 1}}, {"tool": "t.echo", "arguments": {"text": "b"}}, {"tool": "t.add", "arguments": {"a": 1}, "depends_on": ["1"]}]'
    shown = batch(text)

    assert shown.exit_code == 6
    assert [line.split()[2] for line in shown.stdout.splitlines()] == [
        "paused",
        "success",
        "paused",
        "not",
    ]
    assert shown.stderr.count("toolrt approvals approve ") == 2


def test_what_was_cut_can_be_read_on(batch):
    text = "x" * 60_000
    shown = batch(json.dumps([{"id": "long", "tool": "t.echo", "arguments": {"text": text}}]))

    assert "long  t.echo  partial" in shown.stdout
    assert shown.stderr.startswith("partial: long; all of it: toolrt history output ")


WRONG = {
    "no JSON": ("[\n {]", "calls.json:2:3: expecting property name enclosed in double quotes"),
    "cut off": ('[{"tool": "t.add"}', "calls.json:1: the JSON ends too early"),
    "a bad line": ('{"tool": "t.add"}\n\n{"tool": x}', "calls.json:3:10: expecting value"),
    "empty": ("\n", "calls.json: there is no call in it"),
    "no object": ("[\n1,\n2]", "calls.json:2: call 1 is no object"),
    "a wrong key": ('[\n  {"tool": "t.add"},\n\n  {"tol": 1}]', "calls.json:4: call 2 has no key `tol`"),
    "a wrong key in a line": ('{"tool": "t.add"}\n\n{"tol": 1}', "calls.json:3: call 2 has no key `tol`"),
    "nobody": ('[{"tool": "t.add", "depends_on": ["x"]}]', "calls.json:1: call 1 (`1`) depends on `x`, which is no call here"),
    "a key twice": ('[{"tool": "a", "tool": "b"}]', "calls.json:1: "),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_file_is_told_at_its_place(batch, text, message):
    shown = batch(text)

    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith(f"error[usage]: {message}")
    assert "\ntry: toolrt run --help\n" in shown.stderr


def test_what_is_wrong_is_a_document_for_programs(batch):
    told = json.loads(batch('[{"tol": 1}]', "-o", "json").stdout)

    assert told["error"]["hint"] == "did you mean `tool`?"


@pytest.mark.parametrize("name", ["nowhere.json", "tools.d"])
def test_a_file_that_cannot_be_read_is_told(invoke, name):
    shown = invoke("run", "--batch", name)

    assert shown.exit_code == 2
    assert name in shown.stderr


@pytest.mark.parametrize(
    "beside", [("t.add",), ("--json", "{}"), ("--wait",), ("--watch",)], ids=str
)
def test_what_is_for_one_call_does_not_go_with_a_batch(invoke, beside):
    shown = invoke("run", *beside, "--batch", "x.json")

    assert shown.exit_code == 2
    assert "`--batch` makes the calls of a file" in shown.stderr


@pytest.mark.parametrize("option", ["--serial", "--stop-on-error"])
def test_what_is_for_a_batch_does_not_go_with_one_call(invoke, option):
    shown = invoke("run", "t.add", "a=1", option)

    assert shown.exit_code == 2
    assert f"`{option}` is for a `--batch`" in shown.stderr


def test_without_a_tool_and_a_batch_the_tool_is_missing(invoke):
    assert "missing argument 'TOOL'" in invoke("run").stderr


def test_every_status_of_a_call_has_its_place_in_the_order():
    assert {Exit(status) for status in CODES.values()} | {Exit.OK, Exit.PAUSED} == set(WORST_FIRST)


def test_a_file_that_begins_with_a_byte_order_mark_is_read(batch):
    assert batch(f"\ufeff{LIST}").exit_code == 0
