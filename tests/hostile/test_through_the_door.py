"""Every hostile case through the real command line, in front of a real project and server."""

import pytest

from tests.hostile.cases import CASES, GOOD, OUTCOMES, REFUSED
from tests.hostile.door import ENVIRON, assert_as_told, assert_harmless, invoke, opened, write
from toolrt.core.errors import CODES


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("world")) as door:
        yield door


def by_id(cases):
    return pytest.mark.parametrize("case", cases, ids=[ascii(case.id) for case in cases])


@by_id(CASES)
def test_a_hostile_call_comes_to_what_it_must(door, case):
    assert_as_told(case, door.run(case, "-o", "json"), door.server)


@by_id([case for case in CASES if case.id[0] in "EG"])
def test_a_person_is_shown_a_hostile_call_harmlessly(door, case):
    seen = door.run(case)

    assert_harmless(seen)
    assert seen.exit == OUTCOMES[case.outcome].exit
    assert len(seen.log) == (0 if case.outcome == "USAGE" else 1)
    assert len(seen.stdout + seen.stderr) < 300_000


def test_outcomes_are_those_of_the_table_of_codes():
    failures = [each for each in OUTCOMES.values() if each.code]

    assert {each.code: each.exit for each in failures}.items() <= CODES.items()


@by_id(REFUSED)
def test_a_hostile_file_refuses_the_project(case, tmp_path):
    write(tmp_path, {"tools.d/good.yaml": GOOD, **case.files})
    checked = invoke(["check", "-p", str(tmp_path), "-o", "json"], environ=ENVIRON)
    called = invoke(["run", "-p", str(tmp_path), "-v", "good"], environ=ENVIRON)

    codes = [each["code"] for each in checked.document["diagnostics"]]
    assert case.code in codes
    found = checked.document["diagnostics"][codes.index(case.code)]
    assert (found["severity"], found["file"]) == ("error", case.file)
    assert found["line"] >= 1
    assert found["column"] >= 1
    assert case.says in f"{found['message']} {found['hint']}"
    for seen in (checked, called):
        assert_harmless(seen)
        assert seen.exit == OUTCOMES["REFUSE"].exit
    assert (called.stdout, called.log) == ("", [])
    assert f":{found['line']}:{found['column']}: error[{case.code}]" in called.stderr
    assert not (tmp_path / "ran").exists()
