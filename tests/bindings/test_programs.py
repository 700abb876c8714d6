import pytest

from toolrt.bindings.programs import (
    FIXED_PATH,
    find_program,
    instead_of_code,
    is_free_text,
    is_past_code,
    runs_its_arguments,
)
from toolrt.core.faults import FaultError

LAUNCHERS = [
    "sh",
    "/bin/bash",
    "python3",
    "python3.11",
    "node",
    "npx",
    "uvx",
    "env",
    "xargs",
    "find",
    "ssh",
    "git",
    "docker",
    "awk",
    "sed",
    "tar",
    "lua5.4",
    "./venv/bin/python",
    "Rscript",
]


@pytest.fixture
def project(tmp_path):
    script = tmp_path / "bin" / "tool"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (tmp_path / "plain").write_text("")
    return tmp_path


def test_s2_a_name_is_looked_up_in_the_fixed_path_only(project, monkeypatch):
    monkeypatch.setenv("PATH", str(project / "bin"))
    assert find_program("tool", project) is None
    assert find_program("ls", project).rsplit("/", 1)[0] in FIXED_PATH.split(":")


def test_s2_a_dot_slash_is_in_the_project_and_a_slash_is_absolute(project):
    assert find_program("./bin/tool", project) == f"{project}/bin/tool"
    assert find_program(f"{project}/bin/tool", project) == f"{project}/bin/tool"


def test_l2_what_is_not_there_or_not_executable_is_missing_not_a_fault(project):
    assert find_program("./plain", project) is None
    assert find_program("./none", project) is None
    assert find_program("/no/such/program", project) is None
    assert find_program("no-such-program", project) is None


@pytest.mark.parametrize(
    "name", ["../x", "./../x", "./a/../../x", "bin/tool", "~/x", "", ".", ".."]
)
def test_s2_any_other_form_is_a_fault(project, name):
    with pytest.raises(FaultError, match="is no program"):
        find_program(name, project)


def test_forgotten_dot_slash_gets_a_hint(project):
    with pytest.raises(FaultError) as caught:
        find_program("bin/tool", project)
    assert caught.value.faults[0].hint == "write `./bin/tool`"


@pytest.mark.parametrize(
    "name",
    LAUNCHERS,
)
def test_s3_interpreters_and_launchers_run_their_arguments(name):
    assert runs_its_arguments(name)


@pytest.mark.parametrize("name", ["ls", "grep", "du", "wc", "date", "curl", "md5sum", "gitk"])
def test_s3_plain_programs_do_not(name):
    assert not runs_its_arguments(name)


@pytest.mark.parametrize(
    ("schema", "free"),
    [
        ({"type": "string"}, True),
        ({}, True),
        (True, True),
        ({"type": "string", "format": "path"}, True),
        ({"type": "array", "items": {"type": "string"}}, True),
        ({"type": "array"}, True),
        ({"type": "object"}, True),
        ({"type": ["integer", "string"]}, True),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
        ({"type": "string", "enum": ["a"]}, False),
        ({"const": "a"}, False),
        ({"enum": ["a", "b"]}, False),
        ({"type": "integer"}, False),
        ({"type": ["boolean", "null"]}, False),
        ({"type": "array", "items": {"enum": ["a"]}}, False),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, False),
    ],
)
def test_s3_only_free_text_counts(schema, free):
    assert is_free_text(schema) is free


@pytest.mark.parametrize(
    ("program", "before"),
    [
        ("bash", ["-c"]),
        ("bash", ["-c", "--"]),
        ("bash", ["-euc", "--"]),
        ("/bin/sh", ["--"]),
        ("zsh", ["-x", "-c", "--"]),
        ("python3.11", ["-c", "--"]),
        ("python3", ["-X", "dev", "-m", "--"]),
        ("node", ["-r", "./x.js", "--eval", "--"]),
        ("perl", ["-ne", "--"]),
        ("ruby", ["-e", "--"]),
        ("awk", ["--"]),
        ("sed", ["-n", "--"]),
        ("sed", ["-e", "--"]),
        ("env", ["A=b", "--"]),
        ("xargs", ["-n", "1", "--"]),
        ("find", [".", "-exec", "--"]),
        ("ssh", ["host", "--"]),
        ("git", ["-c", "--"]),
        ("git", ["clone", "--config", "--"]),
        ("docker", ["run", "image", "--"]),
        ("tar", ["-cf", "x.tar", "--checkpoint-action", "--"]),
        ("timeout", ["5", "--"]),
        ("git", ["log"]),
    ],
)
def test_s3_what_is_run_or_may_be_is_not_past_the_code(program, before):
    assert not is_past_code(program, before)
    assert ("`--`" in instead_of_code(program, before)) is (
        program in {"git", "tar", "node", "perl", "ruby", "awk", "sed"} or "python" in program
    )


@pytest.mark.parametrize(
    ("program", "before"),
    [
        ("bash", ["-c", 'echo "$1"', "--"]),
        ("bash", ["script.sh", "--"]),
        ("python3", ["-m", "json.tool", "--"]),
        ("git", ["log", "--oneline", "--"]),
        ("tar", ["-cf", "x.tar", "--"]),
        ("sed", ["-e", "s/a/b/", "--"]),
        ("awk", ["-f", "prog.awk", "--"]),
    ],
)
def test_s3_an_operand_after_constant_code_is_past_it(program, before):
    assert is_past_code(program, before)
