"""A decision where 1,000 rules are in force, and 20 of those with conditions are for the tool."""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import quantiles

from project_copy import ARGUMENTS
from rounds import Figure, show

import toolrt
from toolrt.core.calls import Invocation
from toolrt.core.clock import SystemClock
from toolrt.pipeline.stages.authorize import decider_of

RULES, FOR_THE_TOOL, DECISIONS = 1000, 20, 5000
TOOL = """
tools:
  quote:
    description: An answer.
    parameters: {city: string, days: integer, units: string}
    http: http://127.0.0.1:9/x
    effect: read
  other: {description: Another., http: "http://127.0.0.1:9/y", effect: read}
"""


def rules() -> str:
    """None of the conditions holds, so that each has to be evaluated."""
    lines = ["rules:", "  - {id: all, decide: allow, tools: ['*']}"]
    for number in range(RULES):
        tool = "quote" if number < FOR_THE_TOOL else "other"
        when = f"args.days > {number + 100} && !('r{number}' in caller.roles)"
        condition = f', when: "{when}"' if number < FOR_THE_TOOL else ""
        lines.append(f"  - {{id: r{number}, decide: deny, tools: [{tool}]{condition}}}")
    return "\n".join(lines)


def write(folder: str) -> None:
    for name, text in {"tools.d/t.yaml": TOOL, "policies.d/p.yaml": rules()}.items():
        path = Path(folder, name)
        path.parent.mkdir()
        path.write_text(text)


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="toolrt-bench-") as folder:
        write(folder)
        async with toolrt.open(folder) as runtime:
            decider = decider_of(runtime.snapshot.tools["quote"])
            clock, caller = SystemClock(), toolrt.Caller("bench", ("a", "b"))
            took = []
            for _ in range(DECISIONS):
                call = Invocation("c", "quote", dict(ARGUMENTS), caller, clock, 0.0, 0.0)
                start = time.perf_counter()
                decision = decider.decide(call)
                took.append(time.perf_counter() - start)
                if decision.verdict != "allow":
                    raise SystemExit(f"{decision}")
    p99_ms = quantiles(took, n=100)[98] * 1000
    show(Figure("decision, p99", "20 conditions of 1,000 rules", p99_ms, 1.0, unit=" ms"))


asyncio.run(main())
