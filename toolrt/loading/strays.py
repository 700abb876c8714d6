"""What is to be said of files and folders that are named almost as what is read, and are not.

The loader adds it to what it found itself. Settings that nobody reads must not look like none, so
a misnamed project file is an error; what lies beside the manifests is a warning.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from toolrt.core.faults import Fault, Severity
from toolrt.loading.files import UnreadableError, content, is_missing, manifest_files, passed_over
from toolrt.loading.findings import Finding, InDocument
from toolrt.loading.reader import Document
from toolrt.loading.stock import Stock
from toolrt.manifest.project import ProjectFile
from toolrt.schemas.phrases import visible

_OF_MANIFEST: Final = re.compile(
    rb"^[{\s]*[\"\[]?(?:tools|targets|rules|settings)[\"\]]?\s*[:=\n]", re.MULTILINE
)
_START: Final = 4096
"""How many bytes of a file are looked at."""
_ALIKE: Final[Mapping[str, frozenset[str]]] = {
    "tools.d": frozenset({"tool", "tool.d", "tools", "toolsd", "tools_d", "tools-d"}),
    "policies.d": frozenset(
        {"policies", "policiesd", "policies_d", "policies-d", "policy", "policy.d", "rules.d"}
    ),
}
"""How the folders are called by those who do not remember their names."""


def of_root(stock: Stock, name: str) -> Iterator[Finding]:
    """An error for each file that is named almost as the project file, which is called `name`."""
    is_there = not is_missing(stock.root / name)
    for path in stock.misnamed(name):
        shown = visible(stock.shown(path))
        message = f"`{shown}` is not read: the settings of a project are in `{name}`"
        hint = f"rename it to `{name}`"
        if is_there:
            hint = f"move what is to count into `{name}`, and remove this file"
        yield _found(stock, path, message, hint, "error")


def of_folders(
    stock: Stock, project: ProjectFile, documents: Collection[Document]
) -> Iterator[Finding]:
    """A warning for each file beside the manifests that is none, and for each folder that is named
    almost as one that is not there.

    Tools have other files as well, such as schemas: of these only such count that look like
    manifests and are named by none of the `documents`.
    """
    tools, policies = (stock.root / each for each in (project.tools_dir, project.policies_dir))
    for path in passed_over(tools, stock.root):
        is_named = any(_name_in(path) in each.text for each in documents)
        if not is_named and _looks_like_manifest(path):
            yield _beside(stock, path)
    for path in passed_over(policies, stock.root):
        if policies != tools:
            yield _beside(stock, path)
    for folder in (tools, policies):
        yield from _instead_of(stock, folder, (tools, policies))


def _name_in(path: Path) -> str:
    """What others call a file by: Python names modules without their ending."""
    return path.stem if path.suffix == ".py" else path.name


def _looks_like_manifest(path: Path) -> bool:
    if any(ending in path.name.lower() for ending in (".yaml", ".yml")):
        return True
    try:
        return _OF_MANIFEST.search(content(path, _START)) is not None
    except UnreadableError:
        return False


def _beside(stock: Stock, path: Path) -> Finding:
    shown, folder = visible(stock.shown(path)), visible(stock.shown(path.parent))
    message = f"`{shown}` is not read: manifests have names that end in .yaml or .yml"
    hint = f"rename it, or move it out of `{folder}`"
    return _found(stock, path, message, hint, "warning")


def _instead_of(stock: Stock, folder: Path, own: Collection[Path]) -> Iterator[Finding]:
    """A folder with manifests that was probably meant to be `folder`, which is not there."""
    names = _ALIKE.get(folder.name)
    if names is None or folder.parent != stock.root or not is_missing(folder):
        return
    for path in _folders_in(stock.root):
        if path.name.lower() in {folder.name, *names} and path not in own and _has_manifests(path):
            shown = visible(stock.shown(path))
            message = f"`{shown}` is not read: there is no folder `{folder.name}`"
            hint = f"rename it to `{folder.name}`"
            yield _found(stock, path, message, hint, "warning")


def _folders_in(root: Path) -> list[Path]:
    try:
        return sorted(each for each in root.iterdir() if each.is_dir())
    except (OSError, ValueError):  # told where the project is looked for
        return []


def _has_manifests(folder: Path) -> bool:
    try:
        return bool(manifest_files(folder))
    except UnreadableError:
        return False


def _found(stock: Stock, path: Path, message: str, hint: str, severity: Severity) -> Finding:
    place = InDocument(Document(stock.shown(path), ""), ())
    return Finding(Fault("not-read", message, (), hint, severity), place, ())
