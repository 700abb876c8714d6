"""`toolrt check`: every fault of every file in one run."""

from typing import TYPE_CHECKING

import click

from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.table import count
from toolrt.faces.exits import Exit
from toolrt.faces.output import one_line

if TYPE_CHECKING:
    from toolrt.catalog.compiler import Compiled

EXAMPLES = (
    ("toolrt check", "all faults, each with its place and an excerpt"),
    ("toolrt check --deep", "the same with what MCP servers say of their tools"),
    ("toolrt check --strict", "warnings and unavailable tools fail too"),
    ("toolrt check -o json", "for editors and CI"),
)

_MOST_NAMES = 3


@click.command("check", cls=Verb, examples=EXAMPLES)
@click.option("--strict", is_flag=True, help="Fail on warnings and unavailable tools as well.")
@click.option("--no-import", is_flag=True, help="Leave Python callables alone.")
@click.option("--deep", is_flag=True, help="Ask the servers of MCP sources what tools they have.")
@click.pass_obj
def verb(settings: Settings, *, strict: bool, no_import: bool, deep: bool) -> Exit:
    """Read every file of the project, compile every tool, and say what is wrong. Nothing is called.

    A reason why several tools are unavailable is told once; documents name it with each tool.
    Ends with 0 when nothing is wrong, with 3 when something is.
    """
    from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime
    from toolrt.loading.diagnostics import report  # noqa: PLC0415 - as above

    loaded = runtime.load(settings.project(), imports=not no_import, asks=deep)
    missing = _unavailable(loaded)
    passes = loaded.ok and not (strict and (missing or loaded.diagnostics))
    document = {
        **report(loaded.diagnostics),
        "ok": passes,
        "unavailable": [{"tool": tool, "reason": reason} for tool, reason in missing],
    }
    settings.screen.show(document, lambda: _text(loaded, missing, settings, passes=passes))
    return Exit.OK if passes else Exit.MANIFESTS_INVALID


def _unavailable(loaded: "Compiled") -> list[tuple[str, str]]:
    if loaded.snapshot is None:
        return []
    tools = loaded.snapshot.tools.values()
    return [(tool.name, tool.unavailable) for tool in tools if tool.unavailable]


def _text(
    loaded: "Compiled", missing: list[tuple[str, str]], settings: Settings, *, passes: bool
) -> str:
    from toolrt.faces.cli.findings import rendered  # noqa: PLC0415 - `--help` loads no runtime

    screen = settings.screen
    parts = []
    if loaded.diagnostics:
        parts += [rendered(loaded.diagnostics, loaded, color=screen.has_color()), ""]
    parts += [
        f"{screen.paint('unavailable', fg='yellow')}: {tools}: {one_line(reason)}"
        for tools, reason in _by_reason(missing)
    ]
    return "\n".join([*parts, _summary(loaded, len(missing), settings, passes=passes)])


def _by_reason(missing: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Each reason once, such as that of a target, with the tools that it concerns."""
    tools: dict[str, list[str]] = {}
    for tool, reason in missing:
        tools.setdefault(reason, []).append(tool)
    return [(_named(names), reason) for reason, names in tools.items()]


def _named(tools: list[str]) -> str:
    if len(tools) == 1:
        return tools[0]
    names = [*tools[:_MOST_NAMES], *(["…"] if len(tools) > _MOST_NAMES else [])]
    return f"{count(len(tools), 'tool')} ({', '.join(names)})"


def _summary(loaded: "Compiled", missing: int, settings: Settings, *, passes: bool) -> str:
    errors, warnings = (
        sum(one.severity == severity for one in loaded.diagnostics)
        for severity in ("error", "warning")
    )
    counts = [
        count(number, what) for number, what in ((errors, "error"), (warnings, "warning")) if number
    ]
    if loaded.snapshot is None:
        files = len({one.file for one in loaded.diagnostics})
        return f"{', '.join(counts)} in {count(files, 'file')}"
    tools = loaded.snapshot.tools
    if not tools and not counts:
        return f"no tools yet: add one to tools.d, or try: {settings.command('init')}"
    files = len({tool.file for tool in tools.values()})
    verdict = "ok" if passes else "not ok with --strict"
    good = f"{verdict}: {count(len(tools), 'tool')} in {count(files, 'file')}"
    return ", ".join([good, *counts, *([f"{missing} unavailable"] if missing else [])])
