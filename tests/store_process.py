"""Processes that use one store at the same time; started by tests as `store_process.py MODE PATH …`.

Each line on the output is one JSON value, written when what it tells has been committed.
"""

import asyncio
import json
import os
import random
import sys
from pathlib import Path

from toolrt.core.decisions import Caps, Terms
from toolrt.stores import approval_asks, approval_claims, approval_decisions, approvals
from toolrt.stores.approval_decisions import NewDecision
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approvals import Question
from toolrt.stores.base import StoreError
from toolrt.stores.moments import SystemMoments
from toolrt.stores.sqlite import SqliteDatabase

MOMENTS = SystemMoments()
SEALS = ApprovalSeals(b"a key of the tests")


def tell(*value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def question(call):
    return Question(
        tool="t", tool_hash="t", asked_hash=f"a{call}", final_hash="f", asked_arguments="{}",
        arguments="{}", caller="{}", principal="bot", sealed='{"card":"4111"}', terms=Terms(),
    )  # fmt: skip


async def ask(database, name, count):
    """Ask, and count what was asked in the same transaction."""
    for number in range(int(count)):

        def work(session, number=number):
            caps = Caps(10**6, 10**6)
            new = question(f"{name}-{number}")
            record = approval_asks.create(session, new, MOMENTS.now(), caps, seals=SEALS)
            session.change(
                "INSERT INTO meta (name, value) VALUES (?, '1') ON CONFLICT (name) DO UPDATE SET"
                " value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT)",
                f"asked by {name}",
            )
            return record.id

        tell(await database.run(work))


async def race(database, name):
    """Decide on everything, and run what was approved, as fast as possible."""
    ids = [each.id for each in await database.read(lambda s: approvals.listed(s, (), 10**6))]
    random.Random(name).shuffle(ids)
    tell("ready")
    sys.stdin.readline()
    for which in ids:
        verdict = random.choice(["approve", "approve", "deny"])
        said = NewDecision(name, (), "cli", verdict)
        decided = await database.run(
            lambda s, which=which, said=said: approval_decisions.decide(
                s, which, said, MOMENTS.now(), seals=SEALS
            )
        )
        holds = decided.earlier and (decided.earlier.actor, decided.earlier.verdict)
        tell("decided", which, verdict, decided.code, holds)
        claimed = await database.run(
            lambda s, which=which: approval_claims.claim(
                s, which, MOMENTS.now(), owner=name, final_hash="f", lease_s=1.0, seals=SEALS
            )
        )
        tell("claimed", which, claimed.code, claimed.record.owner)
        if claimed.is_done:
            tell("ran", which)
            await database.run(
                lambda s, which=which: approval_claims.settle(
                    s, which, MOMENTS.now(), owner=name, state="succeeded"
                )
            )


def note(name):
    return lambda session: session.change("INSERT INTO meta VALUES (?, '1')", name)


def forked(path):
    """What a process forked from one with an open store can do with it: nothing."""
    database = SqliteDatabase(path)
    asyncio.run(database.run(note("before")))
    number = os.fork()
    if not number:
        os._exit(max(refusal(database), refusal(SqliteDatabase(path))))
    _, status = os.waitpid(number, 0)
    asyncio.run(database.run(note("after")))
    asyncio.run(database.close())
    tell(os.waitstatus_to_exitcode(status))


def refusal(database):
    """0 when the store is refused in a forked process."""
    try:
        asyncio.run(asyncio.wait_for(database.run(note("child")), 5))
    except StoreError as error:
        return 0 if "forked" in error.message else 2
    return 3


def forked_before(path):
    """A store that was named before the fork, and opened after it, is of use on both sides."""
    database = SqliteDatabase(path)
    number = os.fork()
    asyncio.run(database.run(note("parent" if number else "child")))
    asyncio.run(database.close())
    if not number:
        os._exit(0)
    tell(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))


def unprivileged(path, user):
    """The trouble that a user without rights has."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setuid(int(user))
    asyncio.run(main(problem, path))


async def problem(database):
    """The kind of trouble that there is, or none."""
    try:
        await database.run(note("x"))
    except StoreError as error:
        tell(error.problem, error.message, error.hint)
    else:
        tell(None)


async def small(database, limit):
    """Write until the limit of a file's size is met, and on."""
    import resource

    await database.run(lambda s: s.rows("SELECT * FROM meta"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    for number in range(1000):
        try:
            await database.run(
                lambda s, n=number: s.change("INSERT INTO meta VALUES (?, ?)", f"{n}", "x" * 5000)
            )
        except StoreError as error:
            tell(number, error.problem)
            return


async def open_and_close(database, count):
    for _ in range(int(count)):
        await database.run(
            lambda s: s.change("INSERT INTO meta VALUES (lower(hex(randomblob(9))), '1')")
        )
        await database.close()
        database = SqliteDatabase(database.path)


MODES = {each.__name__: each for each in (ask, race, problem, small, open_and_close)}
ALONE = {each.__name__: each for each in (forked, forked_before, unprivileged)}


async def main(mode, path, *more):
    database = SqliteDatabase(path)
    await mode(database, *more)
    await database.close()


if __name__ == "__main__":
    name, path, *more = sys.argv[1:]
    if name in ALONE:
        ALONE[name](Path(path), *more)
    else:
        asyncio.run(main(MODES[name], Path(path), *more))
