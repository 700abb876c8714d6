"""Diagnostics on a terminal: files are named from where the user stands, ready to be opened."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolrt.loading.snippet import render

if TYPE_CHECKING:
    from toolrt.catalog.compiler import Compiled
    from toolrt.loading.diagnostics import Diagnostic


def rendered(found: Iterable["Diagnostic"], loaded: "Compiled", *, color: bool) -> str:
    """What was found, with excerpts; no line end at the end."""
    root = loaded.files.root
    sources = {from_here(root, file): text for file, text in loaded.sources.items()}
    shown = [replace(one, file=from_here(root, one.file)) for one in found]
    return render(shown, sources, color=color).rstrip("\n")


def from_here(root: Path, file: str) -> str:
    """A file of the project in `root`, as the current folder sees it."""
    return os.path.relpath(root.resolve() / file)
