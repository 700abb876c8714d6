"""A process that writes a journal: `journal_process.py FOLDER NAME COUNT`; without end for count 0."""

import asyncio
import sys
from itertools import count
from pathlib import Path

from journal_desk import ADD, call, closed, journal_in


async def main(folder, name, number):
    journal = journal_in(Path(folder))
    journal._database._busy_s = 30.0
    for each in range(number) if number else count():
        invocation, result = call(f"{name}-{each}")
        if journal.note(invocation, result, ADD):
            await journal.relief()
        if each % 50 == 0:
            await journal.intend(invocation, ADD)
            sys.stdout.write(f"{each}\n")
            sys.stdout.flush()
    await closed(journal)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
