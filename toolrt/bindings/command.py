"""The kind `command`: a program with exact arguments, no shell anywhere.

`command: [du, {-s: true}, --, "{{ path }}"]` is one element, one argument; a mapping holds options.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from toolrt.bindings.argv import Argv
from toolrt.bindings.base import BindContext, Kind
from toolrt.bindings.execution import Element, Execution, ExecutionSpec
from toolrt.bindings.programs import instead_of_code, is_past_code, runs_its_arguments


def _a_list(value: object) -> object:
    if isinstance(value, str):
        raise PydanticCustomError(
            "not-a-list",
            "expected a list with one element an argument, such as [du, -s, .]; "
            "a line for a shell goes under `shell`",
        )
    return value


class CommandSpec(ExecutionSpec):
    """`argv`: the program, then an element for each argument; a mapping holds options."""

    argv: Annotated[list[Element], BeforeValidator(_a_list), Field(min_length=1)]


def bind(spec: CommandSpec, context: BindContext) -> Execution:
    """Compile a command; the program is looked up here, once."""
    program = spec.argv[0]
    arguments = Argv(spec.argv[1:], context, first=1)
    if not isinstance(program, str) or "{{" in program or "${" in program:
        program = ""
        context.fault(
            "program-not-constant",
            "the program is constant text, never a value",
            "argv",
            0,
            hint="make one tool for each program",
        )
    execution = Execution(spec, context, (program,), arguments)
    if program:
        execution.find(program, context, "argv", 0)
    if program and not execution.lets_nothing_out:
        _warn_of_code(program, arguments, context)
    return execution


def _warn_of_code(program: str, arguments: Argv, context: BindContext) -> None:
    free = arguments.first_free_text
    if free is None or not runs_its_arguments(program) or is_past_code(program, free.before):
        return
    context.hands_text_on = True
    context.fault(
        "caller-text-to-interpreter",
        f"`{program}` can be told to run other things, and `{free.name}` is any text of the "
        "caller: unless it says `hitl: none`, this tool asks a person",
        *free.path,
        severity="warning",
        hint=f"{instead_of_code(program, free.before)}narrow the parameter with `enum`, "
        "or write `sandbox: {}`",
    )


KIND = Kind("command", CommandSpec, bind)
