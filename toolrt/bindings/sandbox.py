"""`sandbox:` of a command or script: what its run may reach, held by bubblewrap (S11).

Compiled once when the tool is bound; `SandboxRun.start` starts a run, by the same runner as any
other. What a run sees is in `sandbox_view`, whether that works here in `bubblewrap`, how it
ends in `sandbox_end`. A sandbox that is asked for and does not work makes the tool unavailable.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import Field, StrictBool

from toolrt.bindings import sandbox_calls
from toolrt.bindings.base import BindContext, Spec
from toolrt.bindings.bubblewrap import Needs, program
from toolrt.bindings.environ import is_of_the_loader
from toolrt.bindings.os_text import encoded, from_system
from toolrt.bindings.paths import compile_path_rules
from toolrt.bindings.process import Finished, Process, ProcessRequest, ProcessRunner
from toolrt.bindings.sandbox_end import SandboxLeader
from toolrt.bindings.sandbox_folders import open_beneath, secret_folders, writable
from toolrt.bindings.sandbox_view import (
    COMMON,
    covers_the_system,
    is_in,
    is_seen,
    private,
    system,
    walls,
)
from toolrt.core.errors import BindingError, RefusedError

_MOST_ARGUMENTS: Final = 9000
"""Bubblewrap takes no more, its own among them."""
_COMPLAINT: Final = b"bwrap: "


class Sandbox(Spec):
    """`sandbox:` of a command or shell tool.

    `network`: whether it has the machine's; `write`: the folders of the project that it may change.
    """

    network: StrictBool = False
    write: list[str] = Field(default_factory=list)


class SandboxRun:
    """The sandbox of one tool, around each of its runs."""

    __slots__ = (
        "_bwrap",
        "_lead",
        "_options",
        "_project",
        "_secret",
        "_write",
        "is_tight",
        "shown",
    )

    def __init__(
        self, spec: Sandbox, context: BindContext, file_size: int, codes: frozenset[int]
    ) -> None:
        self.shown: dict[str, Any] = {"network": spec.network, "write": list(spec.write)}
        self.is_tight = not spec.network and not spec.write
        """Whether nothing but what it prints can leave a run."""
        self._project = from_system(context.project.absolute())
        self._secret = tuple(self._place(each) for each in secret_folders(context))
        self._write = tuple(writable(spec.write, context))
        self._lead = partial(SandboxLeader, codes=codes)
        found = program(Needs(spec.network, bool(spec.write)))
        self._bwrap = b"" if found.path is None else os.fsencode(found.path)
        if found.why is not None:
            context.lacks(f"its sandbox {found.why}", "sandbox")
        options = [*walls(spec.network), *system(spec.network), *private(file_size)]
        for folder in (*_roots(context), self._project):
            if covers_the_system(folder) or self._is_seen_twice(folder, context):
                _refuse_wide(folder, context)
            options += ("--ro-bind-try", folder, folder)
        self._options = tuple(encoded(each) for each in options)

    def check_program(self, found: str, context: BindContext) -> tuple[bytes, ...]:
        """The options that show the program; the tool is unavailable where none can."""
        real = from_system(Path(found).resolve())
        seen = is_seen(real, from_system(context.project.resolve()))
        if seen is None:
            context.lacks("its program is kept where its sandbox shows nothing", "sandbox")
            return ()
        return tuple(encoded(each) for each in seen)

    def start(
        self, runner: ProcessRunner, request: ProcessRequest, seen: tuple[bytes, ...]
    ) -> Process:
        """Start the child in its sandbox. Raises BindingError with `sent="never"`, RefusedError."""
        with self._opened() as opened, sandbox_calls.opened() as calls:
            return runner.start(self._around(request, seen, opened, calls))

    def _around(
        self,
        request: ProcessRequest,
        seen: tuple[bytes, ...],
        opened: dict[str, int],
        calls: int | None,
    ) -> ProcessRequest:
        filtered = [each.encode() for each in sandbox_calls.options(calls)]
        binds = [b for folder, fd in opened.items() for b in _bound(fd, self._place(folder))]
        declared = {k: v for k, v in request.env.items() if is_of_the_loader(k)}
        given = [each for pair in declared.items() for each in (b"--setenv", *pair)]
        argv = (
            *(b"bwrap", *self._options, *seen, *binds, *filtered, *self._hidden(), *COMMON),
            *given,
            *(b"--chdir", request.cwd, b"--", request.executable, *request.argv[1:]),
        )
        if len(argv) > _MOST_ARGUMENTS:
            raise _too_many()
        return request._replace(
            executable=self._bwrap,
            argv=argv,
            env={k: v for k, v in request.env.items() if k not in declared},
            given=(*opened.values(), *(() if calls is None else (calls,))),
            lead=self._lead,
        )

    def _hidden(self) -> Iterator[bytes]:
        """Options that lay nothing over what is no tool's to see.

        The state, first of these, is made, for it may come while the run lasts.
        """
        with suppress(OSError):
            os.mkdir(self._secret[0], 0o700)  # noqa: PTH102 (a plain text)
        for place in self._secret:
            if os.path.isdir(place):  # noqa: PTH112 (a plain text)
                yield from (b"--tmpfs", place)

    @contextmanager
    def _opened(self) -> Iterator[dict[str, int]]:
        """The folders that may be written: what is open cannot be swapped for a link."""
        with ExitStack() as stack:
            opened = {}
            for folder in self._write:
                opened[folder] = open_beneath(self._project, folder)
                stack.callback(os.close, opened[folder])
            yield opened

    def _is_seen_twice(self, folder: str, context: BindContext) -> bool:
        """Whether it shows the project by another name, and what is hidden there with it."""
        real = from_system(context.project.resolve())
        return self._project not in {real, folder} and is_in(real, folder)

    def _place(self, folder: str) -> bytes:
        return encoded(f"{self._project}/{folder}")


def check_start(finished: Finished) -> None:
    """Raise BindingError where bubblewrap, and not the program, says what went wrong."""
    said = finished.stderr.head
    if finished.exit_code != 1 or finished.stdout.head or not said.startswith(_COMPLAINT):
        return
    raise BindingError(
        "its sandbox could not be set up, or could not start the program in it",
        code="unavailable",
        hint="the operator sees why: toolrt doctor",
        details={"stderr": said[:2000].decode("utf-8", "replace")},
        sent="maybe",
    )


def _bound(descriptor: int, place: bytes) -> tuple[bytes, ...]:
    return (b"--bind-fd", b"%d" % descriptor, place)


def _roots(context: BindContext) -> list[str]:
    """The folders outside of the project that its path parameters lead into, outermost first."""
    rules = compile_path_rules(context.input_schema, context.project)
    return [] if rules is None else sorted(rules.outside())


def _refuse_wide(folder: str, context: BindContext) -> None:
    context.fault(
        "sandbox-too-wide",
        f"its sandbox would show `{folder}`, and with it what it must hide",
        "sandbox",
        on_key=True,
        hint="keep the project, and what `format: path` leads to, in folders of their own",
    )


def _too_many() -> RefusedError:
    return RefusedError(
        f"too many arguments for a sandbox: less than {_MOST_ARGUMENTS:,}",
        code="invalid-arguments",
    )
