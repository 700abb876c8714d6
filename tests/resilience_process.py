"""Processes that call tools of one project at the same time; started as `resilience_process.py …`.

Each line on the output is one JSON value.
"""

import asyncio
import json
import sys
import time

import toolrt


def tell(*value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def trial(runtime, _seconds):
    """One call, once all are there."""
    tell("ready")
    sys.stdin.readline()
    result = await runtime.call("t", {})
    tell(result.error.code if result.error else result.status, result.attempts)


async def hammer(runtime, seconds):
    """Call as fast as possible; tell, of each call that was made, when it surely was."""
    tell("ready")
    sys.stdin.readline()
    ends = time.monotonic() + float(seconds)
    while time.monotonic() < ends:
        began = time.monotonic()
        result = await runtime.call("t", {})
        if result.status == "success":
            tell(began, time.monotonic())
        else:
            await asyncio.sleep(min(0.01, result.error.details["retry_after"]))


async def main(mode, project, seconds="0"):
    async with toolrt.open(project) as runtime:
        await {"trial": trial, "hammer": hammer}[mode](runtime, seconds)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
