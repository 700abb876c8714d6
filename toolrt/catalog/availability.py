"""Why a tool that is written well cannot be called for now."""

from toolrt.bindings.base import TARGET
from toolrt.catalog.snapshot import Blocked
from toolrt.core.faults import Path as FaultPath
from toolrt.loading.layers import Layered
from toolrt.loading.loader import LoadedFiles


def blocked(
    reason: str | None, path: FaultPath, files: LoadedFiles, layered: Layered
) -> Blocked | None:
    """Why the tool cannot be called for now; the place is looked up when somebody asks."""
    if reason is None:
        return None
    target = files.targets[str(path[1])] if path[:1] == (TARGET,) else None

    def place() -> str:
        if target is not None:
            file, span = target.document.file, target.document.span((*target.path, *path[2:]))
        else:
            file, span = layered.origin(path).document.file, layered.span(path)
        return f"{file}:{span.line}"

    return Blocked(reason, place)
