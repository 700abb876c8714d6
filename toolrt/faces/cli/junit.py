"""Reports of tests as JUnit XML, which every CI reads: a suite for tools, and one for rules."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from toolrt.faces.output import visible

if TYPE_CHECKING:
    from toolrt.suite.cases import Report

_SUITES = ("tool", "rule")


def junit_report(reports: Sequence["Report"]) -> str:
    """The whole document; characters that XML does not have are shown as escapes."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites{_totals(reports)}>"]
    for of in _SUITES:
        lines += _suite(of, [report for report in reports if report.case.of == of])
    return "\n".join([*lines, "</testsuites>", ""])


def _suite(of: str, reports: Sequence["Report"]) -> Iterator[str]:
    if not reports:
        return
    yield f'  <testsuite name="toolrt.{of}s"{_totals(reports)}>'
    for report in reports:
        yield from _case(report)
    yield "  </testsuite>"


def _case(report: "Report") -> Iterator[str]:
    case = report.case
    file, _, line = case.place().rpartition(":")
    attributes = _attributes(
        classname=f"{case.of}.{case.name}",
        name=case.id,
        file=file,
        line=line,
        time=f"{report.time_s:.3f}",
    )
    if report.ending == "passed":
        yield f"    <testcase{attributes}/>"
        return
    why = "\n".join(report.why)
    tag = "failure" if report.ending == "failed" else "skipped"
    yield f"    <testcase{attributes}>"
    yield f"      <{tag}{_attributes(message=why.partition(chr(10))[0])}>{_told(why)}</{tag}>"
    yield "    </testcase>"


def _totals(reports: Sequence["Report"]) -> str:
    endings = [report.ending for report in reports]
    return _attributes(
        tests=str(len(endings)),
        failures=str(endings.count("failed")),
        skipped=str(endings.count("skipped")),
        time=f"{sum(report.time_s for report in reports):.3f}",
    )


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_told(value)}"' for name, value in values.items())


def _told(text: str) -> str:
    return escape(visible(text))
