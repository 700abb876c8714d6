"""`do`: the model of the project as a tool, so that other agents can hand it a task (U66).

What it calls is called on behalf of whoever called `do`, by the same rules. Where a person has to
decide, it says so, and goes on when it is called again with the conversation that it names.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolrt.catalog.workshop import Workshop
from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Fault
from toolrt.core.results import Answer

NAME: Final = "do"
MANIFEST: Mapping[str, Any] = {
    "title": "Do a task",
    "description": (
        "Hand a task to an agent that has the tools of this server. It calls them until it is done,"
        " and answers in words. Where a person has to decide first, it says so: call it again with"
        " the conversation that it names, and no task, once that is done."
    ),
    "effect": "write",
    "timeout": {"attempt": "10m", "total": "10m"},
    "input_schema": {
        "type": "object",
        "properties": {
            "task": {"type": "string", "minLength": 1, "description": "What to do."},
            "conversation": {
                "type": "string",
                "maxLength": 100,
                "description": "Go on with this one, or ask it more with a task.",
            },
        },
        "anyOf": [{"required": ["task"]}, {"required": ["conversation"]}],
        "additionalProperties": False,
    },
}

Ask = Callable[[Invocation, str | None, str | None], Awaitable[dict[str, Any]]]


class Askers:
    """Who asks the model of one runtime; the runtime puts it there."""

    def __init__(self) -> None:
        self.ask: Ask | None = None

    async def close(self) -> None:
        self.ask = None


class Doing:
    """Gives the model's answer."""

    def __init__(self, askers: Askers) -> None:
        self._askers = askers

    async def call(self, invocation: Invocation) -> Answer:
        ask, asked = self._askers.ask, invocation.arguments
        if ask is None:
            raise RefusedError("there is nobody here who asks", code="unsupported")
        return Answer(await ask(invocation, asked.get("task"), asked.get("conversation")))

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"asks": dict(invocation.arguments)}


def doing_of(workshop: Workshop) -> Doing:
    """The binding; a project without a model is reported."""
    files = workshop.files
    agent = files.project.agent
    if (agent is None or agent.model is None) and files.project_document is not None:
        place = ("builtins", files.project.builtins.index(NAME))
        hint = "write `agent: {model: {dialect, name, target}}`"
        message = "`do` hands tasks to the model of `agent`, and there is none"
        files.report(files.project_document, place, Fault("no-effect", message, (), hint))
    return Doing(workshop.services.share(Askers))
