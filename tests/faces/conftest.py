"""A small project, and the real command line on it: in this process, or as a child."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolrt.faces.cli.main import cli

TOOLS = """\
namespace: t
tools:
  add:
    description: Add two numbers. Nothing else happens.
    tags: [maths]
    parameters:
      a: {type: integer, description: The first number.}
      b: {type: integer, minimum: 0, default: 2}
    python: sums:add
    effect: read
  echo:
    description: Say it again.
    parameters:
      text: {type: string, examples: [hello]}
      loud: {type: boolean, required: false}
    command: {argv: [printf, "%s", "{{ text }}"], env: {LOUD: "{{ loud }}"}}
    effect: read
  fails:
    description: It fails.
    shell: exit 3
  nap:
    description: Sleep for a while.
    parameters: {seconds: {type: number}}
    shell: {script: 'sleep "$1"', argv: ["{{ seconds }}"]}
    timeout: 20s
  broken:
    description: Needs a secret.
    parameters: {}
    http: {url: "http://127.0.0.1:9/", headers: {X-Key: "${env:TOOLRT_TEST_NEVER_SET}"}}
"""

SUMS = '''\
"""Sums."""


def add(a: int, b: int = 2) -> int:
    return a + b
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "tools.d").mkdir(parents=True)
    (root / "tools.d" / "t.yaml").write_text(TOOLS)
    (root / "sums.py").write_text(SUMS)
    return root


@pytest.fixture
def invoke(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Result]]:
    """`invoke("run", "t.add", "a:=1")`, inside the project."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("TOOLRT_PROJECT", raising=False)
    path = list(sys.path)

    def call(*args: str, **more: object) -> Result:
        return CliRunner().invoke(cli, list(args), **more)

    yield call
    sys.path[:] = path
    for name in ("sums", "text_tools"):
        sys.modules.pop(name, None)


@pytest.fixture
def child(project: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`child("run", "t.add")` as a process of its own."""

    def call(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **more.pop("env", {})}
        command = [sys.executable, "-m", "toolrt", *args]
        return subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True,
            timeout=30, check=False, **more,
        )  # fmt: skip

    return call


@pytest.fixture
def as_user(monkeypatch):
    """`as_user("ann")`: whose terminal it is from now on."""

    def become(name):
        monkeypatch.setattr("toolrt.faces.cli.caller._os_user", lambda: name)

    return become
