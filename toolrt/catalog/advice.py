"""Warnings about keys of a tool that are right by themselves and do nothing where they stand.

Only what the tool itself writes counts: defaults are for many tools, and some may use them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.bindings.mocks import misplaced
from toolrt.core.faults import MISSING, Fault, child
from toolrt.core.faults import Path as FaultPath
from toolrt.manifest.tool import ToolManifest

_OF_HTTP: tuple[FaultPath, ...] = (
    ("timeout", "connect"),
    ("retry", "rejected_means_not_applied"),
)
_WITH_ARGV = ("command", "shell")


def advice(written: Mapping[str, Any], manifest: ToolManifest, kind: str) -> Iterator[Fault]:
    """What of the keys that a tool of that kind writes, in long form, has no effect."""
    yield from _outweighed(written, manifest)
    yield from _misplaced(written, manifest, kind)
    if kind != "http":
        for path in _OF_HTTP:
            if _is_written(written, path):
                yield _warning(path, f"`{'.'.join(map(str, path))}` is for `http` only")
    parameters = written.get("parameters")
    if kind in _WITH_ARGV or not isinstance(parameters, dict):
        return
    for name, schema in parameters.items():
        if isinstance(schema, dict) and "allow_dash" in schema:
            message = "`allow_dash` is for arguments of a command or a script"
            yield _warning(("parameters", name, "allow_dash"), message)


def _outweighed(written: Mapping[str, Any], manifest: ToolManifest) -> Iterator[Fault]:
    """Times that another one cuts short."""
    timeout, retry = manifest.timeout, manifest.retry
    for path, is_longer, limit in (
        (("timeout", "attempt"), timeout.attempt > timeout.total, "timeout.total"),
        (("timeout", "connect"), timeout.connect > timeout.total, "timeout.total"),
        (("retry", "initial"), retry.initial > retry.max, "retry.max"),
    ):
        if is_longer and _is_written(written, path):
            yield _warning(path, f"longer than `{limit}`, which ends it first")


def _misplaced(written: Mapping[str, Any], manifest: ToolManifest, kind: str) -> Iterator[Fault]:
    """Answers in `mock` that a tool of another kind would give."""
    for number, case in enumerate(manifest.tests if "tests" in written else ()):
        key = misplaced(case.mock, kind) if case.mock else None
        if key is not None:
            path = ("tests", number, "mock", key)
            hint = "write json, text or error: what the tool itself comes back with"
            yield _warning(path, f"a tool of kind `{kind}` never answers with `{key}`", hint)


def _is_written(written: Mapping[str, Any], path: FaultPath) -> bool:
    return child(written.get(str(path[0])), path[1]) not in (MISSING, None)


def _warning(path: FaultPath, message: str, hint: str | None = None) -> Fault:
    return Fault("no-effect", message, path, hint, "warning", on_key=True)
