"""A thousand Python callables of one module made tools: seconds of CPU, imports not among them.

Half are methods of ten objects and half functions; a tenth have types that pydantic has to read.
"""

import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rounds import Figure, show

OBJECTS, EACH = 10, 50
RUNS = 5
PARAMETERS = (
    *("city: str, days: int = 3, units: str = 'metric'",) * 4,
    *("query: str, limit: int = 10, tags: list[str] | None = None",) * 3,
    *("name: str, mode: Literal['fast', 'safe'] = 'safe'",) * 2,
    "when: date, page: Page",
)
CALLABLE = '''
{indent}def {name}({first}{parameters}) -> dict[str, str]:
{indent}    """What the weather will be.

{indent}    Args:
{indent}        city: The city, in English.
{indent}        days: How many days ahead.
{indent}    """
{indent}    return {{}}
'''
HEAD = """
from dataclasses import dataclass
from datetime import date
from typing import Literal
@dataclass
class Page:
    number: int = 1
    size: int = 10
"""


def callables(indent: str, first: str) -> str:
    return "".join(
        CALLABLE.format(
            indent=indent, name=f"tool_{n}", first=first, parameters=PARAMETERS[n % len(PARAMETERS)]
        )
        for n in range(EACH)
    )


def write_project(folder: Path) -> None:
    """Ten classes and ten modules of fifty callables each, and a source for each of them."""
    sources = []
    classes = [
        f"class Kit{n}:{callables('    ', 'self, ')}\nkit{n} = Kit{n}()" for n in range(OBJECTS)
    ]
    (folder / "bench_kits.py").write_text(HEAD + "\n".join(classes))
    for number in range(OBJECTS):
        (folder / f"bench_functions{number}.py").write_text(HEAD + callables("", ""))
        sources.append(f"  kit{number}: {{python: 'bench_kits:kit{number}'}}")
        module = f"{{object: bench_functions{number}, select: public}}"
        sources.append(f"  functions{number}: {{python: {module}}}")
    (folder / "tools.d").mkdir()
    (folder / "tools.d" / "kits.yaml").write_text("\n".join(["sources:", *sources]) + "\n")


def main() -> None:
    from toolrt.runtime import load  # noqa: PLC0415 - after the project is on the path

    with tempfile.TemporaryDirectory(prefix="toolrt-bench-") as name:
        folder = Path(name)
        write_project(folder)
        sys.path.insert(0, name)
        for module in ("bench_kits", *(f"bench_functions{n}" for n in range(OBJECTS))):
            importlib.import_module(module)
        load(folder)  # what toolrt itself imports on first use
        runs = [seconds_of(lambda: load(folder)) for _ in range(RUNS)]
    show(Figure("make 1,000 callables tools", "CPU seconds", min(runs), 0.5, 0.3, " s"))


def seconds_of(work: Callable[[], Any]) -> float:
    """CPU seconds of one run, which has to come to a thousand tools."""
    started = time.process_time()
    made = work()
    spent = time.process_time() - started
    if len(made.snapshot.tools) != 2 * OBJECTS * EACH:
        raise SystemExit(f"{len(made.snapshot.tools)} tools: {made.diagnostics[:3]}")
    return spent


main()
