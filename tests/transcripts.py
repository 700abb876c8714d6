"""Pages that cannot rot: their files are written, their commands run, their output compared.

In a page, a fenced block whose first line is a comment with a path (`# tools.d/a.yaml`) is that
file of the page's project. In a `console` block, lines after `$ ` are commands and what follows is
what they print, on both streams. There `…` stands for anything in a line, and alone for lines.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import warm

from toolrt.bindings.bubblewrap import Needs, program

SANDBOX = program(Needs(network=False, write=True))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"(?:#|//) ([\w./-]+\.\w+)(?:\s.*)?")
END = "\x1e"
PATIENCE_S = 30


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a page, and what the page says that it prints."""

    command: str
    expected: str


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return ((match[1], match[2]) for match in FENCE.finditer(page))


def write_files(page: str, project: Path) -> None:
    """The files that the page shows, written below `project`."""
    for language, text in blocks(page):
        title = TITLE.fullmatch(text.partition("\n")[0])
        if language == "console" or title is None:
            continue
        path = project / title[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        body = text.partition("\n")[2] if language == "json" else text  # JSON has no comments
        path.write_text(body, encoding="utf-8")


def steps(page: str) -> list[Step]:
    """The commands of all `console` blocks of the page, in order."""
    text = "".join(text for language, text in blocks(page) if language == "console")
    made = (part.partition("\n") for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:])
    return [Step(command, expected) for command, _, expected in made]


def run(page: str, project: Path) -> list[tuple[Step, str]]:
    """Each step with what it really printed; one shell runs all, in `project`."""
    todo = steps(page)
    mark = f"s=$?; printf '{END}'; (exit $s)"
    script = "\n".join(f"{step.command}\n{mark}" for step in todo)
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=project, env=environment(), stdin=subprocess.DEVNULL, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as shell:  # fmt: skip
        try:
            printed, _ = shell.communicate(timeout=PATIENCE_S)
        finally:
            with suppress(ProcessLookupError):  # what a page has started, and did not end
                os.killpg(shell.pid, signal.SIGKILL)
    return list(zip(todo, printed.split(END)[:-1], strict=True))


def environment() -> dict[str, str]:
    """The reader's: our commands first on the path, no colour, nothing set for toolrt."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("TOOLRT_")}
    path = os.pathsep.join([str(warm.folder()), str(Path(sys.executable).parent), own["PATH"]])
    return {**own, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1"}


def is_as_told(step: Step, printed: str) -> bool:
    """Whether the output is what the page says."""
    lines = (re.escape(line).replace("…", ".*") for line in step.expected.splitlines())
    pattern = "".join(r"(?:.*\n)*" if line == ".*" else rf"{line}\n" for line in lines)
    return re.fullmatch(pattern, printed) is not None


def tools_of(project: Path) -> str:
    return "".join(each.read_text(encoding="utf-8") for each in project.glob("tools.d/*.yaml"))


def assert_true(page: str, project: Path) -> None:
    """Fails with the first command of the page that prints something else.

    A page about sandboxes is left out where there are none.
    """
    if "sandbox: {}" in page + tools_of(project) and SANDBOX.path is None:
        pytest.skip(f"no sandbox here: {SANDBOX.detail}")
    for step, printed in run(page, project):
        assert is_as_told(step, printed), f"$ {step.command}\n{printed}"
