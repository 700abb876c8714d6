"""What `hitl` does to a tool's own words: fields that a person fills, and hints for the model."""

from toolrt.bindings.base import Effect
from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.tool import ToolManifest

CONFIRM = (
    "Call this tool directly; do not ask for permission in text. "
    "The call waits until a person has approved it."
)


def asked_fields(
    manifest: ToolManifest, parameters: Parameters, faults: list[Fault]
) -> tuple[str, ...]:
    """The parameters that a person fills (mode `input`); all of them where none is named."""
    hitl = manifest.hitl
    if hitl is None:
        return ()
    if hitl.mode != "input":
        if hitl.fields:
            message = "`fields` are for `mode: input`"
            faults.append(Fault("no-effect", message, ("hitl", "fields"), None, "warning"))
        return ()
    visible = parameters.names - parameters.bound.keys()
    for number, name in enumerate(hitl.fields):
        if name not in visible:
            message = f"`{name}` is no parameter that a person can fill"
            hint = did_you_mean(name, visible)
            faults.append(Fault("unknown-name", message, ("hitl", "fields", number), hint))
    return tuple(hitl.fields) or tuple(sorted(visible))


def with_hints(
    description: str, manifest: ToolManifest, effect: Effect, asked: tuple[str, ...]
) -> str:
    """The description, with what a model should know about the people who are asked."""
    mode = manifest.hitl.mode if manifest.hitl else None
    if mode is None and effect == "irreversible":
        mode = "confirm"
    if mode == "confirm":
        return f"{description} {CONFIRM}"
    if mode != "input":
        return description
    names = ", ".join(f"`{name}`" for name in asked)
    return (
        f"{description} Call this tool directly. A person fills {names}: "
        "do not include them, and do not ask for them in text."
    )
