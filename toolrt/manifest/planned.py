"""Keys of the manifest language that are accepted and checked but do nothing yet.

`check` warns about each that is written, so that nobody relies on it. Paths are from the top of
the file; `*` stands for any one name, or any item of a list. A key leaves the table when it works.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from toolrt.core.faults import Fault, Path

TOOL: tuple[str, ...] = ("hitl.channels",)
TOOLS_FILE: tuple[str, ...] = ()
POLICIES_FILE: tuple[str, ...] = ()
PROJECT_FILE: tuple[str, ...] = ()


def unfinished(written: Any, keys: tuple[str, ...], faults: Iterable[Fault]) -> Iterator[Fault]:
    """A warning for each key of `keys` that `written` holds.

    None where one of `faults` stands, in it or around it: who mends that reads the warning then.
    """
    wrong = [fault.path for fault in faults if fault.severity == "error" and fault.path]
    for steps in _steps(keys):
        if steps[0] not in written:
            continue
        for path in _found(written, steps):
            if any(each[: len(path)] == path[: len(each)] for each in wrong):
                continue
            yield not_yet(".".join(str(step) for step in path), path)


def not_yet(name: str, path: Path = ()) -> Fault:
    """The warning about one key or name."""
    return Fault(
        "not-yet",
        f"`{name}` does nothing yet",
        path,
        "it is accepted so that files can be written ahead; nothing enforces it",
        severity="warning",
        on_key=True,
    )


@cache
def _steps(keys: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Each dotted key as the steps to it."""
    return [tuple(key.split(".")) for key in keys]


def _found(written: Any, steps: tuple[str, ...], path: Path = ()) -> Iterator[Path]:
    if not steps:
        if written is not None:
            yield path
        return
    head, rest = steps[0], steps[1:]
    if isinstance(written, list) and head == "*":
        for number, item in enumerate(written):
            yield from _found(item, rest, (*path, number))
    if not isinstance(written, dict):
        return
    for name in list(written) if head == "*" else [head] if head in written else []:
        yield from _found(written[name], rest, (*path, name))
