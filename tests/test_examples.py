"""Every example does what its README shows; the tools of this repository work; so does the demo."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import transcripts

import toolrt

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
THEMES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))
MANIFESTS = [*ROOT.glob("tools.d/*.yaml"), *EXAMPLES.glob("*/tools.d/*.yaml")]
PORT = "18765"


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """The port of a running bookshop."""
    command = [sys.executable, str(EXAMPLES / "bookshop.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip().rpartition(":")[2]
        finally:
            server.terminate()


@pytest.fixture
def tmp_path(disk: Path) -> Path:
    return disk


def copied(folder: Path, to: Path, port: str) -> Path:
    """A copy of a project whose targets go to `port`."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("__pycache__", ".toolrt"))
    for manifest in to.glob("tools.d/*.yaml"):
        manifest.write_text(manifest.read_text().replace(PORT, port))
    return to


@pytest.mark.parametrize("theme", THEMES)
def test_an_example_prints_what_its_readme_shows(theme: str, tmp_path: Path, port: str) -> None:
    project = copied(EXAMPLES / theme, tmp_path / theme, port)
    page = (project / "README.md").read_text(encoding="utf-8").replace(PORT, port)

    assert transcripts.steps(page)
    transcripts.assert_true(page, project)


@pytest.mark.parametrize("lines", [2, 200_000])
def test_the_longest_lines_are_found_in_a_text_of_any_length(lines: int, tmp_path: Path) -> None:
    project = copied(EXAMPLES / "commands", tmp_path / "commands", PORT)
    text = "\n".join(f"line {number}" for number in range(1, lines + 1))

    result = toolrt.run("files.longest", {"text": text, "lines": 1}, project=project)

    assert result.data == [f"{len(f'line {lines}')}: line {lines}"]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_script_ends_a_pipe_with_a_program_that_stops_reading(manifest: Path) -> None:
    assert re.findall(r"\|\s*(?:head|grep -q)\b", manifest.read_text(encoding="utf-8")) == []


def test_every_folder_of_examples_has_a_readme() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {"__pycache__"}

    assert folders == set(THEMES)


@pytest.fixture
def repository(tmp_path: Path, port: str) -> Path:
    """What is in this repository, in a repository of its own with one commit."""
    here = tmp_path / "toolrt"
    for path in listed():
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, here / path)
    bookshop = here / "tools.d" / "bookshop.yaml"
    bookshop.write_text(bookshop.read_text().replace(PORT, port))
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.com"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "everything"]):
        subprocess.run(["git", *command], cwd=here, check=True)
    return here


def listed() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if (ROOT / line).is_file()]


def free_port() -> str:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def is_free(port: str) -> bool:
    """Whether nobody listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) != 0


def test_the_demo_shows_every_step_and_leaves_nothing_behind(repository: Path) -> None:
    own = free_port()
    manifest = repository / "tools.d" / "bookshop.yaml"
    manifest.write_text(manifest.read_text().replace(manifest_port(manifest), own))

    done = demo(repository)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "steps did what they should" in done.stdout
    assert is_free(own)


def test_the_rules_of_this_repository_pass_their_tests(repository: Path) -> None:
    command = [sys.executable, "-m", "toolrt", "test", "-q"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "policy coverage: 3 of 3 rules matched (100 %)" in done.stdout


def test_the_demo_fails_when_a_step_does(repository: Path) -> None:
    broken = repository / "examples" / "diagnostics" / "tools.d" / "broken.yaml"
    broken.unlink()
    manifest = repository / "tools.d" / "bookshop.yaml"
    manifest.write_text(manifest.read_text().replace(manifest_port(manifest), free_port()))

    done = demo(repository, "broken")

    assert done.returncode == 1
    assert "FAILED: refused: a broken manifest" in done.stdout


def test_the_demo_says_when_its_port_is_taken(repository: Path) -> None:
    done = demo(repository)

    assert done.returncode == 1
    assert "is taken" in done.stderr


def manifest_port(manifest: Path) -> str:
    return manifest.read_text().split("127.0.0.1:")[1].split("}")[0]


def demo(repository: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(repository / "examples" / "demo.py"), *words]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=30
    )
