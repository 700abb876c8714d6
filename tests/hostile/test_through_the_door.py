"""Every hostile case through the real command line, in front of a real project and server."""

import asyncio
import gc
import os
import re
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import pytest

import toolrt
from tests.hostile.cases import ANYTHING, CASES, GOOD, OUTCOMES, REFUSED, SECRET, everything
from tests.hostile.door import (
    ACTING,
    ENVIRON,
    assert_as_told,
    assert_harmless,
    invoke,
    opened,
    secrets_in,
    write,
)
from tests.loopback import reply
from toolrt.core.errors import CODES

CHILDREN = (
    "A+ a byte that is no text",
    "A11 by token",
    "C39 redirect",
    "C55 redirect",
    "D67 0",
    "D78 gzip bomb",
    "E83 duplicate key as text",
    "E87 depth 100k, arrays as text",
    "G113 said",
    "G115 as a tool",
    "G117 base64 in lines",
    "G118 elsewhere",
)
"""Those that are tried as a process of its own as well."""

SMALL = 50_000
ANSWERED = {"path", "query", "header", "swept", "send"}
SLOW = {"flood", "leak_out", "named"}
AT_ONCE = tuple(
    islice(
        cycle(
            case
            for case in CASES
            if case.arguments is not None and len(case.input) < SMALL
            if case.tool in ANSWERED or (case.told is None and case.tool not in SLOW)
        ),
        200,
    )
)
"""Hostile calls of most tools, whatever the server says to those that ask it."""


def case_named(name):
    [found] = [case for case in CASES if case.id == name]
    return found


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("world")) as door:
        yield door


def by_id(cases):
    return pytest.mark.parametrize("case", cases, ids=[ascii(case.id) for case in cases])


@by_id(CASES)
def test_a_hostile_call_comes_to_what_it_must(door, case):
    assert_as_told(case, door.run(case, "-o", "json"), door.server)


@by_id([each for each in CASES if each.id[0] in "EG" and len(each.input) < SMALL])
def test_a_person_is_shown_a_hostile_call_harmlessly(door, case):
    seen = door.run(case)

    assert_harmless(seen)
    assert seen.exit == OUTCOMES[case.outcome].exit
    assert len(seen.log) == (0 if case.outcome == "USAGE" else 1)
    assert len(seen.stdout + seen.stderr) < 300_000


@pytest.mark.parametrize(
    "options",
    [["-o", "yaml"], ["-o", "jsonl"], ["--dry-run"], ["--dry-run", "-o", "json"]],
    ids=" ".join,
)
@by_id([case for case in CASES if re.fullmatch(r"G11[3459] (said|given)|A1 script|D67 0", case.id)])
def test_every_way_of_showing_is_harmless(door, case, options):
    seen = door.run(case, *options)

    assert_harmless(seen)
    assert seen.exit == (0 if "--dry-run" in options else OUTCOMES[case.outcome].exit)
    assert seen.stdout.count("\n") == 1 or "jsonl" not in options


def test_outcomes_are_those_of_the_table_of_codes():
    failures = [each for each in OUTCOMES.values() if each.code]

    assert {each.code: each.exit for each in failures}.items() <= CODES.items()


@by_id(REFUSED)
def test_a_hostile_file_refuses_the_project(case, tmp_path):
    write(tmp_path, {"tools.d/good.yaml": GOOD, **case.files})
    seen = invoke(["check", "-p", str(tmp_path), "-o", "json"], environ=ENVIRON)
    codes = [each["code"] for each in seen.document["diagnostics"]]

    assert case.code in codes
    found = seen.document["diagnostics"][codes.index(case.code)]
    assert (found["severity"], found["file"]) == ("error", case.file)
    assert found["line"] >= 1
    assert found["column"] >= 1
    assert case.says in f"{found['message']} {found['hint']}"
    assert seen.exit == OUTCOMES["REFUSE"].exit
    assert_harmless(seen)


@by_id({case.code: case for case in REFUSED}.values())
def test_with_a_hostile_file_nothing_runs(case, tmp_path):
    write(tmp_path, {"tools.d/good.yaml": GOOD, **case.files})
    seen = invoke(["run", "-p", str(tmp_path), "-v", "good"], environ=ENVIRON)

    assert seen.exit == OUTCOMES["REFUSE"].exit
    assert (seen.stdout, seen.log) == ("", [])
    assert f": error[{case.code}]" in seen.stderr
    assert not (tmp_path / "ran").exists()
    assert_harmless(seen)


@pytest.fixture(scope="module")
def plain(door):
    """A call like any other, as a child."""
    return door.child(case_named("A1 by token"), "-o", "json")


@by_id([case_named(each) for each in CHILDREN])
def test_a_process_of_its_own_comes_to_the_same(door, plain, case):
    seen = door.child(case, "-o", "json")

    assert seen.took_s < 3
    took_s = seen.took_s - plain.took_s
    grew_by = seen.grew_by - plain.grew_by
    assert_as_told(case, replace(seen, took_s=took_s, grew_by=grew_by), door.server)


def test_two_hundred_hostile_calls_at_once_leave_nothing_behind(door, tmp_path, monkeypatch):
    monkeypatch.setenv("KEY", SECRET)
    monkeypatch.setattr(sys, "path", list(sys.path))
    write(tmp_path, everything(door.server.url, door.server.port))
    door.told = lambda _heard: reply("{}", content_type="application/json")
    asyncio.run(all_at_once(tmp_path, AT_ONCE[:20]))
    before = held_at_rest()

    began = time.monotonic()
    results = asyncio.run(all_at_once(tmp_path, AT_ONCE))

    assert time.monotonic() - began < 60
    assert [each.error and each.error.code for each in results] == [
        OUTCOMES[case.outcome].code for case in AT_ONCE
    ]
    for case, result in zip(AT_ONCE, results, strict=True):
        assert case.data is ANYTHING or case.data == result.data
    assert secrets_in(repr(results)) == []
    assert len({each.call_id for each in results}) == len(AT_ONCE) == 200
    wait_until(lambda: is_no_more(held(), before), before)


def test_o3_in_process_a_model_is_given_nothing_that_acts_unseen(door, tmp_path, monkeypatch):
    monkeypatch.setenv("KEY", SECRET)
    monkeypatch.setattr(sys, "path", list(sys.path))
    write(tmp_path, everything(door.server.url, door.server.port))
    cases = [each for each in CASES if each.id[:2] in {"G1", "G+"} and each.arguments is not None]
    cases = [each for each in cases if len(each.input) < SMALL]
    results = asyncio.run(one_by_one(tmp_path, door, cases))

    for case, result in zip(cases, results, strict=True):
        code = result.error.code if result.error else None
        assert code == OUTCOMES[case.outcome].code, case.id
        assert case.data is ANYTHING or case.data == result.data
        assert secrets_in(repr(result.document())) == []
        assert [text for text in texts_of(result.document()) if ACTING.search(text)] == []


async def one_by_one(folder, door, cases):
    results = []
    async with toolrt.open(folder, environ=ENVIRON) as runtime:
        for case in cases:
            door.told = case.told
            results.append(await runtime.call(case.tool, dict(case.arguments)))
    return results


def texts_of(value):
    """All texts in a document, names too."""
    if isinstance(value, str):
        yield value.replace("\r\n", "\n")
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from (name, *texts_of(each))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_of(each)


async def all_at_once(folder, cases):
    async with toolrt.open(folder, environ=ENVIRON) as runtime:
        calls = [runtime.call(case.tool, dict(case.arguments)) for case in cases]
        results = await asyncio.gather(*calls)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return results


def held():
    """How many descriptors and threads this process has, and its children."""
    children = {pid for pid, parent in parents() if parent == os.getpid()}
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), children


def is_no_more(now, before):
    """What tests of before have left to the collector may go meanwhile."""
    return now[0] <= before[0] and now[1] <= before[1] and now[2] <= before[2]


def open_files():
    descriptors = Path("/proc/self/fd").iterdir()
    return sorted(str(each.readlink()) for each in descriptors if each.is_symlink())


def held_at_rest():
    """The same, once threads and children that are about to end have ended."""
    gc.collect()
    seen = held()
    for _ in range(40):
        time.sleep(0.25)
        before, seen = seen, held()
        if seen == before:
            break
    return seen


def parents():
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            yield int(path.parent.name), int(path.read_text().rpartition(") ")[2].split()[1])


def wait_until(holds, *told):
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, (held(), *told, threading.enumerate(), open_files())
        time.sleep(0.02)
