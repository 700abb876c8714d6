"""Cases about the keys of plans, and of what plans of models may do."""

from typing import Any

from manifest.key_case import (
    PROJECT,
    Bench,
    Files,
    Look,
    Works,
    Wrong,
    command,
    data,
    file,
    tool,
)

from toolrt.core.calls import Caller

TOOLS = """
tools:
  u: {description: U., parameters: {a: {type: string, default: x}}, effect: read, command: [printf, "{{ a }}"]}
  bad: {description: B., effect: read, retry: none, command: ["false"]}
"""
PLANNER = """
builtins: [plan_and_execute]
agent:
  planner:
    """
KIT = "def look(situation):\n    return {'evaluation': 'x', 'next_action': 'final_answer', 'answer': 7}\n"
AGAIN = """
def look(situation):
    if situation["revisions"] == 2:
        return {"evaluation": "x", "next_action": "final_answer", "answer": 7}
    plan = [{"tool": "u", "parameters": {"a": str(situation["revisions"])}}]
    return {"evaluation": "x", "next_action": "revise_plan", "plan": plan}
"""


def steps(text: str) -> Files:
    """A plan `t` beside two tools that it calls."""
    return file(f"{TOOLS.strip()}\n  t:\n    description: T.\n    steps:\n      - {text}\n")


def planner(text: str, kit: str = KIT) -> Files:
    """A project that lets models plan, with these keys of its planner."""
    return file(TOOLS) | {PROJECT: f"{PLANNER.strip()}\n    {text}\n", "look.py": kit}


def planned(*plan: tuple[str, str], path: str = "result") -> Look:
    """What comes of a plan of calls of tools with an argument each."""

    async def look(bench: Bench) -> Any:
        made = [{"tool": name, "parameters": {"a": a} if a else {}} for name, a in plan]
        thought = {"reasoning": "", "plan": made, "criticism": "", "action": "execute_plan"}
        result = await bench.runtime.call("plan_and_execute", {"thought": thought}, Caller())
        return result.data[path] if result.error is None else result.error.code

    return look


def called(name: str) -> Look:
    """How a call of another tool ends."""

    async def look(bench: Bench) -> Any:
        result = await bench.runtime.call(name, {})
        return result.error.code if result.error else result.status

    return look


MINE = "agent: {planner: {"
CASES: list[Works | Wrong] = [
    Works("tool.steps steps.steps steps.steps.id steps.steps.tool",
        steps("{id: «one¦two», tool: u}"), data(), {"one": "x"}, {"two": "x"}),
    Works("steps.steps.args", steps("{id: a, tool: u«, args: {a: y}»}"), data("a"), "y", "x"),
    Works("steps.steps.when", steps("{id: a, tool: u«, when: 'false'»}"), data("a"), None, "x"),
    Works("steps.steps.for_each",
        steps("{id: a, tool: u«, for_each: \"{{ ['y', 'z'] }}\", args: {a: '{{ item }}'}»}"),
        data("a"), ["y", "z"], "x"),
    Works("steps.steps.on_error", steps("{id: a, tool: bad«, on_error: continue»}"), data("a"), None),
    Works("steps.steps.on_error.value",
        steps("{id: a, tool: bad, on_error: {value: «1¦2»}}"), data("a"), 1, 2),
    Wrong("tool.steps", tool("steps: §3")),
    Wrong("tool.steps steps.steps", tool("steps: §[]"), "out-of-range"),
    Wrong("steps.steps.id", steps("§{tool: u}"), "missing-key"),
    Wrong("steps.steps.id", steps("{id: §A, tool: u}"), "out-of-range"),
    Wrong("steps.steps.tool", steps("{id: a, tool: §[u]}")),
    Wrong("steps.steps.tool", steps("{id: a, tool: §uu}"), "no-such-tool"),
    Wrong("steps.steps.args", steps("{id: a, tool: u, args: §3}")),
    Wrong("steps.steps.when", steps("{id: a, tool: u, when: §[a]}")),
    Wrong("steps.steps.for_each", steps("{id: a, tool: u, for_each: §[a]}")),
    Wrong("steps.steps.on_error", steps("{id: a, tool: u, on_error: §stop}"), "invalid-value"),
    Wrong("steps.steps.on_error.value",
        steps("{id: a, tool: u, on_error: {value: '{{ §no }}'}}"), "unknown-name"),
    Works("tool.expose", command("«expose: false¦expose: true»"), called("t"), "unknown-tool", "success"),
    Wrong("tool.expose", command("expose: §no")),
    Works("project.agent.planner project.agent.planner.analyst",
        planner("«analyst: look:look¦max_steps: 9»"), planned(("u", "a")), 7, "a"),
    Works("project.agent.planner.max_steps", planner("max_steps: «1¦2»"),
        planned(("u", "a"), ("u", "b")), "invalid-arguments", "b"),
    Works("project.agent.planner.max_revisions",
        planner("{analyst: look:look, max_revisions: «1¦2», max_steps: 9}", AGAIN),
        planned(("u", "z")), "budget-exhausted", 7),
    Works("project.agent.planner.on_step_error", planner("on_step_error: «continue¦fail»"),
        planned(("bad", ""), ("u", "b")), "b", "execution-failed"),
    Wrong("project.agent.planner", file("agent: {planner: §3}", PROJECT)),
    Wrong("project.agent.planner.analyst", file(MINE + "analyst: §[a]}}", PROJECT)),
    Wrong("project.agent.planner.max_steps", file(MINE + "max_steps: §0}}", PROJECT), "out-of-range"),
    Wrong("project.agent.planner.max_revisions", file(MINE + "max_revisions: §-1}}", PROJECT), "out-of-range"),
    Wrong("project.agent.planner.on_step_error", file(MINE + "on_step_error: §stop}}", PROJECT), "invalid-value"),
]  # fmt: skip
