"""How a failure is told: `error[code]`, `hint` and `try` for a person, a document for a program.

The last step of a verb that could not do its work, and of a call that failed.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from toolrt.core.results import SCHEMA
from toolrt.faces.exits import Stop

if TYPE_CHECKING:
    from toolrt.faces.output import Screen

_OUTPUT = re.compile(r"-[qv]*o=?(.*)|--output(?:=(.*))?", re.DOTALL)
_MACHINE_FORMATS = ("json", "jsonl", "yaml")


def tell(stop: Stop, args: Sequence[str]) -> int:
    """Says why a verb ended and gives its status.

    `args` tell the format: what is wrong with them keeps a verb from having a screen.
    """
    from toolrt.core.redaction import redacted  # noqa: PLC0415 - only for mistakes
    from toolrt.faces.output import Screen  # noqa: PLC0415 - only for mistakes

    stop.message, stop.next = redacted(stop.message), redacted(stop.next)
    stop.hint = stop.hint and redacted(stop.hint)
    screen = Screen(format=_format_in(args))
    if screen.format == "text" and stop.report:
        screen.complain(f"{stop.report}\n")
    elif screen.format != "text" and stop.code != "output":
        screen.show(_document(stop), str)
    screen.complain(explained(screen, stop.code, stop.message, hint=stop.hint, next_=stop.next))
    return stop.status


def reported(bug: BaseException, args: Sequence[str]) -> str:
    """Writes the report of a bug; says where it is, or why there is none."""
    from toolrt.faces.cli.bugs import write_report  # noqa: PLC0415 - only for bugs

    try:
        return f"a report is in {write_report(bug, args)}"
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        return f"its report could not be written ({why}): `-v` shows what it says"


def explained(
    screen: "Screen",
    code: str,
    message: str,
    *,
    more: Iterable[str] = (),
    hint: str | None = None,
    next_: str,
) -> str:
    """The lines about one failure; `more` stands below the message and is safe to show."""
    from toolrt.faces.output import one_line  # noqa: PLC0415 - only for mistakes

    label = screen.paint(f"error[{one_line(code)}]:", on_stderr=True, fg="red", bold=True)
    hints = [f"hint: {one_line(hint)}"] if hint else []
    return "\n".join([f"{label} {one_line(message)}", *more, *hints, f"try: {next_}"])


def _document(stop: Stop) -> dict[str, Any]:
    error = {"code": stop.code, "message": stop.message, "hint": stop.hint}
    found = {"diagnostics": list(stop.diagnostics)} if stop.diagnostics else {}
    return {"schema": SCHEMA, "error": error, **found}


def _format_in(args: Sequence[str]) -> Any:
    """The last machine format that `args` ask for, well-formed or not; else text."""
    found = "text"
    for at, arg in enumerate(args):
        match = _OUTPUT.fullmatch(arg)
        if match:
            value = match[1] or match[2] or "".join(args[at + 1 : at + 2])
            found = value if value in _MACHINE_FORMATS else "text"
    return found
