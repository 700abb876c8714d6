"""Warnings that rules hold for less than they seem to: told wherever calls are made, as nobody who
relies on a rule need have read what `check` says of it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from toolrt.core.faults import child
from toolrt.loading.findings import Finding, InDocument

_OF_RULES: Final = frozenset(
    {"audit-rule", "constant-condition", "no-such-tool", "out-of-range", "unknown-value"}
)
_OF_TESTS: Final = "tests"


def weak(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Those that say that there are no rules, or that one which denies or asks may not hold."""
    for each in findings:
        code = each.fault.code
        if code == "no-rules" or (code in _OF_RULES and _is_guarding(each)):
            yield each


def _is_guarding(finding: Finding) -> bool:
    """Whether it is about a rule that denies or asks, and not about a test of it."""
    path, place = finding.path, finding.place
    if path[:1] != ("rules",) or _OF_TESTS in path or not isinstance(place, InDocument):
        return False
    rule = child(child(place.document.data, "rules"), path[1])
    return child(rule, "decide") in ("deny", "ask")
