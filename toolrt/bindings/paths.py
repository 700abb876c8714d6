"""`format: path` parameters: a caller's path, held inside its root (F1, F2).

The validate stage applies a tool's rules once its arguments are checked, before any policy looks.
What comes out can only name something inside the root, and cannot look like an option: `.`,
`./sub/x` seen from the project, or an absolute path where the root lies outside the project.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolrt.bindings.os_text import as_text, encoded, from_system
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path as FaultPath
from toolrt.core.relative import parts_of, plain_path
from toolrt.schemas.keywords import WORKSPACE_PATH
from toolrt.schemas.messages import MOST_FAULTS
from toolrt.schemas.path_places import Place, path_places
from toolrt.schemas.phrases import place, pointer

_MOST_TOLD = 5
_OWN = b".toolrt"
"""The folder of keys, questions and journal: no tool is sent there by whoever calls it."""


@dataclass(frozen=True, slots=True)
class PathRule:
    """Where paths must stay.

    `root` is the folder with its symlinks resolved, in the system's own bytes; `shown` is how a
    path begins that is handed on: `.`, `./data` or `/srv/data`.
    """

    root: bytes
    shown: str

    def check(self, value: str) -> str:
        """The path to hand on. Raises ValueError that says what is wrong with `value`."""
        parts = parts_of(value)
        reached = _reached(self.root, parts)
        if reached is None:
            raise ValueError("leads out of its root folder through a symbolic link")
        if _OWN in reached[len(self.root) :].lower().split(b"/"):
            raise ValueError("leads to what toolrt keeps for itself")
        return "/".join((self.shown.rstrip("/"), *parts)) or "/"

    def below(self, made: str) -> list[str]:
        """The names that lead from the root to `made`, a path that was handed on."""
        rest = made.removeprefix(self.shown.rstrip("/")).strip("/")
        return rest.split("/") if rest else []

    def without_repetition(self, made: str) -> str | None:
        """What was meant by `made`, a path that was handed on: it repeats the root's own name, as
        in `./data/data/x`, and only without that something is there.
        """
        name = self.root.rpartition(b"/")[2]
        first, _, rest = encoded(made.removeprefix(f"{self.shown.rstrip('/')}/")).partition(b"/")
        if not rest or first != name or os.path.lexists(b"%s/%s" % (self.root, first)):
            return None
        meant = as_text(rest)
        is_there = _reached(self.root, meant.split("/")) is not None
        return meant if is_there and os.path.lexists(b"%s/%s" % (self.root, rest)) else None


class PathRules:
    """The path parameters of one tool, and the paths inside of others."""

    __slots__ = ("_place", "_project", "_rules")

    def __init__(self, place: Place, rules: Mapping[str, PathRule], project: Path) -> None:
        self._place, self._rules = place, rules
        self._project = from_system(project.absolute())

    def outside(self) -> frozenset[str]:
        """The roots that lie outside of the project."""
        return frozenset(r.shown for r in self._rules.values() if r.shown.startswith("/"))

    def apply(self, arguments: dict[str, Any]) -> None:
        """Put checked paths in place of the caller's, at any depth.

        Raises RefusedError (invalid-arguments) that names every path at fault.
        """
        faults: dict[FaultPath, str] = {}

        def checked(root: str, value: str, path: FaultPath) -> str:
            try:
                return self._rules[root].check(value)
            except ValueError as error:
                faults[path] = f"`{place(path)}` {error}"
                return value

        arguments.update(_changed(self._place, arguments, (), checked))
        if faults:
            raise _refused(faults)

    def absolute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Applied arguments with absolute paths, for a place whose folder is not the project."""

        def joined(_root: str, value: str, _path: FaultPath) -> str:
            return os.path.normpath(os.path.join(self._project, value))  # noqa: PTH118 (plain texts)

        return dict(_changed(self._place, dict(arguments), (), joined))

    def placed(
        self, arguments: Mapping[str, Any], make: Callable[[PathRule, str], str]
    ) -> dict[str, Any]:
        """Applied arguments, with what `make` gives in place of each path."""

        def made(root: str, value: str, _path: FaultPath) -> str:
            return make(self._rules[root], value)

        return dict(_changed(self._place, dict(arguments), (), made))

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Applied arguments, absolute or not, as the caller gave them: relative to their roots."""

        def cut(root: str, value: str, _path: FaultPath) -> str:
            shown = self._rules[root].shown
            whole = os.path.normpath(os.path.join(self._project, shown))  # noqa: PTH118 (plain texts)
            for start in (whole, shown):
                if value == start:
                    return "."
                if value.startswith(f"{start.rstrip('/')}/"):
                    return value[len(start.rstrip("/")) + 1 :]
            return value

        return dict(_changed(self._place, dict(arguments), (), cut))

    def hint(self, arguments: Mapping[str, Any]) -> str | None:
        """What to send instead of applied arguments that name nothing, when that is sure."""
        meant: list[str] = []

        def look(root: str, value: str, path: FaultPath) -> str:
            if (right := self._rules[root].without_repetition(value)) is not None:
                meant.append(f"`{place(path)}` begins below its root folder: send {right}")
            return value

        _changed(self._place, dict(arguments), (), look)
        return "; ".join(meant) or None

    def are_about(self, parameter: str) -> bool:
        """Whether the parameter is a path itself."""
        place = self._place.members.get(parameter)
        return place is not None and place.root is not None


def workspace_paths(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters of `format: workspace-path`, in order: paths in a folder that the tool itself
    holds.
    """
    properties = schema.get("properties", {})
    return tuple(
        name
        for name, each in properties.items()
        if isinstance(each, dict) and each.get("format") == WORKSPACE_PATH
    )


def make_plain(names: Iterable[str], arguments: dict[str, Any]) -> None:
    """Put the one spelling of each path in the place of the caller's, as `a/b` for `./a//b`.

    Raises RefusedError (invalid-arguments) that names every path at fault.
    """
    faults: dict[FaultPath, str] = {}
    for name in names:
        value = arguments.get(name)
        if not isinstance(value, str):
            continue
        try:
            arguments[name] = plain_path(value)
        except ValueError as error:
            faults[(name,)] = f"`{name}` {error}"
    if faults:
        raise _refused(faults)


def compile_path_rules(schema: Mapping[str, Any], project: Path) -> PathRules | None:
    """The rules of a tool whose arguments have `schema`; None when there is no path in them.

    Paths that cannot be held inside a root are errors of `path_places`, which loading reports.
    """
    found, _ = path_places(schema)
    if found is None:
        return None
    rules = {root: _rule(root, project) for root in found.roots()}
    return PathRules(found, rules, project)


Change = Callable[[str, str, FaultPath], str]
"""From a root, a path and where it stands to the path to hand on."""


def _changed(here: Place, value: Any, path: FaultPath, change: Change) -> Any:
    """`value` with every path in it changed; nothing of the caller's own is written to."""
    if isinstance(value, str):
        return value if here.root is None else change(here.root, value, path)
    if isinstance(value, dict):
        return {
            name: each
            if (inner := here.member(name)) is None
            else _changed(inner, each, (*path, name), change)
            for name, each in value.items()
        }
    if isinstance(value, list) and here.items is not None:
        return [_changed(here.items, each, (*path, n), change) for n, each in enumerate(value)]
    return value


def _refused(faults: Mapping[FaultPath, str]) -> RefusedError:
    listed = [{"pointer": pointer(path), "message": message} for path, message in faults.items()][
        :MOST_FAULTS
    ]
    told = [each["message"] for each in listed[:_MOST_TOLD]]
    return RefusedError(
        "; ".join(told) + ("; …" if len(faults) > _MOST_TOLD else ""),
        code="invalid-arguments",
        hint="give a path relative to the root folder, such as sub/name.txt",
        details={"faults": listed},
    )


def _rule(root: str, project: Path) -> PathRule:
    home = os.path.realpath(os.fsencode(project))
    real = os.path.realpath(os.path.join(home, encoded(root)))  # noqa: PTH118 (bytes)
    if real == home:
        return PathRule(real, ".")
    if _is_under(real, home):
        return PathRule(real, f"./{as_text(os.path.relpath(real, home))}")
    return PathRule(real, as_text(real))


def _reached(root: bytes, parts: list[str]) -> bytes | None:
    """The place that the parts lead to, one by one; None where a link on the way leads to a place
    that is not inside the root.
    """
    here = root
    for part in parts:
        here = b"%s/%s" % (here, encoded(part))
        if not os.path.islink(here):  # noqa: PTH114 (one lstat, no Path object)
            continue
        here = os.path.realpath(here)
        if here != root and not _is_under(here, root):
            return None
    return here


def _is_under(path: bytes, folder: bytes) -> bool:
    return path.startswith(b"%s/" % folder.rstrip(b"/"))
