"""Starting is quick because nothing heavy is imported before it is used."""

import json
import subprocess
import sys

import pytest

from toolrt.faces.cli.main import VERBS

HEAVY = {
    "aiohttp", "cel_expr_python", "docstring_parser", "httpx", "jinja2", "jmespath",
    "jsonschema_rs", "opentelemetry", "prometheus_client", "pydantic", "rich", "sqlite3", "starlette", "tenacity", "watchfiles", "yaml",
}  # fmt: skip
REPORT = "import json, sys; json.dump(sorted(sys.modules), sys.stderr)"


def modules_after(*statements: str) -> set[str]:
    """Top-level modules that a fresh interpreter has imported after `statements`."""
    code = "\n".join((*statements, REPORT))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    return {name.partition(".")[0] for name in json.loads(done.stderr)}


def command(*arguments: str) -> tuple[str, ...]:
    return (
        "import sys",
        f"sys.argv = {['toolrt', *arguments]}",
        "from toolrt.faces.cli.main import run",
        "try: run()",
        "except SystemExit: pass",
    )


HELP = [[verb, "--help"] for verb in (*VERBS, "approvals approve", "history list")]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *(" ".join(each).split() for each in HELP)]
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert modules_after(*command(*arguments)) & HEAVY == set()


def test_importing_toolrt_imports_nothing_heavy() -> None:
    assert modules_after("import toolrt") & (HEAVY | {"asyncio", "click"}) == set()


def test_a_heavy_import_is_noticed() -> None:
    assert modules_after("import jmespath") & HEAVY == {"jmespath"}
