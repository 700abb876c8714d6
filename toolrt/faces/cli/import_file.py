"""A file of tools that `toolrt import` writes: to stdout, or to a new file and never over one."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.options import Settings
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.yaml_text import Path as YamlPath
from toolrt.faces.yaml_text import to_yaml
from toolrt.loading.events import EVENT_LIMIT
from toolrt.loading.reader import SIZE_LIMIT

F = TypeVar("F", bound=Callable[..., Any])

_MODELINE = "# yaml-language-server: $schema={}\n"
_SCHEMA = ".toolrt/schema/tools.json"


def file_options(function: F) -> F:
    """`--to` and `--force`."""
    to = click.option("--to", metavar="FILE", help="Write to this file, which must not be there.")
    force = click.option("--force", is_flag=True, help="With --to: write over what is there.")
    made: F = to(force(function))
    return made


def hand_over(
    settings: Settings,
    manifest: Mapping[str, Any],
    comments: Sequence[str],
    report: Mapping[str, Any],
    *,
    to: str | None,
    force: bool,
    comment: Callable[[YamlPath], str | None] = lambda _: None,
) -> Exit:
    """The file, to stdout or to `to`; as another format than text `report` with the file in it.

    `comments` stand at its top; `comment` gives what to say behind the scalar at a path.
    """
    head = "".join(f"# {each}\n" for each in comments)
    text = f"{_MODELINE.format(_schema_from(to))}{head}{to_yaml(manifest, comment)}"
    if len(text.encode()) > SIZE_LIMIT or _events(manifest) > EVENT_LIMIT:
        message = "that would be too large a file to load"
        hint = "choose with --include, or name the document under `sources`"
        raise Stop(Exit.USAGE, message, code="usage", hint=hint, next_="toolrt import --help")
    if to is not None:
        _write(Path(to), text, force=force)
        settings.screen.say(f"wrote {to}")
    document = {"schema": SCHEMA, **report, "file": to, "manifest": manifest}
    settings.screen.show(document, lambda: "" if to is not None else text.rstrip("\n"))
    return Exit.OK


def refuse_taken(to: str | None, *, force: bool) -> None:
    """Stops before any work where the file is there already."""
    if to is not None and not force and os.path.lexists(to):
        message = f"{to} is there already"
        hint = "--force writes over it"
        raise Stop(Exit.USAGE, message, code="usage", hint=hint, next_="toolrt import --help")


def _events(value: Any) -> int:
    """How many a reader of YAML meets."""
    if isinstance(value, Mapping):
        return 2 + sum(1 + _events(each) for each in value.values())
    return 2 + sum(map(_events, value)) if isinstance(value, (list, tuple)) else 1


def _schema_from(to: str | None) -> str:
    """Where the editors' schema lies, seen from the file: beside the folder that it stands in."""
    is_at_root = to is not None and Path(to).parent.name == ""
    return _SCHEMA if is_at_root else f"../{_SCHEMA}"


def _write(path: Path, text: str, *, force: bool) -> None:
    """A new file, whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
        if force:
            draft.replace(path)
        else:
            os.link(draft, path, follow_symlinks=False)
            draft.unlink()
    except OSError as error:
        draft.unlink(missing_ok=True)
        message = f"cannot write {path}: {error.strerror}"
        stop = Stop(Exit.USAGE, message, code="usage", next_="toolrt import --help")
        raise stop from error
