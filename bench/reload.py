"""How soon a written rule is in force among a thousand tools, and what calls feel of it.

Run by hand, on a quiet machine: `python bench/reload.py`. It is no case of `make bench`, as it
takes half a minute. A writer changes a rule again and again while calls run at a steady pace; each
call says in its refusal which writing of the rule it met.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import toolrt

FILES, TOOLS_A_FILE = 20, 50
CALLS_A_SECOND = 200
PATIENCE = 5000
TOOL = """\
  get_orders_{n}:
    description: Get the orders of one customer, newest first, a page at a time.
    tags: [orders]
    parameters:
      customer: {{type: string, minLength: 1, maxLength: 64, description: Id of the customer}}
      limit: {{type: integer, minimum: 1, maximum: 100, default: 10, description: Most rows}}
      mode: {{type: string, enum: [fast, safe, dry_run], default: safe}}
    http:
      url: https://api.example.com/v1/customers/{{{{ customer }}}}/orders
      query: {{limit: "{{{{ limit }}}}", mode: "{{{{ mode }}}}"}}
    timeout: {timeout}s
"""
ECHO = '''\
def echo(text: str) -> str:
    """Give the text back."""
    return text
'''
MARKED = """\
namespace: bench
tools:
  echo: {python: bench_echo:echo}
  marked: {python: bench_echo:echo}
"""
RULES = """\
default: allow
rules:
- {{id: mark, decide: deny, tools: [bench.marked], when: 'args.text == "x"', reason: "mark {mark}"}}
"""
EMPTY = "rules: []\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rules", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolrt-bench-") as folder:
        write_project(Path(folder), options.rules)
        asyncio.run(measure(Path(folder), options.rounds))


def write_project(folder: Path, rules: int) -> None:
    (folder / "tools.d").mkdir()
    (folder / "policies.d").mkdir()
    (folder / "bench_echo.py").write_text(ECHO)
    (folder / "tools.d" / "marked.yaml").write_text(MARKED)
    (folder / "policies.d" / "mark.yaml").write_text(RULES.format(mark=0))
    for number in range(FILES):
        write_tools(folder, number, timeout=30)
    lines = [
        f"- {{id: r{n}, decide: ask, tools: [shop{n % FILES}.get_orders_{n % TOOLS_A_FILE}], "
        f"when: 'args.limit > {n % 90}'}}"
        for n in range(rules)
    ]
    text = "\n".join(["rules:", *lines]) + "\n" if lines else EMPTY
    (folder / "policies.d" / "shop.yaml").write_text(text)


def write_tools(folder: Path, number: int, timeout: int) -> None:
    tools = "".join(TOOL.format(n=n, timeout=timeout) for n in range(TOOLS_A_FILE))
    text = f"namespace: shop{number}\ndefaults: {{effect: read}}\ntools:\n{tools}"
    replace(folder / "tools.d" / f"shop{number}.yaml", text)


def replace(path: Path, text: str) -> None:
    beside = path.with_suffix(".tmp")
    beside.write_text(text)
    beside.replace(path)


async def measure(project: Path, rounds: int) -> None:
    async with toolrt.open(project, watch=True) as runtime:
        await asyncio.sleep(1.5)
        calm = await paced(runtime, asyncio.create_task(asyncio.sleep(3)))
        show("a call, nothing reloaded", calm)
        policies: list[float] = []
        changing = asyncio.create_task(of_rules(runtime, project, rounds, policies))
        calls = await paced(runtime, changing)
        show("from the write of a rule to its being in force", policies)
        show("a call while rules are reloaded", calls)
        tools: list[float] = []
        changing = asyncio.create_task(of_tools(runtime, project, rounds, tools))
        calls = await paced(runtime, changing)
        show("reload of one file of tools, settling not counted", tools)
        show("a call while tools are reloaded", calls)


async def paced(runtime: toolrt.Runtime, until: "asyncio.Task[None]") -> list[float]:
    """How late calls at a steady pace came back, in seconds, until a task has ended."""
    late, due = [], time.perf_counter()
    while not until.done():
        due += 1 / CALLS_A_SECOND
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        result = await runtime.call("bench.echo", {"text": "x"})
        late.append(time.perf_counter() - due)
        if result.status != "success":
            raise SystemExit(f"a call failed: {result.document()}")
    await until
    return late


async def of_rules(runtime: toolrt.Runtime, project: Path, rounds: int, found: list[float]) -> None:
    for mark in range(1, rounds + 1):
        replace(project / "policies.d" / "mark.yaml", RULES.format(mark=mark))
        written = time.perf_counter()
        await met(runtime, f"mark {mark}")
        found.append(time.perf_counter() - written)
        await asyncio.sleep(0.3)


async def met(runtime: toolrt.Runtime, mark: str) -> None:
    """Wait until a refusal names that mark."""
    for _ in range(PATIENCE):
        result = await runtime.call("bench.marked", {"text": "x"})
        if result.error and mark in result.error.message:
            return
        await asyncio.sleep(0.002)
    raise SystemExit(f"{mark} never came into force")


async def of_tools(runtime: toolrt.Runtime, project: Path, rounds: int, found: list[float]) -> None:
    took = asyncio.Queue[float]()
    runtime.on_reload(lambda outcome: took.put_nowait(outcome.took_s))
    for number in range(rounds):
        write_tools(project, number % FILES, timeout=31 + number)
        found.append(await took.get() - 0.05)
        await asyncio.sleep(0.3)


def show(what: str, seconds: Sequence[float]) -> None:
    ordered = sorted(seconds)
    at99 = ordered[int(len(ordered) * 0.99)]
    figures = " ".join(
        f"{name} {value * 1000:.1f}"
        for name, value in (("median", median(ordered)), ("p99", at99), ("worst", ordered[-1]))
    )
    print(f"{what}: {figures} ms ({len(ordered)})")


if __name__ == "__main__":
    main()
