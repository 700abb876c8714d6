"""How bad it is that a tool names another one that is not there."""

from collections.abc import Iterable

from toolrt.core.faults import Severity
from toolrt.loading.loader import LoadedFiles


def missing(files: LoadedFiles, name: str) -> Severity | None:
    """How bad it is to name a tool that is not there: nothing is wrong while its source is not
    known, and what a server no longer has is no error of the project.
    """
    if not files.knows.tools and _has_prefix(name, (each.name for each in files.tool_sources)):
        return None
    return "warning" if _has_prefix(name, files.servers) else "error"


def _has_prefix(name: str, sources: Iterable[str]) -> bool:
    return any(name.startswith(f"{source}.") for source in sources)
