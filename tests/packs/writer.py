"""A process that writes files: `writer.py FOLDER [FIRST COUNT]`, named or nameless drafts by DRAFTS.

Without numbers it writes `f` over and over until it is killed; with them it makes its share of the
edits of `f`. It says when it begins.
"""

import os
import sys
from pathlib import Path

from tests.file_desk import Desk
from toolrt.packs import drafts

WRITERS = 4
SIZE = 50_000


def main(folder, first=None, count=0):
    desk = Desk.over(Path(folder))
    if os.environ["DRAFTS"] == "with a name":
        drafts._TMPFILE = 0
    print("begun", flush=True)  # noqa: T201 - whoever started it waits for that
    if first is None:
        while True:
            for digit in "123456789":
                desk.call("write", "f", text=digit * SIZE)
    for number in range(int(first), int(count), WRITERS):
        desk.call("edit", "f", old=f"<{number}>", new=f"({number})")


if __name__ == "__main__":
    main(*sys.argv[1:])
