"""`toolrt test`: the `tests:` of tools and rules, and which rules no test has matched."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.errors import ProjectError
from toolrt.core.results import SCHEMA
from toolrt.faces.cli import loop
from toolrt.faces.cli.names import compiled
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.cli.table import count
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import Screen, one_line, visible

if TYPE_CHECKING:
    from toolrt.suite.cases import Case, Coverage, Report
    from toolrt.suite.running import Suite

EXAMPLES = (
    ("toolrt test", "the tests of all tools and rules"),
    ("toolrt test -k billing", "those with billing in their names"),
    ("toolrt test --junit report.xml", "a report for CI"),
    ("toolrt test --coverage 100", "fail where a rule has matched in no test"),
    ("toolrt test --live -k weather", "the real thing in place of mocks"),
)
_COLORS = {"passed": "green", "failed": "red", "skipped": "yellow"}


def _percentage(_ctx: object, _param: object, value: float | None) -> float | None:
    """`nan` is a number to click, and lets everything pass."""
    if value is not None and value != value:  # noqa: PLR0124 - only `nan` is not itself
        raise click.BadParameter("a percentage is a number from 0 to 100")
    return value


@click.command("test", cls=Verb, examples=EXAMPLES)
@click.option("-k", "wanted", metavar="TEXT", help="Only tests with TEXT in their names.")
@click.option("--live", is_flag=True, help="Call the real thing, but for mocked failures.")
@click.option("--junit", metavar="FILE", help="Write a JUnit report too.")
@click.option(
    "--coverage",
    "required",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    callback=_percentage,
    help="Fail where tests match fewer of the rules.",
)
@click.pass_obj
def verb(
    settings: Settings,
    *,
    wanted: str | None,
    live: bool,
    junit: str | None,
    required: float | None,
) -> Exit:
    """Run what stands under `tests:` of the tools and of the rules.

    A tool that may change something runs with a `mock`, or with --live; else its test is skipped.
    Ends with 1 when a test fails, or too few rules are covered.
    """
    if required is not None and wanted is not None:
        hint = "leave one of them away"
        raise Misuse("`-k` runs some of the tests, and --coverage is of all", hint=hint)
    return loop.run(lambda: _run(settings, wanted, junit, required, live=live))


async def _run(
    settings: Settings, wanted: str | None, junit: str | None, required: float | None, *, live: bool
) -> Exit:
    screen = settings.screen
    reports, coverage = await _reports(settings, wanted, live=live)
    if junit is not None:
        _write(junit, reports, settings)
    shown = coverage if wanted is None else None
    document = _document(reports, coverage, required)
    screen.show(document, lambda: _text(reports, shown, screen), rows=document["tests"])
    if not reports:
        screen.say(_nothing(settings, wanted))
    if required is not None and not coverage.reaches(required):
        screen.complain(_lacking(coverage, required))
    return Exit.OK if document["ok"] else Exit.TOOL_FAILED


async def _reports(
    settings: Settings, wanted: str | None, *, live: bool
) -> tuple[list["Report"], "Coverage"]:
    from toolrt.rehearsal import rehearse  # noqa: PLC0415 - `--help` loads no runtime

    try:
        async with rehearse(settings.project()) as suite:
            chosen = _chosen(suite, wanted)
            return [await suite.run(case, live=live) for case in chosen], suite.coverage
    except ProjectError:
        compiled(settings)  # ends the verb with all that is wrong
        raise


def _chosen(suite: "Suite", wanted: str | None) -> list["Case"]:
    text = (wanted or "").casefold()
    return [case for case in suite.cases if text in case.id.casefold()]


def _document(
    reports: Sequence["Report"], coverage: "Coverage", required: float | None
) -> dict[str, Any]:
    is_enough = required is None or coverage.reaches(required)
    wanted = {} if required is None else {"required": required}
    return {
        "schema": SCHEMA,
        "ok": is_enough and not _count(reports, "failed"),
        **{ending: _count(reports, ending) for ending in _COLORS},
        "tests": [report.document() for report in reports],
        "coverage": {**coverage.document(), **wanted},
    }


def _lacking(coverage: "Coverage", required: float) -> str:
    """That too few rules are covered, with those that are not."""
    number = len(coverage.rules)
    has = f"tests cover {number - len(coverage.missed)} of {count(number, 'rule')}"
    missed = one_line(", ".join(coverage.missed))
    return f"{has}, and --coverage wants {required:g} %: {missed} matched in no test"


def _text(reports: Sequence["Report"], coverage: "Coverage | None", screen: Screen) -> str:
    """A line for each test; the coverage where all tests were run."""
    lines = [line for report in reports for line in _lines(report, screen)]
    counts = [f"{_count(reports, ending)} {ending}" for ending in _COLORS]
    summary = ", ".join(each for each in counts if not each.startswith("0 ")) or "no tests"
    lines.append(summary)
    if coverage is not None and coverage.rules:
        matched = len(coverage.rules) - len(coverage.missed)
        share = (
            f"{matched} of {count(len(coverage.rules), 'rule')} matched ({coverage.percent:g} %)"
        )
        missed = f", never: {one_line(', '.join(coverage.missed))}" if coverage.missed else ""
        lines.append(f"policy coverage: {share}{missed}")
    return "\n".join(lines)


def _lines(report: "Report", screen: Screen) -> list[str]:
    if report.ending == "passed" and screen.is_quiet:
        return []
    label = screen.paint(report.ending, fg=_COLORS[report.ending])
    pad = " " * (len("skipped") - len(report.ending))
    place = f"  ({report.case.place()})" if report.ending == "failed" else ""
    first = f"{label}{pad}  {one_line(report.case.id)}{visible(place)}"
    return [first, *(f"         {one_line(each)}" for each in report.why)]


def _nothing(settings: Settings, wanted: str | None) -> str:
    if wanted:
        return f"no test has `{one_line(wanted)}` in its name; try: {settings.command('test')}"
    return "no tests yet: write `tests:` beside a tool or a rule"


def _count(reports: Sequence["Report"], ending: str) -> int:
    return sum(report.ending == ending for report in reports)


def _write(junit: str, reports: Sequence["Report"], settings: Settings) -> None:
    from pathlib import Path  # noqa: PLC0415 - only for reports

    from toolrt.faces.cli.junit import junit_report  # noqa: PLC0415 - as above

    try:
        Path(junit).write_text(junit_report(reports), encoding="utf-8")
    except OSError as error:
        message = f"cannot write {junit}: {error.strerror}"
        next_ = settings.command("test --junit FILE")
        raise Stop(Exit.TOOL_FAILED, message, code="output", next_=next_) from error
