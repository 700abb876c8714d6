"""Folders, files and callables that a manifest names and that are not what they should be."""

import os
import subprocess
import sys

import pytest

from toolrt import runtime

LONG = "x" * 5_000
TOOL = "tools:\n  t:\n    description: D.\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "tools.d").mkdir()
    return tmp_path


def found(project):
    return [
        (f"{each.file}:{each.line}:{each.column}", each.code, each.message)
        for each in runtime.load(project).diagnostics
    ]


FOLDERS = {
    '"a\\0b"': ("unreadable-file", "no file has a name with a NUL"),
    LONG: ("unreadable-file", "file name too long"),
    "loop": ("unreadable-file", "too many levels of symbolic links"),
    "loop/inside": ("unreadable-file", "too many levels of symbolic links"),
    "nowhere": ("unreadable-file", "its link leads nowhere"),
    "file": ("unreadable-file", "not a directory"),
    "/proc/self/mem": ("unreadable-file", "not a directory"),
    "gone": ("file-not-found", "there is no folder `gone`"),
}


@pytest.mark.parametrize("key", ["tools_dir", "policies_dir"])
@pytest.mark.parametrize(("folder", "expected"), FOLDERS.items(), ids=[*map(repr, range(8))])
def test_p8_a_folder_that_cannot_be_read_is_one_fault_where_it_is_named(
    project, key, folder, expected
):
    (project / "loop").symlink_to("loop")
    (project / "nowhere").symlink_to("away")
    (project / "file").write_text("")
    (project / "toolrt.yaml").write_text(f"vars: {{a: 1}}\n{key}: {folder}\n")

    [(place, code, message)] = found(project)

    assert (place, code) == (f"toolrt.yaml:2:{len(key) + 3}", expected[0])
    assert expected[1] in message
    assert len(message) < 200


SCHEMAS = {
    "./a\\0b.json": "no file has a name with a NUL",
    f"./{LONG}.json": "file name too long",
    "./folder": "it is no regular file",
    "./pipe": "it is no regular file",
    "./zero": "it is no regular file",
    "./loop": "too many levels of symbolic links",
    "./memory": "cannot read ./memory",
    "./huge": "it is larger than 1 MB",
    "./gone": "no such file or directory",
    "./list": "it holds no JSON object",
}


@pytest.mark.parametrize("key", ["input_schema", "output_schema"])
@pytest.mark.parametrize(("file", "why"), SCHEMAS.items(), ids=[*map(repr, range(10))])
def test_a_schema_file_that_is_none_is_one_fault_at_its_reference(project, key, file, why):
    folder = project / "tools.d"
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    (folder / "memory").symlink_to("/proc/self/mem")
    (folder / "list").write_text("[]")
    with (folder / "huge").open("wb") as huge:
        huge.truncate(1 << 40)
    text = f'{TOOL}    shell: "true"\n    {key}: {{$ref: "{file}"}}\n'
    (folder / "t.yaml").write_text(text)

    [(place, code, message)] = found(project)

    assert (place, code) == (f"tools.d/t.yaml:5:{len(key) + 14}", "unreadable-schema")
    assert why in message
    assert len(message) < 200


MARKS = {
    "d = {}\nd['select'] = d\n@tool(result=d)": "`result.select.select` is nested deeper",
    "d = []\nd.append(d)\n@tool(tags=d)": "`tags.0.0` is nested deeper",
    "class E:\n    def __str__(self): 1/0\n@tool(timeout=E())": "`timeout` is of type E",
    "@tool(result={5: 5})": "`result` has a key of type int",
    "@tool(title='\\ud800')": "`title` holds \\ud800",
    "@tool(retry={'attempts': float('inf')})": "`retry.attempts` is inf",
    "class E(dict):\n    def items(self): 1/0\n@tool(result=E())": "ZeroDivisionError",
}


@pytest.mark.parametrize(("mark", "why"), MARKS.items())
def test_a_mark_that_no_file_could_hold_is_one_fault_where_the_callable_is_named(
    project, mark, why, request
):
    module = f"marked_{len(request.node.name)}_{abs(hash(mark))}"
    source = f"from toolrt import tool\n{mark}\ndef fn(a: str) -> str:\n    'Doc.'\n"
    (project / f"{module}.py").write_text(source)
    (project / "tools.d" / "t.yaml").write_text(f"{TOOL}    python: {module}:fn\n")

    [(place, code, message)] = found(project)

    assert (place, code) == ("tools.d/t.yaml:4:13", "bad-mark")
    assert why in message


def test_a_fault_in_a_schema_of_a_callable_names_the_parameter(project):
    source = "def fn(a: int = 'x', b: str = '') -> str:\n    'Doc.'\n"
    (project / "wrong_default.py").write_text(source)
    (project / "tools.d" / "t.yaml").write_text(f"{TOOL}    python: wrong_default:fn\n")

    [(place, code, message)] = found(project)

    assert (place, code) == ("tools.d/t.yaml:4:13", "bad-default")
    assert message == 'parameter `a` of the callable: the default must be an integer, not "x"'


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("timeout: " + "9" * 400 + "s", "at most 10000d"),
        ("timeout: 10001d", "at most 10000d"),
        ("result: {max_size: " + "9" * 400 + "KB}", "at most 1000000GB"),
        ('parameters: {a: {type: string, format: path, root: "a\\0b"}}', "`root`"),
        ("result: {select: 'a[" + "1" * 4_400 + "]'}", "more than 4,300 digits"),
    ],
)
def test_a_value_out_of_all_bounds_is_one_fault_at_its_line(project, written, why):
    text = f'{TOOL}    shell: {{script: "true", argv: ["{{{{ a }}}}"]}}\n    {written}\n'
    if "parameters" not in written:
        text += "    parameters: {a: string}\n"
    (project / "tools.d" / "t.yaml").write_text(text)

    [(place, _, message)] = found(project)

    assert place.startswith("tools.d/t.yaml:5:")
    assert why in message


CLOSED = """
import os, sys
from toolrt.core.errors import ProjectError
from toolrt.runtime import find_project
os.setuid(65534)
try:
    print(find_project(sys.argv[1]))
except ProjectError as error:
    print(error.message)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_project_that_this_user_may_not_look_into_is_told_and_none_above_taken(tmp_path_factory):
    above = tmp_path_factory.mktemp("above")
    for folder in (above, *above.parents[:2]):
        folder.chmod(0o755)
    for project in (above, above / "closed"):
        (project / "tools.d").mkdir(parents=True)
    (above / "tools.d").chmod(0o755)
    (above / "closed").chmod(0)

    command = [sys.executable, "-c", CLOSED, str(above / "closed")]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (shown.stdout, shown.stderr) == (
        f"{above}/closed cannot be looked into: permission denied\n",
        "",
    )
