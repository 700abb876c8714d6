"""A project on a file system that may only be read: `read_only.py ROOT`; prints what calls came to."""

import asyncio
import json
import logging
import sys
from pathlib import Path

import toolrt
from tests.faults.ledger import ANN


async def main(root):
    async def told(line):
        result = await runtime.call("ledger.note", {"line": line, "pause_s": 0}, ANN)
        return result.error.code if result.error else result.status

    async with toolrt.open(root) as runtime:
        seen = {"asked": await told("new"), "approved": await told("0")}
        seen["look"] = (await runtime.call("ledger.look", {})).data
    print(json.dumps(seen))  # noqa: T201 - the report


if __name__ == "__main__":
    logging.basicConfig()
    asyncio.run(main(Path(sys.argv[1])))
