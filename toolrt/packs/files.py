# ruff: noqa: D417 - docstrings are for models, who do not see the Context
"""Tools over the files of one folder, for manifests to name.

    python: {object: "toolrt.packs.files:Files", init: {root: workspace}, call: read}

What is told of them to a model stands in their docstrings; docs/files.md has the rest.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

from pydantic import Field

from toolrt.core.context import Context
from toolrt.core.errors import ToolError
from toolrt.core.marks import tool
from toolrt.packs import answers, changing, edits, reading, searching, wildcards
from toolrt.packs.refusals import refusal
from toolrt.packs.texts import text_of
from toolrt.packs.versions import seen
from toolrt.packs.walking import Found, Walk
from toolrt.packs.workspace import Workspace, names_of, opened

_LONGEST_S: Final = 10.0
"""How long a search goes on before it tells what it has."""
_MOST_HITS: Final = 1000
_MOST_NAMES: Final = 2000

AnyPath = Annotated[str, Field(json_schema_extra={"format": "workspace-path"})]
Many = Annotated[int, Field(ge=1, le=_MOST_NAMES)]
Hits = Annotated[int, Field(ge=1, le=_MOST_HITS)]

_READ = "{{ result.text }}{{ result.note }}"
_LISTED = "{{ result.text }}{{ result.note }}"


class Files:
    """The tools of one folder: `root`, below the project's unless it is absolute."""

    def __init__(self, root: str = ".") -> None:
        self._root = root

    @tool(effect="read", result={"text": _READ})
    def read(
        self,
        call: Context,
        path: AnyPath,
        start: Annotated[int, Field(ge=1)] = 1,
        lines: Annotated[int, Field(ge=1, le=reading.MOST_LINES)] = reading.MOST_LINES,
    ) -> dict[str, Any]:
        """Read a text file, or some of its lines.

        Args:
            path: The file, such as docs/notes.txt.
            start: The first line wanted, counted from 1.
            lines: How many lines at most.
        """
        parts = names_of(path)
        shown = "/".join(parts)
        with self._opened(call) as workspace, workspace.file(parts) as held:
            sight = seen(held, shown)
        made = reading.window(text_of(sight.body, shown), start, lines)
        call.saw(sight.version)
        return {"path": shown, **made}

    @tool(effect="read", result={"text": _LISTED})
    def list(self, call: Context, path: AnyPath = ".", most: Many = 500) -> dict[str, Any]:
        """List what is in a folder, by name.

        Args:
            path: The folder; `.` is the workspace itself.
            most: How many names at most.
        """
        parts = names_of(path)
        with self._opened(call) as workspace:
            walk = Walk(workspace, _patience(call))
            found = walk.children(parts)
        return answers.listing(found, most, walk)

    @tool(effect="read", result={"text": _LISTED})
    def glob(
        self, call: Context, pattern: str, path: AnyPath = ".", most: Many = 500
    ) -> dict[str, Any]:
        """Find files by their paths.

        Args:
            pattern: Such as `**/*.py`: `*` and `?` stand for parts of one name, `**` for folders.
            path: The folder to look in.
            most: How many files at most.
        """
        parts, wanted = names_of(path), wildcards.parts_of_pattern(pattern)
        with self._opened(call) as workspace:
            walk = Walk(workspace, _patience(call))
            below = walk.below(parts, lambda at: wildcards.may_lead_on(at, wanted))
            found = [
                each
                for each in below
                if each.form == "file" and wildcards.is_matched(each.parts, wanted)
            ]
        return answers.listing(found, most, walk)

    @tool(effect="read", result={"text": _LISTED})
    def grep(  # noqa: PLR0917 - a model names its arguments
        self,
        call: Context,
        pattern: str,
        path: AnyPath = ".",
        glob: str = "**",
        ignore_case: bool = False,
        most: Hits = 100,
    ) -> dict[str, Any]:
        """Find lines that a regular expression matches, in one file or in all below a folder.

        Args:
            pattern: The expression, in the syntax of RE2: no look-around, no back-references.
            path: The file or folder to look in.
            glob: Which files below the folder, such as `**/*.py`.
            ignore_case: Whether capitals and small letters are the same.
            most: How many lines at most.
        """
        parts, wanted = names_of(path), wildcards.parts_of_pattern(glob)
        expression = searching.compiled(pattern, ignore_case=ignore_case)
        with self._opened(call) as workspace:
            go_on = _patience(call)
            walk = Walk(workspace, go_on)
            search = searching.Search(workspace, walk, expression, most, go_on)
            if _is_file(workspace, parts):
                search.look(parts[:-1], Found((parts[-1],), "file"))
            else:
                search.run(parts, wanted)
        return answers.hits(search)

    @tool(effect="write", result={"text": "{{ result.text }}"})
    def edit(
        self,
        call: Context,
        path: AnyPath,
        old: str,
        new: str,
        all: bool = False,  # noqa: A002 - as a model says it
    ) -> dict[str, Any]:
        """Put a new text in the place of an old one, in a file.

        Args:
            path: The file.
            old: The text that stands there now, exactly as it was read, in one place only.
            new: What is to stand there instead.
            all: Whether to do so everywhere, where the old text stands several times.
        """
        parts, edit = names_of(path), edits.Edit(old, new, everywhere=all)
        with self._opened(call) as workspace:
            if not changing.change(workspace, parts, edit.made, call):
                raise refusal("/".join(parts), "not-found", "is not there")
        return answers.replaced(parts, edit.count, edit.line)

    @tool(effect="write", idempotent=True, result={"text": "{{ result.text }}"})
    def write(self, call: Context, path: AnyPath, text: str) -> dict[str, Any]:
        """Write a whole file, in place of the one that is there, or new.

        Args:
            path: The file.
            text: All that it is to hold.
        """
        parts, body = names_of(path), answers.body_of(text)
        with self._opened(call) as workspace:
            is_new = not changing.change(workspace, parts, lambda *_: body, call)
            if is_new and not changing.create(workspace, parts, body, call):
                raise refusal("/".join(parts), "conflict", "was made by somebody else just now")
        return answers.written(parts, body, "made" if is_new else "replaced")

    @tool(effect="write", result={"text": "{{ result.text }}"})
    def create(self, call: Context, path: AnyPath, text: str) -> dict[str, Any]:
        """Write a new file, and the folders around it; one that is there already stays as it is.

        Args:
            path: The file.
            text: All that it is to hold.
        """
        parts, body = names_of(path), answers.body_of(text)
        with self._opened(call) as workspace:
            if not changing.create(workspace, parts, body, call):
                hint = "nothing was changed; read it, and edit it instead"
                raise refusal("/".join(parts), "conflict", "is there already", hint)
        return answers.written(parts, body, "made")

    @contextmanager
    def _opened(self, call: Context) -> Iterator[Workspace]:
        with opened(self._root, call.project) as workspace:
            yield workspace


def _patience(call: Context) -> Callable[[], bool]:
    """Says whether there is time to go on."""
    ends = time.monotonic() + min(_LONGEST_S, call.deadline_s * 0.8)
    return lambda: time.monotonic() < ends


def _is_file(workspace: Workspace, parts: Sequence[str]) -> bool:
    """Whether it is a file that is named; anything else is told when it is opened as a folder."""
    if not parts:
        return False
    try:
        with workspace.file(parts):
            return True
    except ToolError as error:
        if error.code == "access-denied":
            return False
        raise


_PROJECT = Files()
read, glob, grep, edit = _PROJECT.read, _PROJECT.glob, _PROJECT.grep, _PROJECT.edit
write, create = _PROJECT.write, _PROJECT.create
list = _PROJECT.list  # noqa: A001 - as a manifest names it
"""The same tools over the project's folder: `python: "toolrt.packs.files:read"`."""
