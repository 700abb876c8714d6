"""Where a child runs: the project, a folder of it, or a folder that the caller names (S6)."""

import os
import re
from collections.abc import Mapping
from typing import Any

from toolrt.bindings.base import BindContext
from toolrt.bindings.os_text import from_system, is_system_text
from toolrt.bindings.paths import compile_path_rules
from toolrt.expressions.slots import TEXT

_LONE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class WorkingFolder:
    """`cwd:` of one tool. Anywhere but in the project itself, path arguments are made absolute."""

    __slots__ = ("_folder", "_parameter", "_project", "_rules")

    def __init__(self, written: str | None, context: BindContext) -> None:
        self._project = from_system(context.project.absolute())
        self._folder = self._project
        self._parameter: str | None = None
        self._rules = compile_path_rules(context.input_schema, context.project) if written else None
        if written is not None:
            self._place(written, context)
        if self._parameter is None and self._folder == self._project:
            self._rules = None

    def of(self, arguments: Mapping[str, Any]) -> str:
        """The folder of one call."""
        given = arguments.get(self._parameter) if self._parameter else None
        return self._folder if given is None else _joined(self._project, str(given))

    def placed(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments, with paths that lead to the right place from that folder."""
        return arguments if self._rules is None else self._rules.absolute(arguments)

    def _place(self, written: str, context: BindContext) -> None:
        faults = len(context.faults)
        template = context.template(written, ("cwd",), TEXT)
        lone = _LONE.fullmatch(written)
        if len(context.faults) > faults:
            return
        if lone and self._rules is not None and self._rules.are_about(lone[1]):
            self._parameter = lone[1]
        elif template.is_constant and _is_inside(written):
            self._folder = _joined(self._project, written)
        else:
            context.fault(
                "invalid-folder",
                "`cwd` is a folder inside the project, or a lone parameter of `format: path`",
                "cwd",
                hint='such as `cwd: "{{ folder }}"` with `folder: {type: string, format: path}`',
            )


def _is_inside(folder: str) -> bool:
    leaves = folder.startswith(("/", "~")) or ".." in folder.split("/")
    return not leaves and is_system_text(folder)


def _joined(project: str, folder: str) -> str:
    return os.path.normpath(os.path.join(project, folder))  # noqa: PTH118 (plain texts)
