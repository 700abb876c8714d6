"""A command that does nothing, against posix_spawn + waitpid of the same program."""

import asyncio
import os

from project_copy import caller, opened
from rounds import Figure, cpu_ratio, in_turns, show, wall_ratio

PROGRAM = "/bin/true"
ROUNDS, BATCH = 11, 40


async def spawned() -> None:
    """The limit: nothing is captured, limited or watched."""
    pid = os.posix_spawn(PROGRAM, [PROGRAM], os.environ)  # noqa: ASYNC221 - the limit blocks
    os.waitpid(pid, 0)  # noqa: ASYNC222 - the limit blocks


async def main() -> None:
    async with opened() as runtime:
        command = caller(runtime, "bench.nothing", {})
        costs = await in_turns({"limit": spawned, "command": command}, rounds=ROUNDS, batch=BATCH)
    against = "posix_spawn + waitpid"
    show(
        Figure("command, CPU", against, cpu_ratio(costs, "command", "limit"), 3.5, 1.3),
        Figure("command, wall", against, wall_ratio(costs, "command", "limit"), 1.4, 1.2),
    )


asyncio.run(main())
