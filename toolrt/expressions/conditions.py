"""Conditions: CEL texts in a manifest that are true or false for one call.

A text is compiled twice: in a check environment, where every parameter is a name with the type of
its schema, and in a run environment of plain maps. The only module that knows the CEL library,
whose evaluation ends after 10,000 steps and whose regular expressions take linear time.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Literal

from toolrt.core.errors import ToolrtError
from toolrt.core.faults import Fault, FaultError
from toolrt.expressions.condition_fast import fast_condition
from toolrt.expressions.condition_faults import compile_faults, missing_key, run_message, type_words
from toolrt.expressions.condition_text import ConditionText, Use, name_faults, shape_faults
from toolrt.expressions.condition_values import (
    doubles,
    is_readable,
    is_readable_key,
    part,
    type_of_schema,
    type_of_value,
    why_unreadable,
)
from toolrt.expressions.globs import expression_of
from toolrt.expressions.vocabulary import KNOWN_KEYS

RootType = Literal["map", "int", "string", "double", "bool", "dyn", "timestamp"]
Schemas = Mapping[str, Any]
Names = tuple[tuple[str, str], ...]
"""Names of an environment with their types."""

REJECT_ROOTS: Mapping[str, RootType] = MappingProxyType(
    {"args": "map", "caller": "map", "call": "map", "tool": "map", "vars": "map"}
)
FAILED_WHEN_ROOTS: Mapping[str, RootType] = MappingProxyType(
    {
        **REJECT_ROOTS,
        "result": "dyn",
        "status": "int",
        "headers": "map",
        "exit_code": "int",
        "stderr": "string",
    }
)
RULE_ROOTS: Mapping[str, RootType] = MappingProxyType(
    {**REJECT_ROOTS, "history": "map", "risk": "map", "now": "timestamp"}
)
SETTING_ROOTS: Mapping[str, RootType] = MappingProxyType(
    {"caller": "map", "vars": "map", "now": "timestamp"}
)
"""What is known of a call before anyone looks at what it asks for."""
CONDITION_KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **KNOWN_KEYS,
        "tool": frozenset({"name", "namespace", "version", "tags", "effect", "source"}),
        "risk": frozenset({"score", "classes"}),
    }
)
"""Keys of the roots whose shape is fixed."""

_TYPED_KEYS = {
    "caller.principal": "string",
    "caller.roles": "list(string)",
    "caller.scopes": "list(string)",
    "call.id": "string",
    "call.time": "string",
    "tool.name": "string",
    "tool.namespace": "string",
    "tool.version": "string",
    "tool.tags": "list(string)",
    "tool.effect": "string",
    "risk.score": "double",
    "risk.classes": "list(string)",
}
_RUN_TYPES = {"now": "timestamp"}


_WORDS = re.compile(r"\b(?:true|false)\b")


class ConditionError(ToolrtError):
    """A condition could not be evaluated; what that means is for its place to say."""


class Condition:
    """A checked condition. `parameters` are the arguments, `roots` the roots that it reads.

    `windows` are those of its `history.calls("10m")`; the `history` root maps each to a count.
    It is compiled for running with its first call.
    """

    __slots__ = (
        "_expression",
        "_fast",
        "_keys",
        "_numbers",
        "parameters",
        "roots",
        "text",
        "windows",
    )

    def __init__(
        self,
        text: str,
        uses: Iterable[Use],
        numbers: frozenset[str] = frozenset(),
        windows: frozenset[str] = frozenset(),
    ) -> None:
        keys: dict[str, set[str | None]] = {}
        places = {(use.root, use.key) for use in uses}
        for root, key in places:
            keys.setdefault(root, set()).add(key)
        self.text = text
        self.windows = windows
        self.roots = frozenset(keys)
        self.parameters = frozenset(key for key in keys.get("args", ()) if key)
        self._keys = {root: None if None in each else each for root, each in keys.items()}
        self._numbers = self.parameters & numbers
        self._fast = fast_condition(text, places)
        self._expression: Any = None

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def holds(self, bindings: Mapping[str, Any]) -> bool:
        """Whether it is true for these roots; only what it names is looked at.

        Raises ConditionError when it fails, takes too many steps, or is neither true nor false.
        """
        found = None if self._fast is None else self._fast(bindings)
        return self._by_library(bindings) if found is None else found

    @property
    def constant(self) -> bool | None:
        """What it comes to for every call there could be; None where that depends on the call.

        Nothing is read: in CEL `false && error` is false, and `true || error` is true.
        """
        if self.roots and not _WORDS.search(ConditionText(self.text).code):
            return None
        try:
            return self.holds({})
        except ConditionError:
            return None

    def _by_library(self, bindings: Mapping[str, Any]) -> bool:
        """What the library says."""
        data = {
            root: part(bindings[root], keys)
            for root, keys in self._keys.items()
            if root in bindings
        }
        why = why_unreadable(data.values())
        if why is not None:
            raise ConditionError(why)
        if self._numbers and isinstance(data.get("args"), dict):
            data["args"] |= doubles(data["args"], self._numbers)
        if self._expression is None:
            environment = _run_environment(self.roots)
            self._expression = environment.compile(self.text, disable_check=True)
        return self._evaluate(data)

    def _evaluate(self, data: dict[str, Any]) -> bool:
        try:
            found = self._expression.eval(data=data)
            value = found.value()
        except Exception as error:  # noqa: BLE001 - whatever the library does, the condition failed
            raise ConditionError(run_message(str(error))) from None
        if value is True or value is False:
            return bool(value)
        kind = found.type().name()
        if kind == "ERROR":
            missing = missing_key(str(value), self.text)
            at, hint = (f": `{missing}`", f"ask `has({missing})` first") if missing else ("", None)
            raise ConditionError(f"{run_message(value)}{at}", hint=hint)
        raise ConditionError(f"it is {type_words(kind)}, not true or false")


def compile_condition(
    text: str,
    roots: Mapping[str, RootType],
    arguments: Schemas | None = None,
    known_keys: Mapping[str, frozenset[str]] = CONDITION_KEYS,
    constants: Mapping[str, Any] | None = None,
) -> Condition:
    """Compile `text` for a place that has `roots`.

    `arguments` are the JSON Schemas of the parameters by name, None when they are not known;
    `known_keys` lists the keys of the other roots that have fixed ones. `constants` are the `vars`,
    whose types count then. Raises FaultError with the offset of each fault.
    """
    if not is_readable(text):
        message = "a condition holds no NUL and no half characters"
        raise FaultError(Fault("invalid-condition", message, offset=0))
    source = ConditionText(text)
    uses = [use for use in source.uses() if use.root in roots]
    types = _types(roots, arguments or {}, constants or {})
    checked, faults = _check(source, types, roots)
    known = known_keys if arguments is None else {**known_keys, "args": frozenset(arguments)}
    faults = [*faults, *name_faults(uses, known), *shape_faults(source)]
    windows = list(source.windows()) if "history" in roots else []
    faults += [_history_fault(offset) for offset, window in windows if window is None]
    if not faults:
        faults = [*_literal_faults(source), *_type_faults(checked)]
    if faults:
        raise FaultError(*sorted(faults, key=lambda fault: fault.offset or 0))
    numbers = [name.removeprefix("args.") for name, kind in types if kind == "double"]
    asked = frozenset(window for _, window in windows if window is not None)
    return Condition(text, uses, frozenset(numbers), asked)


def _history_fault(offset: int) -> Fault:
    message = "of `history` a condition reads calls in a window that is written out"
    return Fault("unknown-name", message, hint='write history.calls("10m")', offset=offset)


def _types(
    roots: Mapping[str, RootType], arguments: Schemas, constants: Mapping[str, Any]
) -> Names:
    """Every name of the check environment with its type."""
    typed = [(key, kind) for key, kind in _TYPED_KEYS.items() if key.partition(".")[0] in roots]
    if "args" in roots:
        typed += [(f"args.{name}", type_of_schema(schema)) for name, schema in arguments.items()]
    named = ((name, type_of_value(each)) for name, each in constants.items())
    typed += [(f"vars.{name}", kind) for name, kind in named if is_readable_key(name)]
    return (*roots.items(), *typed)


def _check(source: ConditionText, types: Names, roots: Iterable[str]) -> tuple[Any, list[Fault]]:
    """The checked expression, or None and what is wrong with it."""
    try:
        return _checked(source, types, roots), []
    except RuntimeError as error:
        faults = compile_faults(str(error), source.text, [name for name, _ in types])
    if faults:
        return None, faults
    try:
        return _run_environment(frozenset(roots)).compile(source.text), []
    except RuntimeError:
        return None, []  # literals of two number types, compared


def _checked(source: ConditionText, types: Names, roots: Iterable[str]) -> Any:
    """The checked expression; raises RuntimeError, also for what is no CEL inside a `has`."""
    for_check = source.for_check()
    if for_check != source.text:
        _run_environment(frozenset(roots)).compile(source.text, disable_check=True)
    return _check_environment(types).compile(for_check)


def _type_faults(checked: Any) -> list[Fault]:
    """A condition is a bool; the type is not known when numbers of two types are compared."""
    if checked is None:
        return []
    kind = checked.return_type().name()
    if kind in {"BOOL", "DYN"}:
        return []
    message = f"a condition is true or false; this is {type_words(kind)}"
    return [Fault("type-mismatch", message, offset=0)]


def _literal_faults(source: ConditionText) -> Iterator[Fault]:
    """Texts that fail whenever they are looked at: patterns that RE2 does not take, such as those
    with back-references, and times, durations and zones that are none.
    """
    environment = _run_environment(frozenset())
    for each in source.tried():
        found = environment.compile(each.expression).eval(data={})
        if found.type().name() == "ERROR":
            hint = each.hint or str(found.value()).rpartition("expression: ")[2]
            yield Fault(each.code, each.message, hint=hint, offset=each.offset)


@lru_cache(maxsize=64)
def _check_environment(types: Names) -> Any:
    return _environment(types)


@cache
def _run_environment(roots: frozenset[str]) -> Any:
    return _environment(tuple((root, _RUN_TYPES.get(root, "dyn")) for root in roots))


def _environment(types: Names) -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - a large library, loaded with the first use

    known = cel.Type
    text = known.STRING
    of = {
        "bool": known.BOOL,
        "double": known.DOUBLE,
        "dyn": known.DYN,
        "int": known.INT,
        "list(bool)": known.List(known.BOOL),
        "list(dyn)": known.List(known.DYN),
        "list(int)": known.List(known.INT),
        "list(string)": known.List(text),
        "map": known.Map(text, known.DYN),
        "string": text,
        "timestamp": known.TIMESTAMP,
    }
    glob = cel.Overload("glob", return_type=known.BOOL, parameters=[text, text], impl=_glob)
    calls = cel.Overload(
        "history_calls",
        return_type=known.INT,
        parameters=[known.Map(text, known.DYN), text],
        is_member=True,
        impl=_calls,
    )
    return cel.NewEnv(
        variables={name: of[kind] for name, kind in types},
        functions=[cel.FunctionDecl("glob", [glob]), cel.FunctionDecl("calls", [calls])],
    )


def _calls(history: Mapping[str, int], window: str) -> int:
    return history[window]


def _glob(path: str, pattern: str) -> bool:
    """Whether the whole of `path` is of the shape `pattern`; RE2 does it in linear time."""
    data = {"path": path, "expression": expression_of(pattern)}
    return bool(_matcher().eval(data=data).value() is True)


@cache
def _matcher() -> Any:
    return _run_environment(frozenset({"path", "expression"})).compile("path.matches(expression)")
