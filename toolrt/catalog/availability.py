"""Why a tool that is written well is not run all the same: for now, or in this version."""

from toolrt.bindings.base import TARGET, Effect
from toolrt.catalog.snapshot import Blocked
from toolrt.core.faults import Fault
from toolrt.core.faults import Path as FaultPath
from toolrt.loading.layers import Layered
from toolrt.loading.loader import LoadedFiles
from toolrt.manifest.tool import ToolManifest

NO_APPROVALS = "it asks a person first, and approvals do not work in this version"


def refusal(manifest: ToolManifest, effect: Effect, faults: list[Fault]) -> str | None:
    """Why this version never runs the tool: one that asks people is not run unasked."""
    mode = manifest.hitl.mode if manifest.hitl else None
    if mode == "none" or (mode is None and effect != "irreversible"):
        return None
    key, value = ("hitl", mode) if mode else ("effect", effect)
    message = f"`{key}: {value}` asks a person, and approvals do not work yet: calls are refused"
    hint = "`hitl: none` lets the tool run unasked"
    faults.append(Fault("not-yet", message, (key,), hint, "warning"))
    return NO_APPROVALS


def blocked(
    reason: str | None, path: FaultPath, files: LoadedFiles, layered: Layered
) -> Blocked | None:
    """Why the tool cannot be called for now; the place is looked up when somebody asks."""
    if reason is None:
        return None

    def place() -> str:
        if path[:1] == (TARGET,):
            target = files.targets[str(path[1])]
            file, span = target.document.file, target.document.span((*target.path, *path[2:]))
        else:
            file, span = layered.origin(path).document.file, layered.span(path)
        return f"{file}:{span.line}"

    return Blocked(reason, place)
