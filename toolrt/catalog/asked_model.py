"""The model of `agent.model` as a tool of toolrt itself: what asks it goes through the same door.

So rules, retries, breakers, the journal and the metrics hold for it. It is for the loop alone: no
list holds it, and nobody calls it.
"""

from collections.abc import Mapping
from typing import Any, Final

from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean
from toolrt.dialects.wires import WIRES
from toolrt.loading.layers import Layer, Layered
from toolrt.loading.loader import LoadedFiles, WrittenTool
from toolrt.manifest.project import AgentModel

NAME: Final = "agent.model"
ATTEMPTS: Final = 3
_PATH: Final = ("agent", "model")


def add_model(files: LoadedFiles) -> None:
    """Put the tool that asks the model behind those of the project, where it has one."""
    document, agent = files.project_document, files.project.agent
    if document is None or agent is None or agent.model is None:
        return
    target = agent.model.target
    if target not in files.targets and not files.is_broken_target(target):
        message = f"there is no target `{target}`"
        hint = did_you_mean(target, files.targets) or "declare it under `targets` of a tools file"
        fault = Fault("unknown-target", message, ("target",), hint)
        files.report(document, _PATH, fault)
        return
    layered = Layered([Layer("built-in", document, _PATH, _written(agent.model))])
    files.tools.append(WrittenTool(NAME, "agent", layered, document, _PATH))


def _written(model: AgentModel) -> Mapping[str, Any]:
    """What a file would say of it."""
    wire = WIRES[model.dialect]
    return {
        "description": f"An answer of {model.name}.",
        "expose": False,
        "effect": "read",
        "idempotent": True,
        "input_schema": {
            "type": "object",
            "properties": {"body": {"type": "object", "sensitive": True}},
            "required": ["body"],
            "additionalProperties": False,
        },
        "http": {
            "target": model.target,
            "url": wire.path(model.name),
            "method": "POST",
            "headers": dict(wire.headers),
            "json": "{{ body }}",
            "output": "json",
        },
        "timeout": {"attempt": f"{model.timeout}s", "total": f"{model.timeout * ATTEMPTS}s"},
        "retry": {"attempts": ATTEMPTS, "initial": "500ms"},
        "result": {"max_size": "8MiB", "error": "error.message"},
    }
