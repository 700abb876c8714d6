"""A command that does nothing, against posix_spawn + waitpid of the same program.

CPU is that of the caller alone: what the program costs is the same for both.
"""

import asyncio
import os

from project_copy import caller, opened
from rounds import Call, Figure, in_turns, own_cpu_ratio, show, wall_ratio

PROGRAM = "/bin/true"
ROUNDS, BATCH, AT_ONCE = 11, 48, 16


async def spawned() -> None:
    """The limit: nothing is captured, limited or watched."""
    pid = os.posix_spawn(PROGRAM, [PROGRAM], os.environ)  # noqa: ASYNC221 - the limit blocks
    os.waitpid(pid, 0)  # noqa: ASYNC222 - the limit blocks


def sixteen(one: Call) -> Call:
    """The same 16 times at once."""

    async def call() -> None:
        await asyncio.gather(*[one() for _ in range(AT_ONCE)])

    return call


async def sixteen_spawned() -> None:
    """The limit of that."""
    pids = [os.posix_spawn(PROGRAM, [PROGRAM], os.environ) for _ in range(AT_ONCE)]  # noqa: ASYNC221
    for pid in pids:
        os.waitpid(pid, 0)  # noqa: ASYNC222


async def main() -> None:
    async with opened() as runtime:
        command = caller(runtime, "bench.nothing", {})
        costs = await in_turns({"limit": spawned, "command": command}, rounds=ROUNDS, batch=BATCH)
        many = {"limit": sixteen_spawned, "commands": sixteen(command)}
        at_once = await in_turns(many, rounds=ROUNDS, batch=BATCH // AT_ONCE)
    against = "posix_spawn + waitpid"
    show(
        Figure("command, CPU", against, own_cpu_ratio(costs, "command", "limit"), 3.5, 1.3),
        Figure("command, wall", against, wall_ratio(costs, "command", "limit"), 1.4, 1.2),
        Figure("16 commands, CPU", against, own_cpu_ratio(at_once, "commands", "limit"), 3.0, 1.3),
        Figure("16 commands, wall", against, wall_ratio(at_once, "commands", "limit"), 1.4, 1.2),
    )


asyncio.run(main())
