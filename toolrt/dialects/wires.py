"""What a request to each vendor's model looks like, and what stands in its answer.

Tools out, calls in and results out are the dialects' work; here is the rest of a conversation: its
path, its headers, its messages in the vendor's own form, which is also how they are kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked; `tools` are documents of the dialect, none for an answer in words.
    `hosted` are those that its vendor runs, where they stand apart.
    """

    model: str
    instructions: str
    messages: Sequence[Message]
    tools: Sequence[Document]
    max_tokens: int
    hosted: Sequence[Document] = ()


@dataclass(frozen=True, slots=True)
class Wire:
    """One vendor. `path` may name the model. `said` are the messages of an answer as the next
    request repeats them, and `text` is what it says in words. `joined` makes what answers the
    calls of one turn, each of them formatted by itself, into the messages that a vendor takes.
    `goes_on` says that an answer is not at its end: the vendor goes on where it is sent back.
    """

    path: Callable[[str], str]
    body: Callable[[Prompt], dict[str, Any]]
    user: Callable[[str], Message]
    said: Callable[[Any], list[Message]]
    text: Callable[[Any], str]
    joined: Callable[[Sequence[Message]], list[Message]]
    headers: Mapping[str, str] = field(default_factory=dict)
    goes_on: Callable[[Any], bool] = lambda _response: False


def _first(response: Any, key: str) -> Mapping[str, Any]:
    """The first of a list of objects; nothing where there is none."""
    found = response.get(key) if isinstance(response, Mapping) else None
    first = found[0] if isinstance(found, list) and found else {}
    return first if isinstance(first, Mapping) else {}


def _texts(parts: Any, *types: str) -> str:
    """The texts of those parts of a content that are of these types."""
    if isinstance(parts, str):
        return parts
    found = parts if isinstance(parts, list) else []
    return "".join(
        str(each.get("text") or each.get("refusal") or "")
        for each in found
        if isinstance(each, Mapping) and (not types or each.get("type") in types)
    )


def _openai_body(prompt: Prompt) -> dict[str, Any]:
    system = {"role": "system", "content": prompt.instructions}
    messages = [*([system] if prompt.instructions else []), *prompt.messages]
    made = {
        "model": prompt.model,
        "messages": messages,
        "max_completion_tokens": prompt.max_tokens,
    }
    return {**made, "tools": list(prompt.tools)} if prompt.tools else made


def _openai_said(response: Any) -> list[Message]:
    message = _first(response, "choices").get("message")
    return [{"role": "assistant", **message}] if isinstance(message, Mapping) else []


def _openai_text(response: Any) -> str:
    """The words of an answer, or those by which the model says that it will not."""
    said = [
        str(_texts(each.get("content")) or each.get("refusal") or "")
        for each in _openai_said(response)
    ]
    return "".join(said)


def _openai_joined(messages: Sequence[Message]) -> list[Message]:
    """The answers of tools stand right behind the calls; images of the user follow."""
    return sorted((dict(each) for each in messages), key=lambda each: each["role"] == "user")


OPENAI = Wire(
    lambda _model: "/chat/completions",
    _openai_body,
    lambda text: {"role": "user", "content": text},
    _openai_said,
    _openai_text,
    _openai_joined,
)


def _responses_body(prompt: Prompt) -> dict[str, Any]:
    made = {
        "model": prompt.model,
        "input": list(prompt.messages),
        "max_output_tokens": prompt.max_tokens,
        "store": False,
    }
    made |= {"instructions": prompt.instructions} if prompt.instructions else {}
    return {**made, "tools": list(prompt.tools)} if prompt.tools else made


def _responses_said(response: Any) -> list[Message]:
    output = response.get("output") if isinstance(response, Mapping) else None
    return [dict(each) for each in output or [] if isinstance(each, Mapping)]


RESPONSES = Wire(
    lambda _model: "/responses",
    _responses_body,
    lambda text: {"role": "user", "content": text},
    _responses_said,
    lambda response: "".join(
        _texts(each.get("content"), "output_text", "refusal") for each in _responses_said(response)
    ),
    lambda messages: list(map(dict, messages)),
)


def _anthropic_body(prompt: Prompt) -> dict[str, Any]:
    made = {
        "model": prompt.model,
        "max_tokens": prompt.max_tokens,
        "messages": list(prompt.messages),
    }
    made |= {"system": prompt.instructions} if prompt.instructions else {}
    return {**made, "tools": list(prompt.tools)} if prompt.tools else made


def _anthropic_said(response: Any) -> list[Message]:
    content = response.get("content") if isinstance(response, Mapping) else None
    return [{"role": "assistant", "content": content}] if content else []


def _merged(messages: Sequence[Message], key: str) -> list[Message]:
    """One message of the user with the parts of all."""
    parts = [part for each in messages for part in each[key]]
    return [{"role": "user", key: parts}] if parts else []


ANTHROPIC = Wire(
    lambda _model: "/v1/messages",
    _anthropic_body,
    lambda text: {"role": "user", "content": [{"type": "text", "text": text}]},
    _anthropic_said,
    lambda response: _texts(
        response.get("content") if isinstance(response, Mapping) else None, "text"
    ),
    lambda messages: _merged(messages, "content"),
    {"anthropic-version": "2023-06-01"},
    lambda response: isinstance(response, Mapping) and response.get("stop_reason") == "pause_turn",
)


def _google_body(prompt: Prompt) -> dict[str, Any]:
    made: dict[str, Any] = {
        "contents": list(prompt.messages),
        "generationConfig": {"maxOutputTokens": prompt.max_tokens},
    }
    if prompt.instructions:
        made["systemInstruction"] = {"parts": [{"text": prompt.instructions}]}
    functions = [{"functionDeclarations": list(prompt.tools)}] if prompt.tools else []
    if functions or prompt.hosted:
        made["tools"] = [*functions, *prompt.hosted]
    return made


def _google_said(response: Any) -> list[Message]:
    content = _first(response, "candidates").get("content")
    if not isinstance(content, Mapping) or not content.get("parts"):
        return []
    return [{**content, "role": "model"}]


def _google_text(response: Any) -> str:
    """The words of an answer, without the thoughts that some models show."""
    parts = [part for each in _google_said(response) for part in each["parts"]]
    return _texts([part for part in parts if isinstance(part, Mapping) and not part.get("thought")])


def _google_joined(messages: Sequence[Message]) -> list[Message]:
    """One content; what answers functions stands before what is beside it."""
    made = _merged(messages, "parts")
    for each in made:
        each["parts"].sort(key=lambda part: "functionResponse" not in part)
    return made


GOOGLE = Wire(
    lambda model: f"/v1beta/models/{model}:generateContent",
    _google_body,
    lambda text: {"role": "user", "parts": [{"text": text}]},
    _google_said,
    _google_text,
    _google_joined,
)

WIRES: Mapping[str, Wire] = {
    "openai": OPENAI,
    "openai_responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "google": GOOGLE,
}
"""Dialect -> how its vendor's models are asked."""
