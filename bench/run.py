"""The speed table of toolrt, as ratios to the limits of the same run.

`make bench` prints it. `--gate`, which `make check` uses, also fails on a figure that has left its
goal behind. Machines are noisy: a case that misses a goal is measured again, in a new process, and
the best of three tries counts; and the gate allows a margin over the goal, a quarter for CPU and
memory, and the goal once more for the clock, which every neighbour on the machine moves. The
goal is what a quiet machine must show; the stretch column is where it should go.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CASES = ("call", "plan", "decide", "http", "command", "mcp", "load", "normalise", "help")
TRIES = 3


def main() -> int:
    options = parse()
    print("| what | against | measured | goal | stretch |\n|---|---|---:|---:|---:|")
    missed = []
    for case in options.cases or CASES:
        figures = measured(case, TRIES if options.gate else 1)
        missed += [figure["what"] for figure in figures if is_beyond(figure)]
        print("\n".join(map(row, figures)), flush=True)
    if missed and options.gate:
        print(
            f"beyond goal and margin {TRIES} times in a row: {', '.join(missed)}", file=sys.stderr
        )
        return 1
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--gate", action="store_true", help="fail when a goal is missed")
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    return options


def measured(case: str, tries: int) -> list[dict[str, Any]]:
    """The case's figures, each the best of its tries; the tries end once nothing is missed."""
    figures = once(case)
    for _ in range(tries - 1):
        if not any(map(is_missed, figures)):
            break
        pairs = zip(figures, once(case), strict=True)
        figures = [min(pair, key=lambda figure: figure["value"]) for pair in pairs]
    return figures


def once(case: str) -> list[dict[str, Any]]:
    script = HERE / f"case_{case}.py"
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"bench case {case} failed with status {done.returncode}")
    return json.loads(done.stdout)


def is_missed(figure: dict[str, Any]) -> bool:
    return figure["value"] > figure["goal"]


def is_beyond(figure: dict[str, Any]) -> bool:
    """Whether a figure is worse than noise explains."""
    is_by_the_clock = (
        figure["unit"] in {" s", " ms"} or "wall" in figure["what"] or "once" in figure["what"]
    )
    return figure["value"] > figure["goal"] * (2.0 if is_by_the_clock else 1.25)


def row(figure: dict[str, Any]) -> str:
    unit, stretch = figure["unit"], figure["stretch"]
    bound = f"<= {stretch:g}{unit}" if stretch else ""
    return (
        f"| {figure['what']} | {figure['against']} | {figure['value']:.2f}{unit} "
        f"| <= {figure['goal']:g}{unit} | {bound} |"
    )


if __name__ == "__main__":
    sys.exit(main())
