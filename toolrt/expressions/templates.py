"""Templates: texts with `{{ … }}` and `${…}` in a manifest, compiled at load, rendered per call.

The front door: `plain` takes the texts whose every `{{ … }}` is a bare dotted name, `sandbox`,
imported only then, all others. A tree is a nested value whose texts are templates: a key or element
that is a lone `{{ x }}` vanishes when x was not given.
"""

from collections.abc import Callable, Iterable
from typing import Any

from toolrt.core.faults import Fault, FaultError
from toolrt.core.faults import Path as FaultPath
from toolrt.expressions.compiled import Template
from toolrt.expressions.plain import compile_plain
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import TEXT, Slot
from toolrt.expressions.vocabulary import KNOWN_KEYS, Names

__all__ = ["KNOWN_KEYS", "Names", "Template", "Tree", "compile_template", "compile_tree"]


def compile_template(text: str, slot: Slot, names: Names) -> Template:
    """Compile `text` for a place. Raises FaultError with the offset of each fault."""
    if "{" not in text:
        return Template(text, slot, None)
    made = compile_plain(text, slot, names)
    if made is not None:
        return made
    from toolrt.expressions.sandbox import compile_sandboxed  # noqa: PLC0415 - jinja2 is heavy

    return compile_sandboxed(text, slot, names)


class Tree:
    """A compiled value. In the TEXT slot values keep their types; in any other they are texts.

    What has no template in it is given out as it was written: not to be changed.
    """

    __slots__ = ("_root", "_slot", "is_constant", "parameters", "references")

    def __init__(self, root: Any, templates: Iterable[Template], slot: Slot) -> None:
        live = [template for template in templates if not template.is_constant]
        self._root = root
        self._slot = slot
        self.is_constant = not live
        self.parameters: frozenset[str] = frozenset().union(*(each.parameters for each in live))
        self.references: tuple[Reference, ...] = tuple(
            reference for each in live for reference in each.references
        )

    def render(self, scope: Scope) -> Any:
        """The value for one call, or ABSENT. Raises as `Template.text` does."""
        if self._slot is TEXT:
            return _render(self._root, lambda template: template.value(scope))
        return _render(self._root, lambda template: template.text(scope))

    def masked(self, scope: Scope) -> Any:
        """Like `render`, with references as they are written."""
        return _render(self._root, lambda template: _shown(template, scope))

    def maker(self) -> Callable[[Scope], Any]:
        """`render`, sooner where the value is a mapping whose members are constants or templates:
        what can be known once is. What it gives is the receiver's, but for constants in it.
        """
        root = self._root
        if (
            self._slot is not TEXT
            or not isinstance(root, dict)
            or not all(map(_is_flat, root.values()))
        ):
            return self.render
        fixed = {key: None if isinstance(each, Template) else each for key, each in root.items()}
        open_ = [(key, each.reader) for key, each in root.items() if isinstance(each, Template)]

        def make(scope: Scope) -> dict[str, Any]:
            made = fixed.copy()
            for key, value in open_:
                found = value(scope)
                if found is ABSENT:
                    del made[key]
                else:
                    made[key] = found
            return made

        return make


def compile_tree(value: Any, slot: Slot, names: Names) -> Tree:
    """Compile every text inside `value`. Raises FaultError with the path of each fault."""
    templates: list[Template] = []
    faults: list[Fault] = []

    def leaf(text: str, path: FaultPath) -> Any:
        try:
            template = compile_template(text, slot, names)
        except FaultError as error:
            faults.extend(error.under(*path))
            return text
        templates.append(template)
        return text if template.is_constant else template

    root = _map(value, leaf, ())
    if faults:
        raise FaultError(*faults)
    return Tree(root, templates, slot)


def _map(value: Any, leaf: Callable[[str, FaultPath], Any], path: FaultPath) -> Any:
    """`value` with every text replaced by what `leaf` makes of it."""
    if isinstance(value, str):
        return leaf(value, path)
    if isinstance(value, dict):
        return {key: _map(each, leaf, (*path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_map(each, leaf, (*path, index)) for index, each in enumerate(value)]
    return value


def _is_flat(node: Any) -> bool:
    return not isinstance(node, dict | list)


def _render(node: Any, read: Callable[[Template], Any]) -> Any:
    if isinstance(node, Template):
        return read(node)
    if isinstance(node, dict):
        pairs = ((key, _render(each, read)) for key, each in node.items())
        return {key: value for key, value in pairs if value is not ABSENT}
    if isinstance(node, list):
        rendered = (_render(each, read) for each in node)
        return [value for value in rendered if value is not ABSENT]
    return node


def _shown(template: Template, scope: Scope) -> Any:
    return template.value(scope) if template.is_lone else template.masked(scope)
