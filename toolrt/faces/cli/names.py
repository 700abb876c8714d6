"""Names of tools, for completion and for 'did you mean'."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolrt.faces.cli.options import Settings, settings_of
from toolrt.faces.cli.table import count
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.catalog.compiler import Compiled
    from toolrt.catalog.snapshot import Snapshot, ToolEntry
    from toolrt.loading.loader import LoadedFiles

_NAMESPACE = re.compile(r"^namespace:\s*[\"']?([a-z][a-z0-9_]*)", re.MULTILINE)
_FOLDER = re.compile(r"^tools_dir:\s*[\"']?([^\"'#\s]+)", re.MULTILINE)
_TOOLS = re.compile(r"^tools:[^\n]*\n((?:[ \t]+[^\n]*\n|[ \t]*(?:#[^\n]*)?\n)*)", re.MULTILINE)
_KEY = re.compile(r"^([ ]+)[\"']?([a-z][a-z0-9_]*)[\"']?:", re.MULTILINE)


def require_tool(snapshot: "Snapshot", name: str, settings: Settings) -> "ToolEntry":
    """The tool of that name, or the end of the verb with the nearest one."""
    entry = snapshot.tool(name)
    if entry is not None:
        return entry
    from toolrt.core.names import did_you_mean  # noqa: PLC0415 - difflib, only for mistakes

    raise Stop(
        Exit.NOT_FOUND,
        f"there is no tool `{name}`",
        code="unknown-tool",
        hint=did_you_mean(name, snapshot.tools),
        next_=settings.command("list"),
    )


def compiled(settings: Settings) -> "Snapshot":
    """The project's tools; with errors in its files, the end of the verb that reports them."""
    return compiled_files(settings)[0]


def compiled_files(settings: Settings) -> tuple["Snapshot", "LoadedFiles"]:
    """The same, and the files that they are written in."""
    from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

    loaded = runtime.load(settings.project(), asks=True)
    if loaded.snapshot is None:
        raise broken(loaded, settings)
    return loaded.snapshot, loaded.files


def broken(loaded: "Compiled", settings: Settings) -> Stop:
    """The end of a verb that tells of every error in the files."""
    from toolrt.faces.cli.findings import rendered  # noqa: PLC0415 - only for mistakes

    errors = [one for one in loaded.diagnostics if one.severity == "error"]
    return Stop(
        Exit.MANIFESTS_INVALID,
        f"the manifests have {count(len(errors), 'error')}",
        code="manifests-invalid",
        next_=settings.command("check"),
        report=rendered(errors, loaded, color=settings.screen.has_color(on_stderr=True)),
        diagnostics=[one.document() for one in errors],
    )


def complete_tool(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of tools that begin with `incomplete`; quick, and silent about faults."""
    del param
    start = Path(settings_of(ctx).project_option or ".").resolve()
    try:
        found = next((names for at in (start, *start.parents) if (names := names_of(at))), [])
    except OSError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def names_of(project: Path) -> list[str]:
    """Names as the files of the project spell them, read without parsing YAML."""
    settings = project / "toolrt.yaml"
    named = _FOLDER.search(_text_of(settings)) if settings.is_file() else None
    files = (project / (named[1] if named else "tools.d")).glob("*.y*ml")
    return sorted(name for file in files for name in _names_in(_text_of(file)))


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _names_in(text: str) -> Iterable[str]:
    found = _NAMESPACE.search(text)
    prefix = f"{found[1]}." if found else ""
    for block in _TOOLS.findall(f"{text}\n"):
        keys = _KEY.findall(block)
        indent = min((len(spaces) for spaces, _ in keys), default=0)
        yield from (f"{prefix}{name}" for spaces, name in keys if len(spaces) == indent)
