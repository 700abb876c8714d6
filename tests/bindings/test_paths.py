import subprocess
import sys

import pytest

from toolrt.bindings.paths import compile_path_rules
from toolrt.core.errors import RefusedError

PATH = {"type": "string", "format": "path"}


@pytest.fixture
def project(tmp_path):
    project = tmp_path / "project"
    (project / "data" / "sub").mkdir(parents=True)
    (project / "data" / "x.csv").write_text("1")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s")
    (tmp_path / "project2").mkdir()
    return project


def apply(project, value, **schema):
    rules = compile_path_rules({"properties": {"p": {**PATH, **schema}}}, project)
    arguments = {"p": value, "other": "../x"}
    rules.apply(arguments)
    assert arguments["other"] == "../x"
    return arguments["p"]


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (".", "."),
        ("data", "./data"),
        ("./data//sub/./x", "./data/sub/x"),
        ("-rf", "./-rf"),
        ("a..b/c", "./a..b/c"),
        ("no/such/file", "./no/such/file"),
        ("naïve 名", "./naïve 名"),
        ("~root", "./~root"),
    ],
)
def test_f2_a_path_inside_the_project_begins_with_a_dot(project, value, made):
    assert apply(project, value) == made


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "empty"),
        ("/etc/passwd", "not absolute"),
        ("../../etc/passwd", r"`\.\.`"),
        ("a/../../b", r"`\.\.`"),
        ("..", r"`\.\.`"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\x1b[2Jb", "control"),
        ("x" * 256, "too long"),
        ("é" * 128, "too long"),
        ("a/" * 3000, "too long"),
        ("\ud800", "surrogate"),
    ],
)
def test_f2_what_is_no_plain_relative_path_is_refused(project, value, why):
    with pytest.raises(RefusedError, match=f"`p` .*{why}") as caught:
        apply(project, value)
    assert caught.value.code == "invalid-arguments"


def test_root_narrows_the_place_and_shows_in_the_path(project):
    assert apply(project, "x.csv", root="data") == "./data/x.csv"
    assert apply(project, ".", root="./data") == "./data"


def test_root_outside_the_project_gives_absolute_paths(project):
    outside = project.parent / "outside"
    assert apply(project, "secret", root=str(outside)) == f"{outside}/secret"
    assert apply(project, "etc", root="/") == "/etc"
    assert apply(project, ".", root="/") == "/"


def test_f1_symlink_that_leaves_the_root_is_refused(project):
    (project / "out").symlink_to("../outside")
    (project / "hop").symlink_to("out")
    (project / "twin").symlink_to("../project2")
    for value in ("out", "out/secret", "hop/secret", "twin/x"):
        with pytest.raises(RefusedError, match="leads out of its root"):
            apply(project, value)


def test_f1_symlink_that_stays_inside_is_followed(project):
    (project / "data" / "up").symlink_to("..")
    (project / "in").symlink_to(project / "data" / "sub")
    assert apply(project, "in/y") == "./in/y"
    assert apply(project, "data/up/data") == "./data/up/data"
    with pytest.raises(RefusedError, match="leads out of its root"):
        apply(project, "up/data", root="data")


@pytest.mark.parametrize(
    "value", [".toolrt/key", "./.toolrt", ".TOOLRT/key", "link/key", "deep/key", "data/link"]
)
def test_f1_what_toolrt_keeps_for_itself_is_no_place_for_a_caller(project, value):
    (project / ".toolrt").mkdir()
    (project / ".toolrt" / "key").write_text("secret")
    (project / "link").symlink_to(".toolrt")
    (project / "deep").symlink_to(project / ".toolrt")
    (project / "data" / "link").symlink_to("../.toolrt/key")

    with pytest.raises(RefusedError, match="keeps for itself"):
        apply(project, value)
    assert apply(project, "my.toolrt/key") == "./my.toolrt/key"


def test_f1_magic_link_of_proc_is_refused(project):
    with pytest.raises(RefusedError, match="leads out of its root"):
        apply(project, "self/cwd/x", root="/proc")


def test_symlink_loop_hurts_nobody(project):
    (project / "loop").symlink_to("loop")
    assert apply(project, "loop/x") == "./loop/x"


def test_project_behind_a_symlink_is_its_own_root(project):
    (project.parent / "link").symlink_to(project)
    assert apply(project.parent / "link", "data/x.csv") == "./data/x.csv"


def test_every_item_of_an_array_is_held_inside(project):
    schema = {"properties": {"p": {"type": "array", "items": {**PATH, "root": "data"}}}}
    rules = compile_path_rules(schema, project)
    arguments = {"p": ["x.csv", "sub"]}
    rules.apply(arguments)
    assert arguments == {"p": ["./data/x.csv", "./data/sub"]}
    with pytest.raises(
        RefusedError, match=r"^`p\[1\]` must not hold `..`; `p\[2\]` must be"
    ) as caught:
        rules.apply({"p": ["x.csv", "../x", "/x"]})
    pointers = [each["pointer"] for each in caught.value.details["faults"]]
    assert pointers == ["/p/1", "/p/2"]


def test_of_many_faulty_items_the_first_ones_are_told(project):
    rules = compile_path_rules({"properties": {"p": {"type": "array", "items": PATH}}}, project)
    with pytest.raises(RefusedError, match=r"`p\[4\]`[^;]*; …$") as caught:
        rules.apply({"p": [".."] * 30})
    assert len(caught.value.details["faults"]) == 20


def test_f1_paths_inside_of_arguments_are_held_too(project):
    schema = {
        "properties": {
            "job": {
                "type": "object",
                "properties": {"from": {**PATH, "root": "data"}, "to": PATH, "note": {}},
                "additionalProperties": PATH,
            },
            "table": {"type": "array", "items": {"type": "array", "items": PATH}},
            "maybe": {"anyOf": [PATH, {"type": "null"}]},
        }
    }
    rules = compile_path_rules(schema, project)
    given = {
        "job": {"from": "x.csv", "to": "y", "note": "/n", "log": "z"},
        "table": [["a"], []],
        "maybe": "m",
    }
    arguments = dict(given)
    rules.apply(arguments)
    assert arguments == {
        "job": {"from": "./data/x.csv", "to": "./y", "note": "/n", "log": "./z"},
        "table": [["./a"], []],
        "maybe": "./m",
    }
    assert given["job"]["from"] == "x.csv"
    assert rules.absolute(arguments)["table"] == [[f"{project}/a"], []]
    bad = {"job": {"from": "../x", "log": "/etc"}, "table": [["a", ".."]], "maybe": "/m"}
    with pytest.raises(RefusedError) as caught:
        rules.apply(bad)
    pointers = [each["pointer"] for each in caught.value.details["faults"]]
    assert pointers == ["/job/from", "/job/log", "/table/0/1", "/maybe"]


def test_f1_links_with_any_name_are_seen_in_any_locale(tmp_path):
    """Names are bytes to the system: a locale that knows ASCII only changes nothing."""
    (tmp_path / "é").symlink_to("/etc")
    code = (
        "import os, sys; from pathlib import Path;"
        "from toolrt.bindings.paths import compile_path_rules;"
        "schema = {'properties': {'p': {'type': 'string', 'format': 'path'}}};"
        "rules = compile_path_rules(schema, Path(sys.argv[1]));"
        "rules.apply({'p': '\\xe9/hostname'})"
    )
    env = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert "leads out of its root folder" in ended.stderr


def test_all_faulty_parameters_are_named_at_once(project):
    rules = compile_path_rules({"properties": {"a": PATH, "b": PATH, "c": PATH}}, project)
    with pytest.raises(RefusedError, match=r"`a` must not hold `\.\.`; `b` must be relative"):
        rules.apply({"a": "..", "b": "/x", "c": "fine"})


def test_absent_and_null_paths_are_left_alone(project):
    rules = compile_path_rules({"properties": {"a": PATH, "b": PATH}}, project)
    arguments = {"b": None}
    rules.apply(arguments)
    assert arguments == {"b": None}


def test_tool_without_path_parameters_has_no_rules(project):
    assert compile_path_rules({"properties": {"a": {"type": "string"}, "b": True}}, project) is None
    assert compile_path_rules({}, project) is None


def test_absolute_form_is_for_other_folders(project):
    rules = compile_path_rules({"properties": {"p": {"type": "array", "items": PATH}}}, project)
    assert rules.absolute({"p": ["./data", "."], "q": "./x"}) == {
        "p": [f"{project}/data", str(project)],
        "q": "./x",
    }
