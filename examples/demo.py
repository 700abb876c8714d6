"""`make demo`: one tool of each kind on this repository's own files, and two ways to be refused.

Prints each command before what it prints. Ends with status 1 when a step does not do what it
should, and leaves no process behind. A word as argument picks the steps that have it in their
title: `python examples/demo.py http`.
"""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOLRT = Path(sys.executable).parent / "toolrt"
BOOKSHOP = ROOT / "examples" / "bookshop.py"


@dataclass(frozen=True, slots=True)
class Step:
    """A command line behind `toolrt`, how it should end and what it should say."""

    title: str
    command: str
    says: str
    status: int = 0


STEPS = (
    Step("the manifests of this repository", "check", "ok: 8 tools"),
    Step("its tools", "list", "repo.disk_usage"),
    Step("python: an async function", "run text.statistics text=@README.md", "distinct"),
    Step("python: a plain one", "run text.frequent_words text=@README.md top=3", "tool"),
    Step("command: du", "run repo.disk_usage path=toolrt", "toolrt"),
    Step("command: git", "run repo.log count=3", ""),
    Step("shell: a script", "run repo.largest path=toolrt", "toolrt/"),
    Step("http: a GET", "run bookshop.search about=austen", "Persuasion"),
    Step("http: a POST", "run bookshop.order book=emma copies=2", "19"),
    Step("refused: the call does not fit", "run bookshop.order boook=emma copies=99", "book", 2),
    Step("refused: a broken manifest", "-p examples/diagnostics check", "did you mean", 3),
)


def main(word: str = "") -> int:
    steps = [step for step in STEPS if word in step.title]
    port = int(
        (ROOT / "tools.d" / "bookshop.yaml").read_text().split("127.0.0.1:")[1].split("}")[0]
    )
    with bookshop(port):
        failed = [step for step in steps if not shown(step)]
    for step in failed:
        print(f"FAILED: {step.title}: wanted status {step.status} and {step.says!r}")
    print("" if failed else f"\nAll {len(steps)} steps did what they should.")
    return bool(failed)


def shown(step: Step) -> bool:
    """Run a step like a reader would; whether it did what it should."""
    print(f"\n# {step.title}\n$ toolrt {step.command}", flush=True)
    done = subprocess.run(
        [TOOLRT, *step.command.split()],
        cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    print(done.stdout, end="")
    if done.returncode:
        print(f"(exit status {done.returncode})")
    return done.returncode == step.status and step.says in done.stdout


@contextmanager
def bookshop(port: int) -> Iterator[None]:
    """The API that the http tools call, for as long as the demo runs."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            sys.exit(f"port {port} is taken; free it, or change it in tools.d/bookshop.yaml")
    command = [sys.executable, BOOKSHOP, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            if not server.stdout or not server.stdout.readline():
                sys.exit("the bookshop did not start")
            yield
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
