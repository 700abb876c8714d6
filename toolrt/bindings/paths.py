"""`format: path` parameters: a caller's path, held inside its root (F1, F2).

The validate stage applies a tool's rules once its arguments are checked, before any policy looks.
What comes out can only name something inside the root, and cannot look like an option: `.`,
`./sub/x` seen from the project, or an absolute path where the root lies outside the project.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path as FaultPath
from toolrt.schemas.messages import MOST_FAULTS
from toolrt.schemas.phrases import place, pointer

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST_PART = 255
_LONGEST = 4096
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class PathRule:
    """Where one parameter's paths must stay.

    `root` is the folder with its symlinks resolved; `shown` is how a path begins that is handed
    on: `.`, `./data` or `/srv/data`.
    """

    root: str
    shown: str

    def check(self, value: str) -> str:
        """The path to hand on. Raises ValueError that says what is wrong with `value`."""
        parts = _parts(value)
        if not _stays_inside(self.root, parts):
            raise ValueError("leads out of its root folder through a symbolic link")
        return "/".join((self.shown.rstrip("/"), *parts)) or "/"


class PathRules:
    """The path parameters of one tool."""

    __slots__ = ("_project", "_rules")

    def __init__(self, rules: Mapping[str, PathRule], project: str) -> None:
        self._rules, self._project = rules, project

    def apply(self, arguments: dict[str, Any]) -> None:
        """Put checked paths in place of the caller's, items of arrays included.

        Raises RefusedError (invalid-arguments) that names every parameter and item at fault.
        """
        faults: dict[FaultPath, str] = {}
        for name, rule in self._rules.items():
            if name in arguments:
                arguments[name] = _checked(rule, arguments[name], (name,), faults)
        if faults:
            raise _refused(faults)

    def absolute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Applied arguments with absolute paths, for a place whose folder is not the project."""
        made = dict(arguments)
        for name in self._rules:
            if name in made:
                made[name] = _joined(self._project, made[name])
        return made


def compile_path_rules(schema: Mapping[str, Any], project: Path) -> PathRules | None:
    """The rules of a tool whose arguments have `schema`; None when no parameter is a path."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return None
    roots = {name: _root(each) for name, each in properties.items()}
    rules = {name: _rule(root, project) for name, root in roots.items() if root is not None}
    return PathRules(rules, str(project.absolute())) if rules else None


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


def _root(schema: Any) -> str | None:
    """The root of a path parameter or of an array of paths; None for any other."""
    if not isinstance(schema, Mapping):
        return None
    if schema.get("format") == "path":
        return str(schema.get("root", "."))
    items = schema.get("items")
    if isinstance(items, Mapping) and items.get("format") == "path":
        return str(items.get("root", schema.get("root", ".")))
    return None


def _rule(root: str, project: Path) -> PathRule:
    real, home = os.path.realpath(project / root), os.path.realpath(project)
    if real == home:
        return PathRule(real, ".")
    if _is_under(real, home):
        return PathRule(real, f"./{os.path.relpath(real, home)}")
    return PathRule(real, real)


def _checked(rule: PathRule, value: Any, path: FaultPath, faults: dict[FaultPath, str]) -> Any:
    if isinstance(value, list):
        return [_checked(rule, each, (*path, n), faults) for n, each in enumerate(value)]
    if not isinstance(value, str):
        return value
    try:
        return rule.check(value)
    except ValueError as error:
        faults[path] = f"`{place(path)}` {error}"
        return value


def _parts(value: str) -> list[str]:
    if not value:
        raise ValueError("must not be empty; `.` is the root folder itself")
    if _CONTROL.search(value):
        raise ValueError("must not hold control characters")
    if value.startswith("/"):
        raise ValueError("must be relative to its root folder, not absolute")
    parts = [part for part in value.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ValueError("must not hold `..`")
    _check_lengths(value, parts)
    return parts


def _check_lengths(value: str, parts: list[str]) -> None:
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
    if max(sizes, default=0) > _LONGEST_PART or len(value) > _LONGEST:
        raise ValueError(f"is too long: {_LONGEST_PART} bytes for a name, {_LONGEST} in all")


def _stays_inside(root: str, parts: list[str]) -> bool:
    """Walk the parts one by one; a link on the way must lead to a place inside the root."""
    here = root
    for part in parts:
        here = f"{here}/{part}"
        if not os.path.islink(here):  # noqa: PTH114 (one lstat, no Path object)
            continue
        here = os.path.realpath(here)
        if here != root and not _is_under(here, root):
            return False
    return True


def _is_under(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _joined(project: str, value: Any) -> Any:
    if isinstance(value, str):
        return os.path.normpath(os.path.join(project, value))  # noqa: PTH118 (plain texts)
    if isinstance(value, list):
        return [_joined(project, each) for each in value]
    return value
