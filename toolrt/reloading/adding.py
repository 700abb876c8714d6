"""Tools that a program adds to an open project, and takes away again.

What is added is written like a source of a file, and comes into force by a reload of its own: all
of it, or nothing.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from toolrt.bindings.threads import aside
from toolrt.core.errors import ProjectError
from toolrt.reloading.outcome import Reload
from toolrt.reloading.reloader import Edit, Reloader


class Additions:
    """What the program that has a project open adds to it."""

    def __init__(self, project: Path, reloader: Reloader) -> None:
        self._project = project
        self._reloader = reloader

    async def add(
        self,
        anything: Any,
        *,
        name: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        prefix: str | None = None,
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[str]:
        """Add tools, and give the names of those that are new.

        `anything` is a function or what is called like one, an object or its class, a module, a
        list of these, the dotted name of one, or a mapping as it stands under a name of `sources`.
        `name` is that of the tool, or of the source where there may be several; the rest is as in a
        file. Raises ProjectError, and adds nothing, where anything is wrong.
        """
        options = {
            "include": _patterns(include),
            "exclude": _patterns(exclude),
            "prefix": prefix,
            "overrides": {key: dict(keys) for key, keys in (overrides or {}).items()},
        }
        from toolrt.reloading.added import (  # noqa: PLC0415 - few programs add anything
            Adding,
            given_of,
        )

        written = {key: value for key, value in options.items() if value}
        given = await aside(partial(given_of, anything, name, written, self._project))
        adding = Adding(given)
        outcome = await self._changed("added", adding.edit, given.name)
        if adding.problem is not None:
            raise adding.problem
        return sorted(outcome.changes.added)

    async def remove(self, anything: Any) -> list[str]:
        """Take away what was added, and give the names of the tools that are gone.

        `anything` is the name of a tool, or of what it came with; or the object, its class, or one
        of its methods. Raises ProjectError where nothing of that was added.
        """
        from toolrt.reloading.removing import Removing, called  # noqa: PLC0415 - as above

        removing = Removing(anything, lambda: self._reloader.files.tools)
        outcome = await self._changed("removed", removing.edit, called(anything))
        if removing.problem is not None:
            raise removing.problem
        return sorted(outcome.changes.removed)

    async def _changed(self, reason: str, edit: Edit, what: str) -> Reload:
        outcome = await self._reloader.change(reason, edit)
        if outcome.is_accepted:
            return outcome
        report = outcome.report
        why = f"\n{report.rstrip()}" if report else f" {outcome.why}"
        hint = None if report else outcome.hint
        raise ProjectError(f"`{what}` cannot be {reason}:{why}", hint=hint, report=report)


def _patterns(given: Sequence[str]) -> list[str]:
    """One pattern is as good as a list of it."""
    return [given] if isinstance(given, str) else list(given)
