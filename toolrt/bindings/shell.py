"""The kind `shell`: a constant script; values reach it only as `"$1"` and environment (S1).

The script is never a template, so no value can become part of it; `${x}` in it is the shell's own.
"""

import re

from pydantic import Field

from toolrt.bindings.argv import ELEMENT_LIMIT, Argv
from toolrt.bindings.base import BindContext, Kind
from toolrt.bindings.execution import Element, Execution, ExecutionSpec
from toolrt.bindings.os_text import is_system_text

_REFERENCE = re.compile(r"\$\{(env|file|secret|caller|tenant):[A-Za-z_][^{}]*\}")
_HINT = 'pass values under `argv`, to be read as "$1", or under `env`'


class ShellSpec(ExecutionSpec):
    """`argv` are `"$1"`, `"$2"`, … of the script; the interpreter gets it after `-c`."""

    script: str = Field(min_length=1)
    argv: list[Element] = Field(default_factory=list)
    interpreter: list[str] = Field(default=["bash", "-euo", "pipefail"], min_length=1)


def bind(spec: ShellSpec, context: BindContext) -> Execution:
    """Compile a script; its interpreter is looked up here, once."""
    _check_script(spec.script, context)
    _check_interpreter(spec.interpreter, context)
    leading = (*spec.interpreter, "-c", spec.script, "toolrt")
    arguments = Argv(spec.argv, context, is_guarded=True)
    execution = Execution(spec, context, leading, arguments)
    execution.find(spec.interpreter[0], context, "interpreter", 0)
    return execution


def _check_script(script: str, context: BindContext) -> None:
    if "{{" in script:
        message, offset = "a script is constant text, never a template", script.index("{{")
        context.fault("template-in-script", message, "script", hint=_HINT, offset=offset)
    if found := _REFERENCE.search(script):
        message = f"`{found[0]}` in a script is the shell's own, not a reference of toolrt"
        context.fault(
            "reference-in-script",
            message,
            "script",
            hint="put the reference under `env`, and read that variable here",
            severity="warning",
            offset=found.start(),
        )
    if not is_system_text(script) or len(script.encode("utf-8", "surrogatepass")) >= ELEMENT_LIMIT:
        context.fault("script-too-long", "a script is less than 128 KiB of text", "script")


def _check_interpreter(interpreter: list[str], context: BindContext) -> None:
    for number, element in enumerate(interpreter):
        if "{{" in element or "${" in element:
            message = "the interpreter and its options are constant text"
            context.fault("program-not-constant", message, "interpreter", number, hint=_HINT)
        elif not is_system_text(element):
            message = "the interpreter and its options hold characters only"
            context.fault("invalid-program", message, "interpreter", number)


KIND = Kind("shell", ShellSpec, bind)
