"""Cases about the model of a project, and about what it is shown and may do."""

import json
from typing import Any

from manifest.key_case import ADA, PROJECT, Bench, Files, Look, Works, Wrong, file

from toolrt.agent.loop import Reply
from toolrt.core.errors import CallError

TOOLS = """
targets: {v: {url: $URL/v}, w: {url: $URL/w}, slow: {url: $URL/slow}, again: {url: $URL/again}}
tools:
  t: {description: Read which day it is., effect: read, command: [printf, hello]}
  u: {description: Read which year it is., effect: read, command: [printf, hello]}
"""


def agent(keys: str = "", **model: str) -> Files:
    """A project with a model of these options, and these keys beside it."""
    options = {"dialect": "openai", "name": "clever", "target": "v"} | model
    written = ", ".join(f"{name}: {value}" for name, value in options.items())
    text = f"agent:\n  model: {{{written}}}\n  {keys}"
    return file(TOOLS) | {PROJECT: f"{text.strip()}\n"}


def asked() -> Look:
    """Where the model is asked."""

    async def look(bench: Bench) -> Any:
        await _reply(bench)
        return bench.server.heard[0].target

    return look


def heard(*path: str | int) -> Look:
    """What stands at `path` in what the model is sent; None where nobody is asked."""

    async def look(bench: Bench) -> Any:
        await _reply(bench)
        value = json.loads(bench.server.heard[0].body) if bench.server.heard else None
        for step in path if value else ():
            value = value[step] if isinstance(value, list) else value.get(step)
        return value

    return look


def shown() -> Look:
    """How many tools the model is shown."""
    tools = heard("tools")

    async def look(bench: Bench) -> Any:
        return len(await tools(bench))

    return look


def replied(name: str) -> Look:
    """A field of the reply: `status`, `iterations`, `error`."""

    async def look(bench: Bench) -> Any:
        return getattr(await _reply(bench), name)

    return look


def why() -> Look:
    """Why there is no answer."""

    async def look(bench: Bench) -> Any:
        return (await replied("error")(bench)).message

    return look


async def _reply(bench: Bench) -> Reply | None:
    try:
        return await bench.runtime.ask("Which day is it?", ADA)
    except CallError:
        return None


MODEL = "{dialect: openai, name: a, target: v}"
CASES: list[Works | Wrong] = [
    Works("project.agent project.agent.model",
        file(TOOLS) | file(f"«agent: {{model: {MODEL}}}¦agent: {{}}»", PROJECT),
        heard("model"), "a", None),
    Works("project.agent.model.dialect", agent(dialect="«openai¦anthropic»"),
        asked(), "/v/chat/completions", "/v/v1/messages"),
    Works("project.agent.model.name", agent(name="«clever¦quick»"), heard("model"), "clever", "quick"),
    Works("project.agent.model.target", agent(target="«v¦w»"),
        asked(), "/v/chat/completions", "/w/chat/completions"),
    Works("project.agent.model.max_tokens", agent(name="x«, max_tokens: 7»"),
        heard("max_completion_tokens"), 7, 4096),
    Works("project.agent.model.timeout", agent(target="slow", timeout="«20ms¦40ms»"),
        why(), "no answer within 0.02 s"),
    Works("project.agent.instructions", agent("«instructions: Be brief.»"),
        heard("messages", 0, "content"), "Be brief.", "Which day is it?"),
    Works("project.agent.candidates", agent("«candidates: 1»"), shown(), 1, 2),
    Works("project.agent.max_iterations", agent("max_iterations: «2¦3»", target="again"),
        replied("iterations"), 2, 3),
    Wrong("project.agent", file("agent: §3", PROJECT)),
    Wrong("project.agent.model", file("agent: {model: §3}", PROJECT)),
    Wrong("project.agent.model.dialect", agent(dialect="§latin"), "invalid-value"),
    Wrong("project.agent.model.name", agent(name="§[a]")),
    Wrong("project.agent.model.target", agent(target="§[a]")),
    Wrong("project.agent.model.target", agent(target="§vv"), "unknown-target"),
    Wrong("project.agent.model.max_tokens", agent(max_tokens="§0"), "out-of-range"),
    Wrong("project.agent.model.timeout", agent(timeout="§5"), "invalid-duration"),
    Wrong("project.agent.instructions", agent("instructions: §[a]")),
    Wrong("project.agent.candidates", agent("candidates: §0"), "out-of-range"),
    Wrong("project.agent.max_iterations", agent("max_iterations: §many")),
]  # fmt: skip
