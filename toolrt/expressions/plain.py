"""Plain templates: constants, bare dotted names and references, without any expression.

Most texts of a manifest are of this kind. They are split once at load and joined per call; nothing
heavy is imported for them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from toolrt.core.errors import CallError, RefusedError
from toolrt.core.faults import Fault, FaultError
from toolrt.expressions.compiled import Template
from toolrt.expressions.references import Reference, faults_in, parse
from toolrt.expressions.scope import ABSENT, Absent, Scope
from toolrt.expressions.slots import TEXT, Slot, UnfitError
from toolrt.expressions.vocabulary import Names

_NAME = r"[^\W\d]\w*"
_PIECES = re.compile(rf"(?<!\{{)\{{\{{\s*({_NAME}(?:\.{_NAME})*)\s*\}}\}}|(\$\{{[^{{}}]*\}})")
_ODD = frozenset({"true", "false", "none", "True", "False", "None"})
LONGEST = 1024 * 1024


def compile_plain(text: str, slot: Slot, names: Names) -> Template | None:
    """The template, or None when `text` holds more than names. Raises FaultError."""
    pieces = _PIECES.split(text)
    paths = [path for path in pieces[1::3] if path]
    if text.count("{{") != len(paths) or "{%" in text or not _ODD.isdisjoint(paths):
        return None
    if "__" in text and any(key.startswith("__") for path in paths for key in path.split(".")):
        return None
    if len(pieces) == 1 and "${" not in text:
        return Template(text, slot, None)
    if len(paths) == 1 and pieces == ["", paths[0], None, ""]:
        return _compile_lone(text, paths[0], slot, names)
    return _compile_joined(text, pieces, slot, names)


class Reading:
    """Reads a parameter or a root, then keys: `city`, `address.zip`, `caller.tenant`."""

    __slots__ = ("is_root", "keys", "name")

    def __init__(self, name: str, keys: tuple[str, ...], *, is_root: bool) -> None:
        self.name = name
        self.keys = keys
        self.is_root = is_root

    def __str__(self) -> str:
        return ".".join((self.name, *self.keys))

    def value(self, scope: Scope) -> Any:
        value = scope.root(self.name) if self.is_root else scope.arguments.get(self.name, ABSENT)
        for key in self.keys:
            if value.__class__ is not dict and not isinstance(value, Mapping):
                return ABSENT
            value = value.get(key, ABSENT)
        return value

    def text(self, scope: Scope, slot: Slot) -> str:
        value = self.value(scope)
        if value is ABSENT:
            raise_absent(self.name, str(self), is_root=self.is_root)
        return slot.escape(value, self.name)

    masked = text


class Revealing:
    """The value of a reference, in the open; only what leaves for the world may hold it."""

    __slots__ = ("reference",)

    def __init__(self, reference: Reference) -> None:
        self.reference = reference

    def text(self, scope: Scope, slot: Slot) -> str:
        if scope.references is None:
            raise CallError(f"{self.reference} has no value here", code="missing-credential")
        secret = scope.references.resolve(self.reference, scope.caller).reveal()
        try:
            return slot.encode(secret)
        except UnfitError as error:
            message = f"the value of {self.reference} {error}"
        except UnicodeEncodeError:
            message = f"the value of {self.reference} is no text"
        raise CallError(message, code="missing-credential")

    def masked(self, _scope: Scope, _slot: Slot) -> str:
        return str(self.reference)


Part = str | Reading | Revealing


class Lone:
    """Exactly one `{{ name }}`: keeps its type, and vanishes when it is not given."""

    __slots__ = ("_reading",)

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    @property
    def reader(self) -> Callable[[Scope], Any]:
        """`value`, sooner."""
        return self._reading.value

    def text(self, scope: Scope, slot: Slot) -> str | Absent:
        value = self._reading.value(scope)
        return ABSENT if value is ABSENT else slot.escape(value, self._reading.name)

    def value(self, scope: Scope) -> Any:
        return self._reading.value(scope)

    masked = text


class Joined:
    """Constants, names and references, one after the other."""

    __slots__ = ("_parts",)

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts

    def text(self, scope: Scope, slot: Slot) -> str:
        return bounded(
            [part if part.__class__ is str else part.text(scope, slot) for part in self._parts]  # type: ignore[union-attr]  # not a str
        )

    def value(self, scope: Scope) -> str:
        return self.text(scope, TEXT)

    def masked(self, scope: Scope, slot: Slot) -> str:
        return bounded(
            [part if isinstance(part, str) else part.masked(scope, slot) for part in self._parts]
        )


def bounded(pieces: list[str]) -> str:
    """The pieces as one text. Raises RefusedError when it is longer than a template may make."""
    text = "".join(pieces)
    if len(text) > LONGEST:
        raise_too_long()
    return text


def raise_too_long() -> NoReturn:
    raise RefusedError(
        "the arguments make a text of over 1 MiB, more than a template may",
        code="invalid-arguments",
    )


def raise_absent(name: str, shown: str, *, is_root: bool) -> NoReturn:
    """`name`, of which `shown` was read, has no value: whose fault that is depends on the root."""
    if not is_root:
        raise RefusedError(
            f"`{shown}` has no value, and this tool needs one", code="invalid-arguments"
        )
    if name in {"caller", "call", "vars"}:
        raise RefusedError(
            f"this call has no `{shown}`, which the tool needs", code="access-denied"
        )
    raise CallError(f"the answer has no `{shown}`", code="bad-response")


def optional_fault(name: str, offset: int) -> Fault:
    """An optional parameter inside a longer text: it would leave a hole there."""
    return Fault(
        "optional-in-text",
        f"`{name}` may be absent, and this text needs it",
        hint=f"give `{name}` a default or make it required; or write "
        f'`{{{{ {name} | default("…") }}}}` or `{{{{ "…" if {name} }}}}`',
        offset=offset,
    )


def _compile_lone(text: str, path: str, slot: Slot, names: Names) -> Template:
    reading = _reading(path, names)
    if not _may_read(reading, names):
        raise FaultError(*_faults(text, names, is_lone=True))
    parameters, roots = _used([reading])
    return Template(text, slot, Lone(reading), parameters=parameters, roots=roots, is_lone=True)


def _compile_joined(text: str, pieces: list[Any], slot: Slot, names: Names) -> Template:
    try:
        parts = _parts(pieces, names)
    except FaultError:
        raise FaultError(*_faults(text, names, is_lone=False)) from None
    parameters, roots = _used(parts)
    return Template(
        text,
        slot,
        Joined(parts),
        parameters=parameters,
        roots=roots,
        references=tuple([each.reference for each in parts if isinstance(each, Revealing)]),
    )


def _parts(pieces: list[Any], names: Names) -> list[Part]:
    """`pieces` repeats constant, dotted name or None, reference or None; a constant ends it.

    Raises FaultError, without saying which, when there are faults.
    """
    parts: list[Part] = []
    for constant, path, written in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=False):
        if constant:
            parts.append(constant)
        parts.append(_reading(path, names) if path else Revealing(parse(written)))
    if pieces[-1]:
        parts.append(pieces[-1])
    if not all(_may_stand(part, names) for part in parts):
        raise FaultError
    return parts


def _reading(path: str, names: Names) -> Reading:
    name, _, rest = path.partition(".")
    return Reading(name, tuple(rest.split(".")) if rest else (), is_root=name in names.roots)


def _may_stand(part: Part, names: Names) -> bool:
    """Whether it may be a part of a longer text."""
    if isinstance(part, str):
        return "${" not in part
    if isinstance(part, Revealing):
        return True
    return _may_read(part, names) and (part.is_root or part.name not in names.optional)


def _may_read(reading: Reading, names: Names) -> bool:
    if not reading.is_root:
        has_keys = not reading.keys or reading.name not in names.scalars
        return has_keys and reading.name in names.parameters
    known = names.known_keys.get(reading.name)
    return known is None or not reading.keys or reading.keys[0] in known


def _used(parts: Iterable[Part]) -> tuple[frozenset[str], frozenset[str]]:
    """The parameters and the roots that are read."""
    readings = [each for each in parts if isinstance(each, Reading)]
    roots = frozenset([each.name for each in readings if each.is_root])
    return frozenset([each.name for each in readings if not each.is_root]), roots


def _faults(text: str, names: Names, *, is_lone: bool) -> list[Fault]:
    """Every fault of a plain template, each with its offset."""
    faults: list[Fault] = []
    end = 0
    for match in _PIECES.finditer(text):
        if match[1] is None:
            continue
        faults += faults_in(text[end : match.start()], end)
        end = match.end()
        name, *keys = match[1].split(".")
        fault = names.fault(name, keys[0] if keys else None, match.start(1))
        if fault is None and name in names.optional and name not in names.roots and not is_lone:
            fault = optional_fault(name, match.start(1))
        faults += [fault] if fault else []
    return [*faults, *faults_in(text[end:], end)]
