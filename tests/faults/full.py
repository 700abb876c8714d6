"""A project on a disk that is soon full: `full.py ROOT`; prints what calls came to, as JSON."""

import asyncio
import json
import sys
from pathlib import Path

import toolrt
from tests.faults.ledger import ANN, write_ledger

SMALL = 4096


def fill(path):
    """Take all the room there is."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * SMALL):
                pass
        except OSError:
            return


async def main(root):
    root = write_ledger(root)
    seen = {"paused": [], "refused": []}

    async def ask(line):
        result = await runtime.call("ledger.note", {"line": line, "pause_s": 0}, ANN)
        code = result.error.code if result.error else None
        seen["paused" if result.pause else "refused"].append(
            result.pause.approval_id if result.pause else code
        )
        return result

    async with toolrt.open(root) as runtime:
        approved = (await ask("first")).pause.approval_id
        await runtime.approvals.approve(approved, ANN)
        fill(root / "filler")
        for number in range(2000):
            if (await ask(f"full {number}")).error:
                break
        ran = await runtime.approvals.run(approved)
        seen["run"] = ran.error.code if ran.error else ran.status
        seen["state"] = (await runtime.approvals.get(approved)).state
        await asyncio.sleep(1.1)  # the store remembers the time by the second
        seen["listed"] = len(await runtime.approvals.listed(limit=10_000))
        seen["look"] = (await runtime.call("ledger.look", {})).data
        (root / "filler").unlink()
        await ask("after")
        seen["again"] = (await runtime.approvals.run(approved)).status
        found = await runtime.approvals.listed((), 10_000)
        seen["kept"] = [each.id for each in found]
        await runtime._state.memory.journal.flush()
        seen["verify"] = len((await runtime._state.memory.journal.records.verify()).faults)
    seen["lines"] = (root / "lines").read_text().splitlines()
    print(json.dumps(seen))  # noqa: T201 - the report


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
