"""Every kind of violation in words: what was expected, what was sent, the nearest right name.

Between the validator, which finds violations, and the refusal that a model reads. No text of the
validator's own gets through.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolrt.core.faults import Path
from toolrt.core.names import nearest
from toolrt.core.redaction import MASK
from toolrt.schemas.messages import MOST_FAULTS, ArgumentFault
from toolrt.schemas.phrases import (
    alternatives,
    describe,
    options,
    place,
    pointer,
    shown,
    visible,
    with_article,
)
from toolrt.schemas.shapes import Shape, Shapes, at
from toolrt.schemas.validators import Violation

_CLOSE = 0.6
_LONGEST_NAME = 64
_MOST_COMPARED = 500
_MOST_NAMES = 50

Faults = Iterator[ArgumentFault]


def explain(found: Sequence[Violation], value: Any, shapes: Shapes) -> list[ArgumentFault]:
    """The faults behind the violations of `value`, at most 20."""
    explaining = Explaining(value, shapes)
    faults: dict[tuple[str, str], ArgumentFault] = {}
    for violation in found:
        for fault in explaining.faults(violation):
            faults.setdefault((pointer(fault.path), fault.message), fault)
            if len(faults) == MOST_FAULTS:
                return list(faults.values())
    return list(faults.values())


class Explaining:
    """A value, its schema, and the words for what is wrong between them."""

    __slots__ = ("shapes", "value")

    def __init__(self, value: Any, shapes: Shapes) -> None:
        self.value = value
        self.shapes = shapes

    def faults(self, violation: Violation) -> Faults:
        yield from EXPLAINED[violation.kind](self, violation)

    def fault(
        self, path: Path, expected: str, *, near: str | None = None, but: str | None = None
    ) -> ArgumentFault:
        """A value that must be something else; `but` says what it is when `got` does not."""
        got = self.got(path)
        message = f"{subject(path)} must be {with_article(expected)}, not {but or got}"
        if near is not None:
            message += f" (did you mean {near}?)"
        return ArgumentFault(path, message, expected, got, near, self.example(path))

    def expected(self, violation: Violation) -> str:
        """What the schema around the broken keyword takes: type, range, pattern in one phrase."""
        around = at(self.shapes.root, violation.schema_path[:-1])
        return describe(True if around is None else around, self.shapes.root)

    def got(self, path: Path) -> str:
        return MASK if self.is_sensitive(path) else shown(at(self.value, path))

    def is_sensitive(self, path: Path) -> bool:
        return any(shape.is_sensitive for shape in self.shapes.along(path))

    def shape(self, path: Path) -> Shape:
        *_, shape = self.shapes.along(path)
        return shape

    def example(self, path: Path) -> str | None:
        examples = self.shape(path).examples
        if not examples or isinstance(examples[0], (dict, list)):
            return None
        return shown(examples[0])


def subject(path: Path) -> str:
    """The place as the beginning of a clause."""
    return f"`{place(path)}`" if path else "the arguments together"


def _wrong_value(on: Explaining, violation: Violation) -> Faults:
    yield on.fault(violation.path, on.expected(violation))


def _wrong_choice(on: Explaining, violation: Violation) -> Faults:
    value = at(on.value, violation.path)
    choices = violation.detail["options"]
    near = None
    if isinstance(value, str) and not on.is_sensitive(violation.path):
        near = _near(value, [choice for choice in choices if isinstance(choice, str)])
    yield on.fault(violation.path, options(choices), near=None if near is None else shown(near))


def _repeated(on: Explaining, violation: Violation) -> Faults:
    yield on.fault(violation.path, on.expected(violation), but="one with repeated items")


def _missing(on: Explaining, violation: Violation) -> Faults:
    name = violation.detail["property"]
    path = (*violation.path, name)
    expected = describe(on.shape(violation.path).properties.get(name, True), on.shapes.root)
    message = f"{subject(path)} is missing"
    if violation.schema_path[-1] == "dependentRequired":
        message += f": {_causes(on, violation, name)} cannot go without it"
    yield ArgumentFault(path, message, expected, "nothing", None, on.example(path), "add")


def _causes(on: Explaining, violation: Violation, name: str) -> str:
    asking = at(on.shapes.root, violation.schema_path) or {}
    given = at(on.value, violation.path) or {}
    causes = [one for one, needed in asking.items() if one in given and name in needed]
    return " and ".join(f"`{visible(one)}`" for one in causes)


def _unknown_names(on: Explaining, violation: Violation) -> Faults:
    for name in violation.detail["unexpected"]:
        yield _unknown_name(on, violation.path, name)


def _unknown_name(on: Explaining, path: Path, name: str) -> ArgumentFault:
    known = list(on.shape(path).properties)
    sent = at(on.value, path)
    near = _near(name, [one for one in known if one not in sent]) or _near(name, known)
    within = f" in {subject(path)}" if path else ""
    message = f"there is no `{visible(name)}`{within}"
    expected = f"one of {_listed(known)}" if known else "no names"
    if near is None:
        return ArgumentFault((*path, name), message, expected, "a value", remedy="leave out")
    message += f" (did you mean `{visible(near)}`?)"
    return ArgumentFault((*path, name), message, expected, "a value", near, remedy="rename")


def _listed(names: Sequence[str], most: int = 20) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"`{visible(name)}`" for name in names[:most]) + more


def _refused(on: Explaining, violation: Violation) -> Faults:
    """A schema of `false`: as `additionalProperties` it means unknown names."""
    sent = at(on.value, violation.path)
    if violation.schema_path[-1:] == ("additionalProperties",) and isinstance(sent, Mapping):
        for name in sent:
            yield _unknown_name(on, violation.path, name)
        return
    message = f"{subject(violation.path)} is not taken here"
    yield ArgumentFault(
        violation.path, message, "nothing", on.got(violation.path), remedy="leave out"
    )


def _wrong_name(on: Explaining, violation: Violation) -> Faults:
    """A property name that breaks `propertyNames`."""
    name = visible(violation.detail.get("name", ""))
    ((inner,),) = violation.branches
    wanted = with_article(on.expected(inner))
    message = f"the name `{name}` in {subject(violation.path)} must be {wanted}"
    yield ArgumentFault(violation.path, message, wanted, f"`{name}`")


def _extra_items(on: Explaining, violation: Violation) -> Faults:
    message = f"{subject(violation.path)} has more items than are taken"
    yield ArgumentFault(violation.path, message, "fewer items", on.got(violation.path))


def _no_branch(on: Explaining, violation: Violation) -> Faults:
    """Of alternatives, explain the one that was meant, when it is clear which."""
    branches = at(on.shapes.root, violation.schema_path)
    branches = branches if isinstance(branches, list) else []
    meant = _meant(on, violation, branches)
    if meant is not None:
        for inner in meant:
            yield from on.faults(inner)
        return
    yield on.fault(violation.path, alternatives(branches, on.shapes.root))


def _meant(
    on: Explaining, violation: Violation, branches: Sequence[Any]
) -> tuple[Violation, ...] | None:
    """The one branch that takes the value's type, and of several the one with its constants, or
    else with its names.
    """
    candidates = [
        number
        for number, branch in enumerate(violation.branches)
        if not any(one.path == violation.path and one.kind == "Type" for one in branch)
    ]
    if len(candidates) > 1:
        candidates = [
            number
            for number in candidates
            if not any(one.kind in {"Constant", "Enum"} for one in violation.branches[number])
        ]
    if len(candidates) > 1:
        candidates = _of_most_names(on, at(on.value, violation.path), branches, candidates)
    return violation.branches[candidates[0]] if len(candidates) == 1 else None


def _of_most_names(
    on: Explaining, sent: Any, branches: Sequence[Any], candidates: Sequence[int]
) -> list[int]:
    """Of these numbers of branches those that know most names of an object, nearly or truly."""
    if not isinstance(sent, Mapping) or len(branches) <= max(candidates):
        return []
    names = list(sent)[:_MOST_NAMES]
    known = {number: _known(names, on.shapes.of(branches[number])) for number in candidates}
    most = max(known.values())
    return [number for number, count in known.items() if count == most > 0]


def _known(names: Sequence[str], shape: Shape) -> int:
    """Two for each name that the shape has, one for each that it nearly has."""
    properties = list(shape.properties)
    is_here = [name in shape.properties for name in names]
    missing = [name for name, is_known in zip(names, is_here, strict=True) if not is_known]
    return 2 * sum(is_here) + sum(_near(name, properties) is not None for name in missing)


def _many_branches(on: Explaining, violation: Violation) -> Faults:
    branches = at(on.shapes.root, violation.schema_path) or []
    got = on.got(violation.path)
    expected = f"exactly one of: {alternatives(branches, on.shapes.root)}"
    message = f"{subject(violation.path)} fits more than one of its forms: make it {expected}"
    yield ArgumentFault(violation.path, message, expected, got, None, on.example(violation.path))


def _forbidden(on: Explaining, violation: Violation) -> Faults:
    unwanted = with_article(describe(violation.detail["schema"], on.shapes.root))
    message = f"{subject(violation.path)} must not be {unwanted}"
    yield ArgumentFault(violation.path, message, f"not {unwanted}", on.got(violation.path))


def _unchecked(on: Explaining, violation: Violation) -> Faults:
    message = f"{subject(violation.path)} could not be checked: this tool's schema is at fault"
    yield ArgumentFault(violation.path, message, "a value", on.got(violation.path))


def _near(name: str, known: Sequence[str]) -> str | None:
    """The nearest name; spelling in capitals or with `-` for `_` counts as the same."""
    if len(name) > _LONGEST_NAME:
        return None
    known = known[:_MOST_COMPARED]
    same = {_folded(one): one for one in known}
    return same.get(_folded(name)) or nearest(name, known, _CLOSE)


def _folded(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


EXPLAINED: Mapping[str, Callable[[Explaining, Violation], Faults]] = {
    "AdditionalItems": _extra_items,
    "AdditionalProperties": _unknown_names,
    "AnyOf": _no_branch,
    "BacktrackLimitExceeded": _unchecked,
    "Constant": _wrong_value,
    "Contains": _wrong_value,
    "ContentEncoding": _wrong_value,
    "ContentMediaType": _wrong_value,
    "Custom": _unchecked,
    "Enum": _wrong_choice,
    "ExclusiveMaximum": _wrong_value,
    "ExclusiveMinimum": _wrong_value,
    "FalseSchema": _refused,
    "Format": _wrong_value,
    "FromUtf8": _wrong_value,
    "MaxItems": _wrong_value,
    "MaxLength": _wrong_value,
    "MaxProperties": _wrong_value,
    "Maximum": _wrong_value,
    "MinItems": _wrong_value,
    "MinLength": _wrong_value,
    "MinProperties": _wrong_value,
    "Minimum": _wrong_value,
    "MultipleOf": _wrong_value,
    "Not": _forbidden,
    "OneOfMultipleValid": _many_branches,
    "OneOfNotValid": _no_branch,
    "Pattern": _wrong_value,
    "PropertyNames": _wrong_name,
    "Referencing": _unchecked,
    "RegexEngineFailure": _unchecked,
    "Required": _missing,
    "Type": _wrong_value,
    "UnevaluatedItems": _extra_items,
    "UnevaluatedProperties": _unknown_names,
    "UniqueItems": _repeated,
}
"""Kind of violation -> its words."""
