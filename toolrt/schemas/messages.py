"""The refusal of a call whose arguments do not fit, in words that a model can act on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path
from toolrt.schemas.phrases import place, pointer, visible
from toolrt.schemas.shapes import Shape

MOST_FAULTS = 20
_MOST_NAMED = 5

Remedy = Literal["rename", "correct", "leave out", "add"]
REMEDIES: tuple[Remedy, ...] = get_args(Remedy)


@dataclass(frozen=True, slots=True)
class ArgumentFault:
    """One thing that is wrong with the arguments of a call.

    `message` is a clause that names the place; `nearest` is the right name or value when sure;
    `remedy` says what is to be done with the argument.
    """

    path: Path
    message: str
    expected: str
    got: str
    nearest: str | None = None
    example: str | None = None
    remedy: Remedy = "correct"

    def document(self) -> dict[str, str]:
        """The entry of the error's `details.faults`."""
        made = {
            "pointer": pointer(self.path),
            "expected": self.expected,
            "got": self.got,
            "message": self.message,
        }
        more = {"nearest": self.nearest, "example": self.example}
        return made | {name: value for name, value in more.items() if value is not None}


def refusal(faults: Sequence[ArgumentFault], shape: Shape, given: Any) -> RefusedError:
    """The error of a call: all `faults` at once, `given` as sent, `shape` as the tool wants it.

    Code missing-arguments when nothing but that is wrong, else invalid-arguments.
    """
    required = list(dict.fromkeys(shape.required))
    details = {"faults": [fault.document() for fault in faults], "required": required}
    if all(fault.remedy == "add" for fault in faults):
        return RefusedError(
            _missing_message(faults),
            code="missing-arguments",
            hint=_missing_hint(faults, shape, given),
            details=details,
        )
    return RefusedError(
        _message(faults), code="invalid-arguments", hint=_hint(faults), details=details
    )


def invalid(fault: ArgumentFault, hint: str) -> RefusedError:
    """The error of a call whose arguments could not even be compared with the schema."""
    details = {"faults": [fault.document()], "required": []}
    return RefusedError(f"{fault.message}.", code="invalid-arguments", hint=hint, details=details)


def _message(faults: Sequence[ArgumentFault]) -> str:
    if len(faults) == 1:
        return f"{faults[0].message}."
    count = f"{len(faults)} or more" if len(faults) >= MOST_FAULTS else str(len(faults))
    listed = "; ".join(fault.message for fault in faults[:_MOST_NAMED])
    more = "; …" if len(faults) > _MOST_NAMED else "."
    return f"{count} things are wrong with the arguments: {listed}{more}"


def _hint(faults: Sequence[ArgumentFault]) -> str:
    remedies = [part for remedy in REMEDIES if (part := _remedy(remedy, faults))]
    hint = f"{', '.join(remedies)} and call again"
    if len(faults) == 1 and faults[0].example is not None:
        return f"{hint} (an example: {faults[0].example})"
    return hint


def _remedy(remedy: Remedy, faults: Sequence[ArgumentFault]) -> str:
    """`correct a, b`; empty when no fault asks for it."""
    renamed = {fault.nearest for fault in faults if fault.remedy == "rename"}
    names = [
        _named(fault)
        for fault in faults
        if fault.remedy == remedy and not (remedy == "add" and fault.path[-1] in renamed)
    ]
    return f"{remedy} {_listed(names)}" if names else ""


def _missing_message(faults: Sequence[ArgumentFault]) -> str:
    if len(faults) == 1:
        return f"{faults[0].message}."
    return f"{len(faults)} arguments are missing: {_listed(map(_named, faults))}."


def _missing_hint(faults: Sequence[ArgumentFault], shape: Shape, given: Any) -> str:
    required = dict.fromkeys(f"`{visible(name)}`" for name in shape.required)
    everything = ", ".join(required) or _listed(map(_named, faults))
    if _looks_cut_off(faults, list(shape.properties), given):
        return f"the call was probably cut off (max tokens): send all of: {everything}"
    return f"send all of: {everything}"


def _looks_cut_off(faults: Sequence[ArgumentFault], order: list[str], given: Any) -> bool:
    """Whether what was sent stops short: nothing that comes after a missing name is there."""
    missing = [fault.path[0] for fault in faults if len(fault.path) == 1]
    if len(missing) < len(faults) or not isinstance(given, Mapping):
        return False
    first = min((order.index(name) for name in missing if name in order), default=0)
    return given.keys() <= set(order[:first])


def _named(fault: ArgumentFault) -> str:
    if not fault.path:
        return "the arguments"
    to = f" to `{visible(fault.nearest)}`" if fault.remedy == "rename" and fault.nearest else ""
    return f"`{place(fault.path)}`{to}"


def _listed(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _MOST_NAMED} more" if len(distinct) > _MOST_NAMED else ""
    return ", ".join(distinct[:_MOST_NAMED]) + more
