"""What a test expects of a call, held against what came of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.core.decisions import Decision
from toolrt.core.results import ToolResult
from toolrt.manifest.cases import Expect

_LONGEST = 200


def unmet(expect: Expect, result: ToolResult, decision: Decision | None) -> Iterator[str]:
    """A sentence for each expectation that `result` does not meet.

    `decision` is None where the call was refused before policy saw it. A test that names neither
    status nor code nor decision expects success.
    """
    yield from _wrong_ending(expect, result)
    if expect.decision is not None:
        found = decision.verdict if decision else "none: the arguments are refused before that"
        if found != expect.decision:
            yield f"decision: expected {expect.decision}, got {found}{_rule(decision)}"
    if expect.text is not None and expect.text not in _said(result):
        yield f"text: {_shown(expect.text)} is not in {_shown(_said(result))}"
    if "data" in expect.model_fields_set:
        yield from differences(expect.data, result.data, "data")


def _wrong_ending(expect: Expect, result: ToolResult) -> Iterator[str]:
    names = (expect.status, expect.code, expect.decision)
    status = "success" if all(each is None for each in names) else expect.status
    status = "error" if status is None and expect.code is not None else status
    if status is not None and result.status != status:
        yield f"status: expected {status}, got {result.status}{_because(result)}"
    elif expect.code is not None and result.error and result.error.code != expect.code:
        yield f"code: expected {expect.code}, got {result.error.code}{_because(result)}"


def differences(expected: Any, found: Any, path: str) -> Iterator[str]:
    """Where `found` does not hold what is `expected`.

    Of an object only the keys that are expected count; a list must be as long. 1 and 1.0 are the
    same, 1 and true are not.
    """
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key, value in expected.items():
            if key not in found:
                yield f"{path}.{key}: expected {_shown(value)}, and it is not there"
            else:
                yield from differences(value, found[key], f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path}: expected {len(expected)} items, got {len(found)}"
        for at, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(one, other, f"{path}[{at}]")
    elif isinstance(expected, bool) is not isinstance(found, bool) or expected != found:
        yield f"{path}: expected {_shown(expected)}, got {_shown(found)}"


def _said(result: ToolResult) -> str:
    """The text of a result; of a failure its message."""
    return result.error.message if result.error else result.text


def _because(result: ToolResult) -> str:
    if result.error is not None:
        return f" ({result.error.code}: {result.error.message})"
    return f" ({result.pause.message})" if result.pause else ""


def _rule(decision: Decision | None) -> str:
    return f" by the rule `{decision.rule}`" if decision and decision.rule else ""


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
