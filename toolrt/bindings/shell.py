"""The kind `shell`: a constant script; values reach it only as `"$1"` and environment (S1).

The script is never a template, so no value can become part of it; `${x}` in it is the shell's own.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from toolrt.bindings.argv import ELEMENT_LIMIT, Argv
from toolrt.bindings.base import BindContext, Kind
from toolrt.bindings.execution import Element, Execution, ExecutionSpec
from toolrt.bindings.os_text import is_system_text
from toolrt.core.faults import FaultError
from toolrt.expressions.slots import ARGUMENT
from toolrt.expressions.templates import Template, compile_template

_REFERENCE = re.compile(r"\$\{(env|file|secret|caller|tenant):[A-Za-z_][^{}]*\}")
_NAME = re.compile(r"\{\{-?\s*[\w.]+\s*-?\}\}")
_MISSING = re.compile(
    r"\{\{-?\s*caller\.(tenant|session|claims\.[\w.]+)\s*-?\}\}|\bif\b(?!.*\belse\b)", re.DOTALL
)
"""What may be absent though it is no parameter: values of the caller, `if` without `else`."""
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
    _check_places(spec.argv, arguments, context)
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


def _check_places(written: list[Element], arguments: Argv, context: BindContext) -> None:
    """Refuse what may be absent and is not last: what follows it would move up one place."""
    for path, template in arguments.lone:
        number = int(path[1])
        is_last = number == len(written) - 1
        if is_last or not isinstance(written[number], str) or not _may_vanish(template, context):
            continue
        context.fault(
            "optional-in-argv",
            f"`{template.source}` may be absent, and `${number + 2}` would then be `${number + 1}`",
            *path,
            hint="give it a default, put it last, or pass it under `env`",
        )


def _may_vanish(template: Template, context: BindContext) -> bool:
    if _MISSING.search(template.source):
        return True
    if _NAME.fullmatch(template.source):
        properties = context.input_schema.get("properties", {})
        if any(_may_be_null(properties.get(name)) for name in template.parameters):
            return True
    try:
        compile_template(f"={template.source}", ARGUMENT, context.names)
    except FaultError:
        return True
    return False


def _may_be_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "null" in (schema.get("type") or ())


def _check_interpreter(interpreter: list[str], context: BindContext) -> None:
    for number, element in enumerate(interpreter):
        if "{{" in element or "${" in element:
            message = "the interpreter and its options are constant text"
            context.fault("program-not-constant", message, "interpreter", number, hint=_HINT)
        elif not is_system_text(element):
            message = "the interpreter and its options hold characters only"
            context.fault("invalid-program", message, "interpreter", number)


KIND = Kind("shell", ShellSpec, bind)
