"""Arguments in canonical form: defaults filled in, nulls that say nothing dropped, 3.0 as 3.

Works in place on the plain copy that `plain` made, before it is validated: what is checked is
what the policy sees and the binding gets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolrt.schemas.plain import plain
from toolrt.schemas.shapes import ANYTHING, NOTHING, Shape, Shapes

_MAY_CHANGE = frozenset((float, dict, list))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What there is to do in an object: names to fill in, members to look into.

    `others` is the shape of members that are not in `properties`, when they may change too.
    """

    shape: Shape
    defaults: tuple[tuple[str, Any], ...]
    members: tuple[tuple[str, Shape], ...]
    others: Shape | None


class Settling:
    """Settles values of one schema; what there is to do is worked out once a place."""

    __slots__ = ("_plans", "_root", "_shapes")

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._plans: dict[int, _Plan] = {}
        self._root = self._plan(shapes.of(shapes.root))

    @property
    def defaults(self) -> tuple[tuple[str, Any], ...]:
        """What the arguments themselves are filled in with."""
        return self._root.defaults

    def settle(self, value: dict[str, Any], plan: _Plan | None = None) -> None:
        """Settle the arguments of a call; `plan` is for objects inside them."""
        plan = plan or self._root
        if None in value.values():
            self._drop_nulls(value, plan.shape)
        for name, default in plan.defaults:
            if name not in value:
                value[name] = plain(default)
        for name, member in plan.members:
            item = value.get(name)
            if type(item) in _MAY_CHANGE:
                value[name] = self._value(item, member)
        if plan.others is not None:
            self._others(value, plan.shape, plan.others)

    def _value(self, value: Any, shape: Shape) -> Any:
        kind = type(value)
        if kind is float:
            return int(value) if shape.is_integer and value.is_integer() else value
        if kind is dict:
            self.settle(value, self._plans.get(id(shape)) or self._plan(shape))
        elif kind is list and (shape.items is not True or shape.first_items):
            self._array(value, shape)
        return value

    def _array(self, value: list[Any], shape: Shape) -> None:
        for index, item in enumerate(value):
            if type(item) in _MAY_CHANGE:
                value[index] = self._value(item, self._shapes.member(shape, index))

    def _others(self, value: dict[str, Any], shape: Shape, other: Shape) -> None:
        for name, item in value.items():
            if name not in shape.properties and type(item) in _MAY_CHANGE:
                value[name] = self._value(item, other)

    def _drop_nulls(self, value: dict[str, Any], shape: Shape) -> None:
        """JSON null counts as not given, unless the schema allows null."""
        for name in [name for name, item in value.items() if item is None]:
            member = shape.properties.get(name)
            if member is not None and not self._shapes.of(member).may_be_null:
                del value[name]

    def _plan(self, shape: Shape) -> _Plan:
        members = [(name, self._shapes.member(shape, name)) for name in shape.properties]
        others = self._shapes.of(shape.additional)
        plan = _Plan(
            shape,
            tuple(_defaults(members)),
            tuple((name, member) for name, member in members if _may_change(member)),
            others if _may_change(others) else None,
        )
        self._plans[id(shape)] = plan
        return plan


def _defaults(members: list[tuple[str, Shape]]) -> Iterator[tuple[str, Any]]:
    for name, member in members:
        if member.default is not NOTHING and (member.default is not None or member.may_be_null):
            yield name, member.default


def _may_change(member: Shape) -> bool:
    """Whether a value of this shape can be settled at all; a plain text cannot."""
    return member is not ANYTHING and (member.is_integer or member.can_hold_members)
