"""What files a project has and what is in them, before anything of it is checked.

A survey is cheap enough to be made twice before each reload. Only `toolrt.yaml` is parsed, for it
says where the other files are.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from toolrt.core.faults import child
from toolrt.loading.files import UnreadableError
from toolrt.loading.loader import PROJECT_FILE
from toolrt.loading.reader import Document
from toolrt.loading.stock import Library, Stock
from toolrt.manifest.project import ProjectFile

LOCK = "toolrt.lock"
"""What people approved of foreign tools: whoever may write there decides what tools may do."""


def survey(root: Path, library: Library, more: Iterable[Path] = ()) -> Stock:
    """The project at `root` as it is now. `more` are files that count beside its manifests."""
    stock = Stock(root, library)
    for path in (root / LOCK, *more):
        stock.look(path)
    stock.misnamed(PROJECT_FILE)
    tools, policies = _folders(stock)
    stock.folders = (tools, policies)
    _look_into(stock, tools, allow_merge=True)
    _look_into(stock, policies, allow_merge=False)
    for folder in stock.folders:
        stock.not_read(folder, *stock.folders)
    return stock


def _folders(stock: Stock) -> tuple[Path, Path]:
    """The folders of the tools and of the policies, as the project's own file names them."""
    path = stock.root / PROJECT_FILE
    document = None
    if os.path.lexists(path):
        with suppress(UnreadableError):
            document = stock.document(path)
    built_in = ProjectFile()
    return (
        stock.root / (_named(document, "tools_dir") or built_in.tools_dir),
        stock.root / (_named(document, "policies_dir") or built_in.policies_dir),
    )


def _named(document: Document | None, key: str) -> str | None:
    """The text under `key`; a number is what was written, as wherever a text is wanted."""
    value = child(document.data, key) if document is not None else None
    if isinstance(value, str) or document is None:
        return value
    return document.source_text((key,)) if isinstance(value, int | float) else None


def _look_into(stock: Stock, folder: Path, *, allow_merge: bool) -> None:
    try:
        paths = stock.manifest_files(folder)
    except UnreadableError:
        return
    for path in paths:
        stock.want(path, allow_merge=allow_merge)
