"""`toolrt history output`: all of what was too long, for whoever made the call."""

import json

import pytest
from click.testing import CliRunner

from toolrt.faces.cli.main import cli
from toolrt.testing import write_files

FILES = {
    "tools.d/t.yaml": """\
tools:
  lines:
    description: Says a lot.
    parameters: {}
    shell: {script: "for n in $(seq 1 500); do printf 'line %d \\\\033[2J\\\\n' $n; done", interpreter: [bash, -c]}
    effect: read
    result: {max_size: 200B}
  picture:
    description: A picture.
    python: "pics:picture"
    effect: read
    result: {max_size: 200B}
""",
    "pics.py": 'def picture() -> bytes:\n    return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(range(256)) * 4\n',
}


@pytest.fixture
def project(folder):
    return write_files(folder, FILES)


def invoke(project, *words):
    return CliRunner().invoke(cli, [words[0], "-p", str(project), *words[1:]])


def run(project, tool):
    return json.loads(invoke(project, "run", tool, "-o", "json").stdout)


@pytest.mark.parametrize("key", ["call_id", "spilled"])
def test_all_of_it_is_printed_by_the_calls_id_and_by_its_handle(project, key):
    made = run(project, "lines")
    id_ = made["call_id"] if key == "call_id" else made["data"]["spilled"]
    done = CliRunner().invoke(cli, ["history", "output", "-p", str(project), id_])

    assert (made["status"], done.exit_code) == ("partial", 0)
    assert done.stdout.splitlines() == [f"line {n} \\x1b[2J" for n in range(1, 501)]


def test_a_range_is_a_part_and_says_where_the_rest_begins(project):
    made = run(project, "lines")
    words = [
        "history",
        "output",
        "-p",
        str(project),
        made["call_id"],
        "--range",
        "0:12",
        "-o",
        "json",
    ]
    part = json.loads(CliRunner().invoke(cli, words).stdout)

    assert (part["schema"], part["text"], part["next_offset"]) == (
        "toolrt/v1",
        "line 1 \\x1b[2J\n",
        12,
    )
    assert part["size"] == made["data"]["bytes"]


def test_bytes_go_out_as_they_are(project):
    made = run(project, "picture")
    done = CliRunner().invoke(cli, ["history", "output", "-p", str(project), made["call_id"]])

    assert done.stdout_bytes == b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4


def test_what_is_partial_says_how_to_see_all_of_it(project):
    done = invoke(project, "run", "lines")

    assert "history output" in done.stderr


@pytest.mark.parametrize("made_before", [False, True])
def test_what_is_not_there_is_not_found(project, made_before):
    if made_before:
        run(project, "lines")
    done = CliRunner().invoke(
        cli, ["history", "output", "-p", str(project), "nothing", "-o", "json"]
    )

    assert done.exit_code == 7
    assert json.loads(done.stdout)["error"]["code"] == "not-found"


@pytest.mark.parametrize("part", ["5:5", "9:2", "x", "-1:4", "1"])
def test_a_range_that_is_none_is_a_misuse(project, part):
    words = ["history", "output", "-p", str(project), "id", f"--range={part}"]

    assert CliRunner().invoke(cli, words).exit_code == 2


def test_another_account_finds_nothing_of_this_one(project):
    made = run(project, "lines")
    identities = "identities: [{os_user: root, principal: somebody, may: [call]}]\n"
    (project / "toolrt.yaml").write_text(identities)
    done = CliRunner().invoke(cli, ["history", "output", "-p", str(project), made["call_id"]])

    assert (done.exit_code, done.stdout) == (7, "")
