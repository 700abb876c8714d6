"""`toolrt init`: a project that works, written where there is none."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.starter import FILES, NEXT
from toolrt.faces.exits import Exit, Stop

EXAMPLES = (
    ("toolrt init", "in this folder"),
    ("toolrt init demo", "in a new folder"),
    ("toolrt init demo --dry-run", "only say what would be written"),
)

_LENIENT = frozenset({".gitignore"})
"""Files that a folder may well have already; they are left as they are."""


@click.command("init", cls=Verb, examples=EXAMPLES)
@click.argument("path", required=False)
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@click.pass_obj
def verb(settings: Settings, *, path: str | None, dry_run: bool) -> Exit:
    """Write a project to PATH, or to this folder: tools of four kinds, and rules with their tests.

    Nothing is ever overwritten. What is written works offline, `toolrt check` has nothing to say
    about it, and its tests pass. One tool asks a person before it runs. Where tools.d has files
    already, only the schemas for editors are written.
    """
    named = path or settings.project_option
    root = Path(named or ".")
    has_tools = any((root / "tools.d").glob("*.y*ml"))
    wanted = _schemas()
    if not has_tools:
        wanted = {**FILES, **wanted}
        _refuse_if_used(root, wanted)
    missing = {name: text for name, text in wanted.items() if not (root / name).exists()}
    if not dry_run:
        _write(root, missing)
    document = {
        "schema": SCHEMA,
        "project": str(root),
        "dry_run": dry_run,
        "files": list(missing),
        "next": _next(named, has_samples=not has_tools),
    }
    settings.screen.show(document, lambda: _text(document))
    if has_tools:
        settings.screen.say("tools.d has files already: no samples, only the schemas for editors")
    if ".gitignore" not in missing and not _keeps_schemas(root / ".gitignore"):
        settings.screen.say(
            "for .gitignore: `.toolrt/*` and `!.toolrt/schema/`, so that all have it"
        )
    return Exit.OK


def _schemas() -> dict[str, str]:
    """The editors' schemas, which the files' first lines point to."""
    from toolrt.catalog.editor import editor_schema  # noqa: PLC0415 - `--help` loads no catalogue

    return {
        f".toolrt/schema/{which}.json": json.dumps(editor_schema(which), indent=1) + "\n"
        for which in ("tools", "policies", "project")
    }


def _keeps_schemas(gitignore: Path) -> bool:
    return gitignore.is_file() and "!.toolrt/schema/" in gitignore.read_text(errors="replace")


def _refuse_if_used(root: Path, wanted: Mapping[str, str]) -> None:
    """Stops when the folder holds a file that differs from ours."""
    own = [path for folder in ("tools.d", "policies.d") for path in (root / folder).glob("*")]
    theirs = [path.relative_to(root).as_posix() for path in own]
    theirs += [name for name in ("toolrt.yaml", *wanted) if (root / name).exists()]
    other = sorted({name for name in theirs if not _is_ours(root / name, wanted.get(name))})
    if other:
        raise Stop(
            Exit.USAGE,
            f"{', '.join(other)} {'exists' if len(other) == 1 else 'exist'} already",
            code="usage",
            hint="init overwrites nothing",
            next_="toolrt init another-folder",
        )


def _is_ours(path: Path, text: str | None) -> bool:
    if path.name in _LENIENT or path.parent.name == "schema":
        return True
    return text is not None and path.is_file() and path.read_text(errors="replace") == text


def _write(root: Path, files: Mapping[str, str]) -> None:
    try:
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        message = f"cannot write {error.filename}: {error.strerror}"
        stop = Stop(Exit.USAGE, message, code="usage", next_="toolrt init another-folder")
        raise stop from error


def _next(named: str | None, *, has_samples: bool) -> list[str]:
    where = f"-p {shlex.quote(named)} " if named else ""
    return [f"toolrt {where}{command}" for command in (NEXT if has_samples else ("check", "list"))]


def _text(document: Mapping[str, Any]) -> str:
    does = "would write" if document["dry_run"] else "wrote"
    lines = [f"{does} {Path(document['project']) / name}" for name in document["files"]]
    lines = lines or ["nothing to do: all of it is there"]
    return "\n".join([*lines, "", "Next:", *(f"  {command}" for command in document["next"])])
