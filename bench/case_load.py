"""A thousand tools in twenty files, opened in fresh processes: seconds and resident memory."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from rounds import Figure, show

FILES, TOOLS_A_FILE = 20, 50
RUNS = 3
VERBS = ("get", "list", "find", "count", "create")
TOOL = """\
  {name}:
    description: {verb} the orders of one customer, newest first, a page at a time.
    tags: [orders, {verb}]
    parameters:
      customer: {{type: string, minLength: 1, maxLength: 64, description: Id of the customer}}
      limit: {{type: integer, minimum: 1, maximum: 100, default: 10, description: Most rows}}
      mode: {{type: string, enum: [fast, safe, dry_run], default: safe}}
      labels: {{type: array, items: {{type: string}}, default: []}}
    http:
      url: https://api.example.com/v1/customers/{{{{ customer }}}}/orders
      query: {{limit: "{{{{ limit }}}}", mode: "{{{{ mode }}}}", labels: "{{{{ labels }}}}"}}
      headers: {{Authorization: "Bearer ${{env:BENCH_TOKEN}}"}}
    timeout: 30s
    retry: {{attempts: 3, initial: 200ms, max: 5s}}
"""


def write_project(folder: Path) -> None:
    """`tools.d` of a project with a thousand http tools."""
    (folder / "tools.d").mkdir(parents=True)
    for file in range(FILES):
        tools = (
            TOOL.format(name=f"{VERBS[n % len(VERBS)]}_orders_{n}", verb=VERBS[n % len(VERBS)])
            for n in range(TOOLS_A_FILE)
        )
        text = f"namespace: shop{file}\ndefaults: {{effect: read}}\ntools:\n{''.join(tools)}"
        (folder / "tools.d" / f"shop{file}.yaml").write_text(text)


async def opened(project: Path) -> tuple[float, float]:
    """Seconds to open the project, and megabytes resident while it is open."""
    started = time.perf_counter()
    import toolrt  # noqa: PLC0415 - its import is part of what is measured

    async with toolrt.open(project):
        return time.perf_counter() - started, resident_mb()


def resident_mb() -> float:
    """Resident memory of this process, from /proc."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("/proc/self/status names no VmRSS")


def in_a_fresh_process(project: Path) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, __file__, str(project)], check=True, capture_output=True, text=True
    )
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="toolrt-bench-") as folder:
        runs = []
        for number in range(RUNS):
            project = Path(folder) / str(number)
            write_project(project)
            runs.append(in_a_fresh_process(project))
    seconds, megabytes = (median(column) for column in zip(*runs, strict=True))
    show(
        Figure("open 1,000 tools", "seconds", seconds, 1.3, 0.6, " s"),
        Figure("resident with 1,000 tools", "megabytes", megabytes, 80, 60, " MB"),
    )


if sys.argv[1:]:
    print(json.dumps(asyncio.run(opened(Path(sys.argv[1])))))
else:
    main()
