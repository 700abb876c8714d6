"""What the kinds `command` and `shell` have in common: their options, and one run of a child.

A kind says which program runs and which arguments come first; everything around that (stdin,
working folder, environment, limits, how the end is read) is here.
"""

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from toolrt.bindings.answers import Output
from toolrt.bindings.argv import Argv, check_size
from toolrt.bindings.base import BindContext, Spec
from toolrt.bindings.environ import Environ
from toolrt.bindings.exits import answer
from toolrt.bindings.feeding import Input
from toolrt.bindings.folders import WorkingFolder
from toolrt.bindings.homes import Homes
from toolrt.bindings.limits import Limits
from toolrt.bindings.os_text import encoded, is_system_text
from toolrt.bindings.outputs import Captured
from toolrt.bindings.process import Finished, Process, ProcessRequest, ProcessRunner
from toolrt.bindings.programs import find_program, missing
from toolrt.bindings.sandbox import Sandbox, SandboxRun, check_start
from toolrt.bindings.sandbox_view import HOME
from toolrt.core.calls import Invocation
from toolrt.core.faults import FaultError
from toolrt.core.results import Answer
from toolrt.expressions.scope import Scope
from toolrt.manifest.cases import Mock

OptionValue = str | StrictBool | None
Element = str | dict[str, OptionValue | list[OptionValue]]
_NOTHING = Scope()
ExitCode = Annotated[int, Field(ge=0, le=255)]


class ExecutionSpec(Spec):
    """Options that a command and a script share.

    `success` are the exit codes that count as success; `stdin` is a text, or a value that is sent
    as JSON; `cwd` is the project unless it says otherwise.
    """

    stdin: str | dict[str, Any] | list[Any] | None = None
    cwd: str | None = None
    env: dict[str, str | None] = Field(default_factory=dict)
    success: list[ExitCode] = Field(default=[0], min_length=1)
    output: Literal["text", "json", "jsonl", "lines", "csv"] = "text"
    limits: Limits = Limits()
    sandbox: Sandbox | None = None


class Execution:
    """The binding of a command or a script: one child process a call.

    `leading` are the constant arguments from the program's name on; `arguments` follow them.
    """

    def __init__(
        self, spec: ExecutionSpec, context: BindContext, leading: tuple[str, ...], arguments: Argv
    ) -> None:
        self._homes = context.services.share(Homes)  # before the runner, so closed after it
        self._runner = context.services.share(ProcessRunner)
        self._vars, self._references = context.vars, context.references
        self._executable, self._leading, self._arguments = b"", leading, arguments
        self._first = tuple(encoded(each) for each in leading if is_system_text(each))
        self._folder = WorkingFolder(spec.cwd, context)
        self._environ = Environ(spec.env, context)
        self._input = Input(spec.stdin, context)
        self._is_constant = (
            arguments.is_constant and self._environ.is_constant and spec.stdin is None
        )
        self._secrets = (*self._environ.references, *self._input.references)
        self._success = frozenset(spec.success)
        self._output: Output = spec.output
        self._limits, self._keep_bytes = spec.limits.rlimits(), spec.limits.output
        self._sandbox: SandboxRun | None = None
        self._seen: tuple[bytes, ...] = ()
        if spec.sandbox is not None:
            size = spec.limits.file_size
            self._sandbox = SandboxRun(spec.sandbox, context, size, self._success)
        self._lends_home = self._environ.needs_home and self._sandbox is None
        context.warn_of_unused("name it in a template: as an argument, or under `env` or `stdin`")

    def find(self, program: str, context: BindContext, *path: str | int) -> None:
        """Look up the program once; report a wrong name, or that the tool is unavailable."""
        try:
            found = find_program(program, context.project)
        except FaultError as error:
            context.faults.extend(error.under(*path))
            return
        if found is None:
            context.unavailable = context.unavailable or missing(program)
        self._executable = os.fsencode(found) if found else encoded(program)
        if found and self._sandbox is not None:
            self._seen = self._sandbox.check_program(found, context)

    @property
    def lets_nothing_out(self) -> bool:
        """Whether all that leaves a run is what it prints: a sandbox that nothing gets through,
        and no secret in it (P16).
        """
        return self._sandbox is not None and self._sandbox.is_tight and not self._secrets

    async def call(self, invocation: Invocation) -> Answer:
        invocation.sent = "never"
        if self._secrets:
            await self._references.prepare(self._secrets, invocation.caller)
        home = self._homes.lend() if self._lends_home else None
        take_back = self._homes.take_back
        try:
            process = self._start(self._request(invocation, home))
            invocation.sent = "maybe"
            take_back = self._homes.take_back_soon
            finished = await process.finished()
            take_back = self._homes.lend_again if finished.left_none else self._homes.take_back
        finally:
            if home is not None:
                take_back(home)
        invocation.sent = "answered"
        if self._sandbox is not None:
            check_start(finished)
        return answer(finished, self._success, self._output)

    def pretended(self, mock: Mock, _now: Callable[[], float]) -> Answer:
        """The answer of a child that ended like that."""
        code = min(self._success) if mock.exit_code is None else mock.exit_code
        stdout, stderr = (Captured((text or "").encode()) for text in (mock.stdout, mock.stderr))
        return answer(Finished(code, None, stdout, stderr, 0.0), self._success, self._output)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        scope = self._scope(invocation)
        shown = {
            "argv": [*self._leading, *self._arguments.render(scope)],
            "cwd": self._folder.of(invocation.arguments),
            "env": self._environ.masked(scope),
            "stdin": self._input.masked(scope),
        }
        return shown if self._sandbox is None else {**shown, "sandbox": self._sandbox.shown}

    def _start(self, request: ProcessRequest) -> Process:
        if self._sandbox is None:
            return self._runner.start(request)
        return self._sandbox.start(self._runner, request, self._seen)

    def _request(self, invocation: Invocation, home: str | None) -> ProcessRequest:
        scope = self._scope(invocation)
        argv = (*self._first, *map(encoded, self._arguments.render(scope)))
        if home is None and self._environ.needs_home:
            home = HOME
        env = self._environ.render(scope, home, invocation.traceparent)
        check_size(argv, env)
        return ProcessRequest(
            executable=self._executable,
            argv=argv,
            env=env,
            cwd=encoded(self._folder.of(invocation.arguments)),
            stdin=self._input.read(scope),
            limits=self._limits,
            keep_bytes=self._keep_bytes,
        )

    def _scope(self, invocation: Invocation) -> Scope:
        if self._is_constant:
            return _NOTHING
        return Scope(
            self._folder.placed(invocation.arguments),
            invocation=invocation,
            vars=self._vars,
            references=self._references,
        )
