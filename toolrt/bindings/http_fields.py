"""Headers, query and form of an http tool: names are constant, values are rendered per call."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from toolrt.bindings.base import BindContext
from toolrt.bindings.http_url import without_values
from toolrt.bindings.network import OWN_HEADERS, is_token
from toolrt.core.faults import Path
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import HEADER, Slot, as_text
from toolrt.expressions.templates import Template, Tree

_NOT_IN_HEADER = re.compile(r"[^\0\x20-\x7e]")


class Headers:
    """Header fields by name; a later layer replaces a field of the same name, null removes it."""

    def __init__(self) -> None:
        self._fields: dict[str, tuple[str, Template | None]] = {}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._fields

    def copy(self) -> "Headers":
        made = Headers()
        made._fields = dict(self._fields)
        return made

    def add(self, written: Mapping[str, Any], context: BindContext, *path: str) -> None:
        """Compile a layer and put it over what is there."""
        for name, value in written.items():
            template = _header(name, value, context, (*path, name))
            self._fields[name.lower()] = (name, template)

    def finish(self, otherwise: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Template]]:
        """The constant fields, `otherwise` where none is written, and those that hold values."""
        constant = {name: text for name, text in otherwise.items() if name not in self}
        varying: dict[str, Template] = {}
        for name, template in self._fields.values():
            if template is None:
                continue
            if template.is_constant:
                constant[name] = template.source
            else:
                varying[name] = template
        return constant, varying


class Pairs:
    """`name=value` pairs: a list repeats its name, a mapping goes on in brackets."""

    def __init__(
        self, written: Mapping[str, Any], context: BindContext, path: Path, slot: Slot
    ) -> None:
        self._slot = slot
        self.names = frozenset(written)
        self._fields: list[tuple[str, str, Tree]] = [
            (name, slot.escape(name), context.tree(value, (*path, name)))
            for name, value in written.items()
        ]

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(reference for *_, each in self._fields for reference in each.references)

    def render(self, scope: Scope) -> list[str]:
        """The encoded pairs of one call."""
        pairs: list[str] = []
        for name, encoded, tree in self._fields:
            self._flatten(name, encoded, tree.render(scope), pairs)
        return pairs

    def masked(self, scope: Scope) -> list[str]:
        """The pairs with references as they are written."""
        pairs: list[str] = []
        for name, encoded, tree in self._fields:
            self._flatten(name, encoded, tree.masked(scope), pairs)
        return pairs

    def of(self, values: Iterable[tuple[str, Any]]) -> list[str]:
        """The encoded pairs of plain values."""
        pairs: list[str] = []
        for name, value in values:
            self._flatten(name, self._slot.escape(name, name), value, pairs)
        return pairs

    def _flatten(self, name: str, encoded: str, value: Any, pairs: list[str]) -> None:
        if value is None or value is ABSENT:
            return
        if isinstance(value, dict):
            for key, each in value.items():
                inner = f"{name}[{key}]"
                self._flatten(inner, self._slot.escape(inner, name), each, pairs)
            return
        if not isinstance(value, list):
            pairs.append(f"{encoded}={self._slot.escape(value, name)}")
            return
        for index, each in enumerate(value):
            is_nested = isinstance(each, (dict, list))
            inner = f"{name}[{index}]" if is_nested else name
            self._flatten(inner, self._slot.escape(inner, name), each, pairs)


def _header(name: str, value: Any, context: BindContext, path: Path) -> Template | None:
    if not is_token(name):
        context.fault("invalid-header", f"`{name}` is no name of a header", *path, on_key=True)
        return None
    if name.lower() in OWN_HEADERS:
        context.fault("reserved-header", f"`{name}` is set by toolrt alone", *path, on_key=True)
        return None
    if value is None:
        return None
    if isinstance(value, (dict, list)):
        context.fault("wrong-type", "expected a text or a number", *path)
        return None
    text = as_text(value)
    bad = _NOT_IN_HEADER.search(without_values(text))
    if bad is not None:
        message = "a header is printable ASCII on one line"
        context.fault("invalid-header", message, *path, offset=bad.start())
        return None
    return context.template(text, path, HEADER)
