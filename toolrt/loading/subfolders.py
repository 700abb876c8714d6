"""What is to be said of manifests that lie in subfolders, where nothing reads them.

The loader adds it to what it found itself. A rule that is not read must not look like no rule:
hence an error there, and a warning about tools.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolrt.core.faults import Fault, Severity
from toolrt.loading.files import MOST_NOT_READ
from toolrt.loading.findings import Finding, InDocument
from toolrt.loading.reader import Document
from toolrt.loading.stock import Stock
from toolrt.manifest.project import ProjectFile
from toolrt.schemas.phrases import visible

_SEVERITIES: Final[tuple[Severity, Severity]] = ("warning", "error")


def of_project(stock: Stock, project: ProjectFile) -> Iterator[Finding]:
    """One finding for each subfolder of the tools and of the policies that has manifests."""
    own = (stock.root / project.tools_dir, stock.root / project.policies_dir)
    for folder, severity in zip(own, _SEVERITIES, strict=True):
        for below, files in stock.not_read(folder, *own).items():
            fault = _fault(stock, below, len(files), severity)
            yield Finding(fault, InDocument(Document(stock.shown(below), ""), ()), ())


def _fault(stock: Stock, below: Path, count: int, severity: Severity) -> Fault:
    what, them = ("1 file is", "it") if count == 1 else (f"{count} files are", "them")
    if count == MOST_NOT_READ:
        what = f"{count} files or more are"
    message = f"`{visible(stock.shown(below))}` is a folder: its {what} not read"
    hint = f"move {them} up into `{visible(stock.shown(below.parent))}`"
    return Fault("not-read", message, (), hint, severity)
