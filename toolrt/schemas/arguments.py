"""The check that every call's arguments pass before policy, approver and binding see them.

What goes in is what a model sent; what comes out is a new, plain, canonical value with defaults
in place, or one refusal that names every fault.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolrt.core.errors import RefusedError
from toolrt.schemas.coercion import coerced
from toolrt.schemas.effort import LONG_NUMBERS, Effort, excess
from toolrt.schemas.explanations import explain
from toolrt.schemas.messages import MOST_FAULTS, ArgumentFault, invalid, refusal
from toolrt.schemas.phrases import describe, shown, visible, with_article
from toolrt.schemas.plain import NotJsonError, plain
from toolrt.schemas.quick import Check, quick_check
from toolrt.schemas.settling import Settling
from toolrt.schemas.shapes import Shape, Shapes
from toolrt.schemas.text import not_an_object, not_json, parse_arguments
from toolrt.schemas.validators import (
    BadSchemaError,
    Validator,
    Violation,
    compile_validator,
    violations,
)

__all__ = ["ArgumentChecker", "parse_arguments"]

_MOST_CHECKED = 5_000_000
"""Looks at parts of a value that a check may take; each costs some 0.1 us."""
_FEW_LOOKS = 16
"""A schema that never looks more often at any part needs no count of its values."""
_MOST_EXPLAINED = 5_000
"""Looks that are explained one by one; each costs some 15 us and 1.5 KB."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """What the first call makes of a schema."""

    validator: Validator
    shapes: Shapes
    settling: Settling
    quick: Check | None = None
    effort: Effort | None = None

    @property
    def shape(self) -> Shape:
        return self.shapes.of(self.shapes.root)


class ArgumentChecker:
    """Checks the arguments of one tool. Cheap to make: the work is done at the first call.

    `hidden` names are filled in by the system: sending one is a fault, leaving it out is none.
    With `coerce`, arguments that do not fit are read once more as `coercion` says.
    """

    __slots__ = ("_coerce", "_hidden", "_ready", "_schema")

    def __init__(
        self,
        schema: Mapping[str, Any],
        *,
        hidden: frozenset[str] = frozenset(),
        coerce: bool = False,
    ) -> None:
        self._schema = schema
        self._hidden = hidden
        self._coerce = coerce
        self._ready: _Ready | None = None

    def check(self, arguments: Any) -> dict[str, Any]:
        """The arguments as the tool gets them. Raises RefusedError with all faults at once."""
        ready = self._ready or self._make_ready()
        return self._whole(arguments) if ready.quick is None else ready.quick(arguments)

    @property
    def soonest(self) -> Check:
        """`check` as it is done soonest, once the schema has been looked at."""
        try:
            ready = self._ready or self._make_ready()
        except RefusedError:
            return self.check
        return ready.quick or self.check

    def _whole(self, arguments: Any) -> dict[str, Any]:
        return self.check_with_notes(arguments)[0]

    def check_with_notes(self, arguments: Any) -> tuple[dict[str, Any], list[str]]:
        """As `check`, with a sentence for each value that coercion changed."""
        ready = self._ready or self._make_ready()
        if ready.effort is not None:
            _refuse_large(arguments, ready.effort)
        much = excess(arguments)
        if much is not None and (much == LONG_NUMBERS or not _is_right(ready, arguments)):
            raise _too_much(much)
        value = _plain_object(arguments)
        if self._fits(ready, value):
            return value, []
        return self._second_look(ready, value, arguments)

    def of_texts(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Arguments that come as texts, such as parts of a URI, read as what the schema wants."""
        try:
            ready = self._ready or self._make_ready()
        except RefusedError:  # which the call itself will tell
            return dict(texts)
        return coerced(dict(texts), ready.shapes)[0]

    def _fits(self, ready: _Ready, value: dict[str, Any]) -> bool:
        """Settle `value` in place, and say whether it is valid then."""
        if not self._hidden.isdisjoint(value):
            return False
        ready.settling.settle(value)
        return ready.validator.is_valid(value)

    def _second_look(
        self, ready: _Ready, value: dict[str, Any], sent: Any
    ) -> tuple[dict[str, Any], list[str]]:
        faults = [_filled_in(name) for name in value if name in self._hidden]
        given = {name: item for name, item in value.items() if name not in self._hidden}
        notes: list[str] = []
        if self._coerce:
            given, notes = coerced(given, ready.shapes)
        ready.settling.settle(given)
        if not faults and ready.validator.is_valid(given):
            return given, notes
        faults += _faults(ready, given)
        raise refusal(faults, ready.shape, sent)

    def _make_ready(self) -> _Ready:
        schema = self._visible_schema()
        try:
            validator = compile_validator(schema)
        except BadSchemaError as error:
            raise RefusedError(
                "this tool's schema is at fault, so no call of it can be checked.",
                code="unavailable",
                hint="use another tool",
            ) from error
        shapes = Shapes(schema)
        settling = Settling(shapes)
        effort = Effort(schema, tags=True)
        is_wide = max(effort.by_level) > _FEW_LOOKS
        quick = None if is_wide else quick_check(shapes, validator, settling.defaults, self._whole)
        self._ready = _Ready(validator, shapes, settling, quick, effort if is_wide else None)
        return self._ready

    def _visible_schema(self) -> dict[str, Any]:
        schema = dict(self._schema)
        if self._hidden:
            properties = schema.get("properties", {})
            schema["properties"] = {k: v for k, v in properties.items() if k not in self._hidden}
            schema["required"] = [n for n in schema.get("required", ()) if n not in self._hidden]
        return schema


def _is_right(ready: _Ready, arguments: Any) -> bool:
    """Whether arguments fit as they are; what is no JSON may, as far as it is known here."""
    try:
        return ready.validator.is_valid(arguments)
    except ValueError:
        return True


def _too_much(much: str) -> RefusedError:
    """The refusal of arguments that are too much to say in a moment where, or whether, they are
    wrong.
    """
    if much == LONG_NUMBERS:
        message, hint = f"the arguments hold {much}", "send fewer of them, or each as text"
        return invalid(ArgumentFault((), message, "shorter numbers", much), hint)
    message = f"the arguments hold {much}, and do not fit the schema"
    hint = "send less, or exactly what the schema says"
    return invalid(ArgumentFault((), message, "fewer values", "more"), hint)


def _plain_object(arguments: Any) -> dict[str, Any]:
    try:
        value = plain(arguments)
    except NotJsonError as error:
        raise not_json(error) from None
    if not isinstance(value, dict):
        raise not_an_object(value)
    return value


def _filled_in(name: str) -> ArgumentFault:
    message = f"`{visible(name)}` is filled in by the system, leave it out"
    return ArgumentFault((name,), message, "nothing", "a value", remedy="leave out")


def _faults(ready: _Ready, value: dict[str, Any]) -> list[ArgumentFault]:
    """What is wrong; of a huge value only the members that are small enough to explain."""
    missing = sum(name not in value for name in ready.shape.required)
    small = dict(_within(value, Effort(ready.shapes.root, tags=False), missing))
    if len(small) == len(value):
        return explain(violations(ready.validator, value), value, ready.shapes)
    found = [one for one in violations(ready.validator, small) if _still_holds(one, value)]
    if found:
        return explain(found, small, ready.shapes)
    left_out = [name for name in value if name not in small]
    return [_too_large(ready, name, value[name]) for name in left_out[:MOST_FAULTS]]


def _within(value: dict[str, Any], effort: Effort, missing: int) -> Iterator[tuple[str, Any]]:
    """The members that together take no more looks than are explained, beside `missing` ones."""
    budget = _MOST_EXPLAINED
    for name, item in value.items():
        looks = effort.of(item, budget, 1, missing)
        if looks <= budget:
            budget -= looks
            yield name, item


def _refuse_large(arguments: Any, effort: Effort) -> None:
    """Raise RefusedError for arguments that would take too long to check."""
    if not issubclass(type(arguments), dict):
        return
    if effort.of(arguments, _MOST_CHECKED) <= _MOST_CHECKED:
        return
    given = _plain_object(arguments)
    name = max(given, key=lambda each: effort.of(given[each], _MOST_CHECKED, level=1))
    message = f"`{visible(name)}` is too large to be checked against all the forms it may have"
    fault = ArgumentFault((name,), message, "fewer values", shown(given[name]))
    raise invalid(fault, f"send less of `{visible(name)}` and call again")


def _still_holds(violation: Violation, whole: dict[str, Any]) -> bool:
    """Whether what was found in a part of the arguments is true of the whole."""
    if violation.kind == "Required":
        return bool(violation.path) or violation.detail["property"] not in whole
    return bool(violation.path) or violation.kind == "AdditionalProperties"


def _too_large(ready: _Ready, name: str, value: Any) -> ArgumentFault:
    expected = describe(ready.shape.properties.get(name, True), ready.shapes.root)
    wanted = with_article(expected)
    message = f"`{visible(name)}` must be {wanted}; it is not, and too large to say where"
    return ArgumentFault((name,), message, expected, shown(value))
