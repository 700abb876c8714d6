"""A plan of ten steps, each with what the one before gave, against ten bare calls of the same."""

import asyncio

from project_copy import ARGUMENTS, caller, opened
from rounds import Figure, cpu_ratio, in_turns, show

ROUNDS = 15
STEPS = 10


async def main() -> None:
    async with opened() as runtime:
        one = caller(runtime, "bench.quote", ARGUMENTS)

        async def bare() -> None:
            for _ in range(STEPS):
                await one()

        contestants = {"bare": bare, "plan": caller(runtime, "bench.ten", {"city": "Tokyo"})}
        costs = await in_turns(contestants, rounds=ROUNDS, batch=400)
    ratio = cpu_ratio(costs, "plan", "bare")
    show(Figure("CPU of a plan of 10 steps", "10 bare calls", ratio, 1.3))


asyncio.run(main())
