"""The arguments of a command: compiled once, rendered per call, each element one argument (S1).

An element is a text with templates, or a mapping of options. A caller's text must not become an
option by itself (S4): one that begins with `-` is refused unless `--` stands before it or its
parameter says `allow_dash: true`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from toolrt.bindings.base import BindContext
from toolrt.bindings.programs import is_free_text
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path as FaultPath
from toolrt.expressions.scope import ABSENT, OURS, Scope
from toolrt.expressions.slots import ARGUMENT
from toolrt.expressions.templates import Template

ELEMENT_LIMIT = 128 * 1024
TOTAL_LIMIT = 1024**2
MOST_ITEMS = 100_000

Written = str | dict[str, Any]


class Argv:
    """A list of argument elements, ready to be rendered.

    `written` is `argv` from number `first` on; `is_guarded` says that something stands before it
    after which nothing is an option.
    """

    __slots__ = ("_constant", "_elements", "first_free_text", "lone")

    def __init__(
        self,
        written: Sequence[Written],
        context: BindContext,
        *,
        first: int = 0,
        is_guarded: bool = False,
    ) -> None:
        compiling = _Compiling(context, is_guarded)
        self._elements = [
            compiling.element(element, ("argv", number))
            for number, element in enumerate(written, first)
        ]
        self._constant: list[str] | None = None
        if compiling.is_constant:
            self._constant = self.render(Scope())
        self.lone = compiling.lone
        """Path and template of each element that is one value, or none when it is absent."""
        self.first_free_text = compiling.first_free_text
        """The first text that a caller chooses freely, and what stands before it."""

    @property
    def is_constant(self) -> bool:
        """Whether all calls have the same arguments."""
        return self._constant is not None

    def render(self, scope: Scope) -> list[str]:
        """The arguments of one call. Raises RefusedError (invalid-arguments)."""
        if self._constant is not None:
            return self._constant
        argv: list[str] = []
        for element in self._elements:
            element(scope, argv)
        return argv


def check_size(argv: Sequence[bytes], env: Mapping[bytes, bytes]) -> None:
    """Refuse more than a process may be given. Raises RefusedError (invalid-arguments)."""
    texts = (*argv, *env, *env.values())
    if sum(map(len, texts)) + len(texts) > TOTAL_LIMIT:  # each ends with a NUL, or has a `=`
        raise _refused("the arguments are too long together: at most 1 MiB")


def caller_text(template: Template, context: BindContext) -> tuple[str, ...]:
    """What of a caller a template lets in as free text: parameters, or roots such as `caller`."""
    properties = context.input_schema.get("properties", {})
    named = sorted(p for p in template.parameters if is_free_text(properties.get(p, {})))
    return (*named, *sorted(template.roots - OURS))


class FreeText(NamedTuple):
    """A text of the caller at `path`, its parameter, and the constants that stand before it."""

    path: FaultPath
    name: str
    before: tuple[str, ...]


Element = Callable[[Scope, list[str]], None]


class _Compiling:
    """Walks over the elements of one command; knows whether `--` has been passed."""

    def __init__(self, context: BindContext, is_guarded: bool) -> None:
        self._context = context
        self._is_after_dashes = is_guarded
        self.is_constant = True
        self.first_free_text: FreeText | None = None
        self._before: list[str] = []
        self.lone: list[tuple[FaultPath, Template]] = []

    def element(self, written: Written, path: FaultPath) -> Element:
        if isinstance(written, str):
            return self._positional(written, path)
        pairs = [self._option(key, value, (*path, key)) for key, value in written.items()]

        def add(scope: Scope, argv: list[str]) -> None:
            for pair in pairs:
                pair(scope, argv)

        return add

    def _positional(self, text: str, path: FaultPath) -> Element:
        if text == "--":
            self._is_after_dashes = True
        read = self._reader(text, path, begins=True)

        def add(scope: Scope, argv: list[str]) -> None:
            value = read(scope)
            if isinstance(value, bool):
                value = "true" if value else "false"
            argv.extend(value if isinstance(value, list) else [value])

        return add

    def _option(self, key: str, value: Any, path: FaultPath) -> Element:
        if "{{" in key:
            self._context.fault(
                "option-not-constant",
                f"the name of an option is constant text, and `{key}` is not",
                *path,
                on_key=True,
            )
        self._before.append(key)
        self._fitting(key, path)
        joins = key.endswith("=")
        items = value if isinstance(value, list) else [value]
        places = [(*path, n) for n in range(len(items))] if isinstance(value, list) else [path]
        read = [
            self._reader(item, place, begins=not joins) if isinstance(item, str) else _always(item)
            for item, place in zip(items, places, strict=True)
        ]

        def add(scope: Scope, argv: list[str]) -> None:
            for each in read:
                _add_option(argv, key, each(scope), joins)

        return add

    def _reader(self, text: str, path: FaultPath, *, begins: bool) -> Callable[[Scope], Any]:
        """What the text stands for in a call: texts are checked, true, false and [] are kept.

        `begins` says that the text is an argument from its first character.
        """
        template = self._context.template(text, path, ARGUMENT)
        self._refuse_references(template, path)
        if template.is_constant:
            self._before.append(template.source)
            return _always(self._fitting(template.source, path))
        self.is_constant = False
        free = caller_text(template, self._context)
        if free and self.first_free_text is None:
            self.first_free_text = FreeText(path, free[0], tuple(self._before))
        may_dash = not begins or self._is_after_dashes or not self._is_risky(template, free)
        name = f"`{free[0]}`" if free else "a value"
        if template.is_lone:
            self.lone += [(path, template)]
            return lambda scope: _lone(template.value(scope), name, may_dash)
        return lambda scope: _fit(str(template.text(scope)), name, may_dash)

    def _fitting(self, text: str, path: FaultPath) -> str:
        """A constant that an argument can hold."""
        try:
            return _fit(ARGUMENT.escape(text), "a constant", may_dash=True)
        except RefusedError as error:
            self._context.fault("invalid-value", error.message, *path)
            return ""

    def _refuse_references(self, template: Template, path: FaultPath) -> None:
        if template.references:
            self._context.fault(
                "reference-in-argv",
                f"{template.references[0]} in an argument: every user of the machine could read it",
                *path,
                hint="put it under `env:` or `stdin:`",
            )

    def _is_risky(self, template: Template, free: tuple[str, ...]) -> bool:
        """Whether the text begins with a caller's text that may not look like an option.

        White space before `{{-` is no part of what comes out.
        """
        if not template.source.lstrip().startswith("{"):
            return False
        properties = self._context.input_schema.get("properties", {})
        return any(
            name not in properties
            or not isinstance(properties[name], Mapping)
            or properties[name].get("allow_dash") is not True
            for name in free
        )


def _always(value: Any) -> Callable[[Scope], Any]:
    return lambda _scope: value


def _lone(value: Any, name: str, may_dash: bool) -> Any:
    """A lone value: true, false and lists of texts stay what they are, nothing is []."""
    if value is ABSENT or value is None:
        return []
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        if len(value) > MOST_ITEMS:  # far below what a system takes, and quickly said
            raise _refused(f"{name} has too many items: at most {MOST_ITEMS:,} arguments")
        return [_text(item, name, may_dash) for item in value if item is not None]
    return _text(value, name, may_dash)


def _text(value: Any, name: str, may_dash: bool) -> str:
    is_number = isinstance(value, (int, float))
    return _fit(ARGUMENT.escape(value, name.strip("`")), name, may_dash or is_number)


def _fit(text: str, name: str, may_dash: bool) -> str:
    if not may_dash and text.startswith("-"):
        raise _refused(f"{name} must not start with `-`")
    if _size(text) > ELEMENT_LIMIT:
        raise _refused(f"{name} is too long for an argument: less than 128 KiB")
    return text


def _size(text: str) -> int:
    """Bytes with the NUL that ends an argument; what cannot be encoded was refused before."""
    return len(text.encode("utf-8", "surrogatepass")) + 1


def _add_option(argv: list[str], key: str, value: Any, joins: bool) -> None:
    if value is None or value is False:
        return
    if isinstance(value, list):
        for item in value:
            _add_option(argv, key, item, joins)
    elif joins:
        argv.append(key + ("true" if value is True else value))
    elif value is True:
        argv.append(key)
    else:
        argv += (key, value)


def _refused(message: str) -> RefusedError:
    return RefusedError(message, code="invalid-arguments")
