"""Diagnostics on a terminal: files are named from where the user stands, ready to be opened."""

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolrt.faces.output import one_line
from toolrt.loading.snippet import render

if TYPE_CHECKING:
    from toolrt.catalog.compiler import Compiled
    from toolrt.faces.cli.options import Settings
    from toolrt.loading.diagnostics import Diagnostic
    from toolrt.opened import Runtime

_MOST_WEAK = 3


def rendered(found: Iterable["Diagnostic"], loaded: "Compiled", *, color: bool) -> str:
    """What was found, with excerpts; no line end at the end."""
    root = loaded.files.root
    sources = {from_here(root, file): text for file, text in loaded.sources.items()}
    shown = [replace(one, file=from_here(root, one.file)) for one in found]
    return render(shown, sources, color=color).rstrip("\n")


def from_here(root: Path, file: str) -> str:
    """A file of the project in `root`, as the current folder sees it."""
    return os.path.relpath(root.resolve() / file)


def tell_weak(
    opened: "Runtime", settings: "Settings", told: Collection[str] = ()
) -> frozenset[str]:
    """Say on stderr where rules hold for less than they seem to; `told` are not said again.

    Gives all that there is to say now.
    """
    from toolrt.policy.weak import weak  # noqa: PLC0415 - `--help` loads no policy

    found = {each.message: each for each in (one.diagnostic() for one in weak(opened.findings))}
    new = [each for message, each in found.items() if message not in told]
    screen = settings.screen
    label = screen.paint("warning:", on_stderr=True, fg="yellow")
    for each in new[:_MOST_WEAK]:
        hint = f"; {each.hint}" if each.hint else ""
        where = f"{from_here(opened.project, each.file)}:{each.line}:{each.column}"
        screen.say(f"{label} {where}: {one_line(f'{each.message}{hint}')}")
    if len(new) > _MOST_WEAK:
        more = f"{len(new) - _MOST_WEAK} more about rules"
        screen.say(f"{label} {more}; see {settings.command('check')}")
    return frozenset(found)
