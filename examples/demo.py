"""`make demo`: tools in Python, of commands, scripts and HTTP on this repository's own files, a
call that asks a person, and two ways to be refused.

Prints each command before what it prints. Ends with status 1 when a step does not do what it
should, and leaves no process behind. A word as argument picks the steps that have it in their
title: `python examples/demo.py http`.
"""

import os
import re
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


APPROVAL = re.compile(r"toolrt approvals approve (\w+)")

# Whoever runs this file trusts its folder, whomever that belongs to.
ENVIRONMENT = {**os.environ, "TOOLRT_ALLOW_FOREIGN_CONFIG": "1"}


@dataclass(frozen=True, slots=True)
class Step:
    """A command line behind `toolrt`, how it should end and what it should say.

    `ID` in it is the approval that the step before asked for.
    """

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
    Step("rules: a call that asks", "run bookshop.order book=emma copies=3", "Nothing ran yet", 6),
    Step("rules: a yes, and it runs once", "approvals approve ID --run", "Ordered 3 x emma"),
    Step("rules: what happened", "history list --limit 6", "ask by large-orders"),
    Step("refused: the call does not fit", "run bookshop.order boook=emma copies=99", "book", 2),
    Step("refused: a broken manifest", "-p examples/diagnostics check", "did you mean", 3),
)


def main(word: str = "") -> int:
    steps = [step for step in STEPS if word in step.title]
    port = int(
        (ROOT / "tools.d" / "bookshop.yaml").read_text().split("127.0.0.1:")[1].split("}")[0]
    )
    with bookshop(port):
        failed = list(not_as_wanted(steps))
    for step in failed:
        print(f"FAILED: {step.title}: wanted status {step.status} and {step.says!r}")
    print("" if failed else f"\nAll {len(steps)} steps did what they should.")
    return bool(failed)


def not_as_wanted(steps: list[Step]) -> Iterator[Step]:
    """Run the steps; gives those that did not do what they should."""
    printed = ""
    for step in steps:
        asked = APPROVAL.search(printed)
        command = step.command.replace("ID", asked[1] if asked else "ID")
        print(f"\n# {step.title}\n$ toolrt {command}", flush=True)
        status, printed = run(command)
        print(printed, end="" if status == 0 else f"(exit status {status})\n")
        if status != step.status or step.says not in printed:
            yield step


def run(command: str) -> tuple[int, str]:
    """Run a command line like a reader would: its exit status and what it printed."""
    done = subprocess.run(
        [TOOLRT, *command.split()],
        cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


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
