"""The client that a call came from, as far as a tool may reach it: to tell it something, or to ask.

A face that has such a client puts it in place for the time of a call; `toolrt.Context` finds it
there. Where there is none, whoever asks is told so at once.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from toolrt.core.errors import ToolError

Capability = Literal["elicitation", "sampling", "roots"]
REQUIRED = "required_capabilities"
"""Name of the detail that says what a client would have to be able to do."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask a client, by the method and with the params of MCP; `key` names it in its
    call: whoever answers a repeated call answers by that. `about` is what it decides of, if
    anything: an answer for one such thing is none for the next.
    """

    key: str
    capability: Capability
    method: str
    params: Mapping[str, Any]
    about: str | None = None


class Client(Protocol):
    """A client that can be reached while its call is served, from the loop that serves it."""

    def can(self, capability: Capability) -> bool:
        """Whether it said that it can be asked for this."""
        ...

    def log(self, level: str, message: str, tool: str) -> None:
        """Tell it something about a running call."""
        ...

    async def ask(self, question: Question) -> Mapping[str, Any]:
        """What it answers. Raises ToolError where it does not."""
        ...


class ClientLacksError(ToolError):
    """The client cannot be asked for what the tool needs; nothing was asked."""

    def __init__(self, tool: str, capability: Capability) -> None:
        super().__init__(
            f"`{tool}` has to ask the client, which offers no {capability}",
            code="unsupported",
            hint=f"use a client with `{capability}`, or give what is asked for as an argument",
            details={REQUIRED: {capability: {}}},
        )


@dataclass(frozen=True, slots=True)
class Elicited:
    """What a person at the client did about a form; `content` has the fields if they accepted."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the client's model said: the text, and the whole message as the client sent it."""

    text: str
    message: Mapping[str, Any]


CLIENT: ContextVar[Client | None] = ContextVar("toolrt_client", default=None)


def form(key: str, message: str, fields: Mapping[str, Any]) -> Question:
    """Ask a person for `fields`: JSON Schemas by name, or the schema of an object of them."""
    is_schema = fields.get("type") == "object" and "properties" in fields
    schema = fields if is_schema else _object_of(fields)
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return Question(key, "elicitation", "elicitation/create", params)


def sample(
    key: str, prompt: str | Sequence[Mapping[str, Any]], max_tokens: int, more: Mapping[str, Any]
) -> Question:
    """Ask the client's model; `more` are further params of the method, such as `systemPrompt`."""
    said = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    messages = said if isinstance(prompt, str) else list(prompt)
    params = {"messages": messages, "maxTokens": max_tokens, **more}
    return Question(key, "sampling", "sampling/createMessage", params)


def roots(key: str) -> Question:
    return Question(key, "roots", "roots/list", {})


def elicited(answer: Mapping[str, Any]) -> Elicited:
    """What was said to a form."""
    content = answer.get("content")
    return Elicited(answer["action"], content if isinstance(content, dict) else {})


def sampled(answer: Mapping[str, Any]) -> Sampled:
    """What a model said; a message of several parts has their texts one after another."""
    content = answer.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text", "") for part in parts if isinstance(part, dict)]
    return Sampled("\n".join(text for text in texts if text), answer)


def is_answer(question: Question, answer: object) -> bool:
    """Whether it has the shape that the question asks for."""
    if not isinstance(answer, Mapping):
        return False
    if question.capability == "roots":
        return isinstance(answer.get("roots"), list)
    if question.capability == "sampling":
        return isinstance(answer.get("content"), dict | list)
    return answer.get("action") in {"accept", "decline", "cancel"}


def _object_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    optional = {name for name, each in fields.items() if "default" in each}
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": dict(fields), "required": required}
