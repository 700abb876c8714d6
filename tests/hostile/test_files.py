"""Hostile paths and files, by the command line: class B of the list.

29, a folder swapped with a link while tools work in it, is in tests/packs/test_swapping.py.
"""

import json
import os

import pytest

from tests.hostile.cases import Case
from tests.hostile.door import ACTING, ENVIRON, assert_as_told, assert_harmless, invoke, write

pytestmark = pytest.mark.usefixtures("canary")

FILES = """\
defaults: {python: {object: "toolrt.packs.files:Files", init: {root: ws}}}
tools:
  read: {python: {call: read}}
  list: {python: {call: list}}
  glob: {python: {call: glob}}
  grep: {python: {call: grep}}
  edit: {python: {call: edit}, freshness: {resource: "{{ path }}", read_by: [read]}}
  edit_unseen: {python: {call: edit}}
  write: {python: {call: write}}
  create: {python: {call: create}}
  magic: {python: {call: read, init: {root: /proc/self}}}
  guarded: {python: {call: read}}
"""
RULES = """\
rules:
  - {id: guard, decide: deny, tools: [guarded], when: 'args.path.startsWith("secret/")', reason: Closed.}
default: allow
"""
CANARY = "a canary that sings"
MORE = {
    "edit_unseen": {"old": "a", "new": "b"},
    "write": {"text": "b"},
    "create": {"text": "b"},
}
ODD = "a\nb\x1b[2J\u202e"
INVALID = {
    "B23 up": "../../etc/passwd",
    "B25 up behind a name": "a/../../b",
    "B26 a neighbour of the root": "../wsX/f",
    "B30 a magic link": "/proc/self/environ",
    "B30 a descriptor": "/dev/fd/0",
    "B34 300 bytes": "n" * 300,
    "B+ NUL": "a\0b",
    "B+ a newline": "f\n",
    "B+ an escape": "\x1b[2J",
    "B+ absolute": "/etc/passwd",
    "B+ nothing": "",
}
BEHIND_LINKS = {
    "B27 a link to a file outside": "out",
    "B27 a link to a folder outside": "outdir/canary",
    "B+ a link to a link": "again",
}


def cases():
    for title, path in INVALID.items():
        for tool in ("read", "list", "grep", *MORE):
            more = {"pattern": "x"} if tool == "grep" else MORE.get(tool, {})
            yield Case(f"{title}, {tool}", tool, "INV", {"path": path, **more})
    for title, path in BEHIND_LINKS.items():
        for tool in ("read", "list", "edit_unseen", "write"):
            yield Case(f"{title}, {tool}", tool, "BLOCK", {"path": path, **MORE.get(tool, {})})
    yield Case("B27 made through a link", "create", "BLOCK", {"path": "outdir/new", "text": "x"})
    yield Case("B27 made at a link", "create", "CONFLICT", {"path": "out", "text": "x"})
    yield Case("B30 by a magic link", "magic", "BLOCK", {"path": "cwd/toolrt.yaml"})
    yield Case("B30 by a descriptor", "magic", "BLOCK", {"path": "fd/0"})
    for tool in ("read", "edit_unseen", "write"):
        yield Case(
            f"B31 a pipe, {tool}", tool, "NOT_REGULAR", {"path": "pipe", **MORE.get(tool, {})}
        )
    for tool in ("edit_unseen", "write"):
        yield Case(f"B35 a hard link, {tool}", tool, "BLOCK", {"path": "hard", **MORE[tool]})
    yield Case("B+ the pattern of a glob", "glob", "INV", {"pattern": "../*"})
    yield Case("B+ the glob of a search", "grep", "INV", {"pattern": "x", "glob": "/etc/*"})
    yield Case("B+ an expression that blows up", "grep", "LIT", {"pattern": "(a|aa)+$"})
    yield Case("B+ the state of the project", "read", "NOT_REGULAR", {"path": ".toolrt/key"})


CASES = list(cases())


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write(
        folder,
        {
            "tools.d/t.yaml": FILES,
            "policies.d/p.yaml": RULES,
            "outside/canary": CANARY,
            "wsX/f": CANARY,
            "ws/f": "a" * 10_000,
            f"ws/{ODD}": "a",
            "ws/secret/f": CANARY,
            "ws/pipe": os.mkfifo,
            "ws/out": lambda path: path.symlink_to(folder / "outside" / "canary"),
            "ws/outdir": lambda path: path.symlink_to(folder / "outside"),
            "ws/again": lambda path: path.symlink_to("out"),
            "ws/hard": lambda path: os.link(folder / "outside" / "canary", path),
        },
    )
    return folder


@pytest.fixture
def canary(project):
    """What lies outside is after each test what it was before."""
    yield
    assert (project / "outside" / "canary").read_text() == CANARY
    assert [each.name for each in (project / "outside").iterdir()] == ["canary"]


def called(project, tool, *options, **arguments):
    words = ["run", "-p", str(project), "-v", *options, tool, "-"]
    return invoke(words, json.dumps(arguments).encode(), ENVIRON)


@pytest.mark.parametrize("case", CASES, ids=[ascii(each.id) for each in CASES])
def test_a_hostile_path_comes_to_what_it_must(project, case):
    seen = called(project, case.tool, "-o", "json", **case.arguments)

    assert_as_told(case, seen, None)
    assert CANARY not in seen.stdout
    assert str(project) not in seen.stdout
    if case.outcome == "INV" and "pattern" not in case.arguments:
        assert seen.document["stats"]["attempts"] == 0


@pytest.mark.parametrize("options", [[], ["-o", "json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    ("tool", "more"), [("list", {}), ("glob", {"pattern": "**"}), ("grep", {"pattern": "a$"})]
)
def test_b33_an_evil_name_is_shown_escaped(project, options, tool, more):
    seen = called(project, tool, *options, **more)

    assert_harmless(seen)
    assert seen.exit == 0
    assert ACTING.search(seen.stdout) is None
    assert r"a\nb\x1b[2J\u202e" in seen.stdout.replace("\\\\", "\\")


@pytest.mark.parametrize(
    "path", ["secret/f", "./secret/f", "secret//f", "secret/./f", ".//secret/f"]
)
def test_f2_a_rule_sees_the_one_spelling_of_a_path(project, path):
    seen = called(project, "guarded", "-o", "json", path=path)

    assert (seen.exit, seen.document["error"]["code"]) == (4, "denied")


def test_b37_a_change_of_what_is_gone_since_is_a_conflict(project):
    path = project / "ws" / "deleted"
    path.write_text("one")
    assert called(project, "read", path="deleted").exit == 0
    path.unlink()

    seen = called(project, "edit", "-o", "json", path="deleted", old="one", new="1")

    assert_as_told(Case("37 gone", "edit", "CONFLICT"), seen, None)
    assert not path.exists()


@pytest.mark.parametrize("change", ["37 other bytes", "38 the same size and time"])
def test_b37_b38_an_edit_of_what_has_changed_since_is_a_conflict(project, change):
    path = project / "ws" / "edited"
    path.write_text("one two")
    assert called(project, "read", path="edited").exit == 0
    at = path.stat()
    path.write_text("one 2 three" if change.startswith("37") else "one 222")
    if change.startswith("38"):
        os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
    before = path.read_text()

    seen = called(project, "edit", "-o", "json", path="edited", old="one", new="1")

    assert_as_told(Case(change, "edit", "CONFLICT"), seen, None)
    assert path.read_text() == before
    path.unlink()
