"""Parses many files in a process of its own, so that the calls of this one are not held up.

The process may use a minute and a gibibyte; one that wants more is ended, and the files count as
unreadable.
"""

import json
import pickle
import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import BinaryIO, Final

from toolrt.loading.reader import Document
from toolrt.loading.stock import Unread

MOST_S: Final = 60.0
MOST_BYTES: Final = 1 << 30
_FEW_FILES: Final = 16
_LITTLE: Final = 256 * 1024
_BOOT: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from toolrt.loading.apart import serve; "
    "serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[2]))"
)


class TooMuchError(Exception):
    """The files could not be parsed within the limits; the message says which."""


def is_much(files: Sequence[Unread]) -> bool:
    """Whether parsing them here would be felt by the calls that run meanwhile."""
    return len(files) > _FEW_FILES or sum(len(each.source) for each in files) > _LITTLE


def parsed(
    files: Sequence[Unread], *, most_s: float = MOST_S, most_bytes: int = MOST_BYTES
) -> list[Document]:
    """The documents of `files`, in order. Blocks. Raises TooMuchError."""
    command = [sys.executable, "-c", _BOOT, json.dumps(sys.path), str(most_bytes)]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and our own code
            command,
            input=pickle.dumps(list(files)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=most_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooMuchError(f"parsing {len(files)} files takes more than {most_s:g} s") from None
    if done.returncode:
        limit = f"{most_bytes >> 20} MiB"
        raise TooMuchError(
            f"parsing {len(files)} files failed with status {done.returncode} (limit {limit})"
        )
    documents: list[Document] = [
        pickle.loads(each)  # noqa: S301 - written by our own code, on our own pipe
        for each in pickle.loads(done.stdout)  # noqa: S301 - as above
    ]
    return documents


def serve(source: BinaryIO, sink: BinaryIO, most_bytes: int) -> None:
    """What the process does: parse, and answer with one pickle a file."""
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    files: list[Unread] = pickle.load(source)  # noqa: S301 - written by the process that began us
    sink.write(pickle.dumps([pickle.dumps(each.parsed()) for each in files]))
