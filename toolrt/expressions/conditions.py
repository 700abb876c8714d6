"""Conditions: CEL texts in a manifest that are true or false for one call.

A text is compiled twice: in a check environment, where every parameter is a name with the type of
its schema, and in a run environment of plain maps. The only module that knows the CEL library,
whose evaluation ends after 10,000 steps and whose regular expressions take linear time.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Literal

from toolrt.core.errors import ToolrtError
from toolrt.core.faults import Fault, FaultError
from toolrt.expressions.condition_faults import compile_faults, missing_key, run_message, type_words
from toolrt.expressions.condition_text import ConditionText, Use, name_faults, shape_faults
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
CONDITION_KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **KNOWN_KEYS,
        "tool": frozenset({"name", "namespace", "version", "tags", "effect", "source"}),
    }
)
"""Keys of the roots whose shape is fixed."""

_DEEPEST = 200
_LARGEST_EXACT = 2**53
_TYPED_KEYS = {
    "caller.principal": "string",
    "caller.roles": "list(string)",
    "caller.scopes": "list(string)",
    "call.id": "string",
    "call.time": "string",
    "tool.name": "string",
    "tool.tags": "list(string)",
    "tool.effect": "string",
}
_OF_SCHEMA = {
    "string": "string",
    "integer": "int",
    "number": "double",
    "boolean": "bool",
    "object": "map",
}


class ConditionError(ToolrtError):
    """A condition could not be evaluated; what that means is for its place to say."""


class Condition:
    """A checked condition. `parameters` are the arguments, `roots` the roots that it reads.

    It is compiled for running with its first call.
    """

    __slots__ = ("_expression", "_keys", "_numbers", "parameters", "roots", "text")

    def __init__(
        self, text: str, uses: Iterable[Use], numbers: frozenset[str] = frozenset()
    ) -> None:
        keys: dict[str, set[str | None]] = {}
        for use in uses:
            keys.setdefault(use.root, set()).add(use.key)
        self.text = text
        self.roots = frozenset(keys)
        self.parameters = frozenset(key for key in keys.get("args", ()) if key)
        self._keys = {root: None if None in each else each for root, each in keys.items()}
        self._numbers = self.parameters & numbers
        self._expression: Any = None

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def holds(self, bindings: Mapping[str, Any]) -> bool:
        """Whether it is true for these roots; only what it names is looked at.

        Raises ConditionError when it fails, takes too many steps, or is neither true nor false.
        """
        data = {
            root: _part(bindings[root], keys)
            for root, keys in self._keys.items()
            if root in bindings
        }
        _check_values(data.values())
        if self._numbers and isinstance(data.get("args"), dict):
            data["args"] |= _doubles(data["args"], self._numbers)
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
) -> Condition:
    """Compile `text` for a place that has `roots`.

    `arguments` are the JSON Schemas of the parameters by name, None when they are not known;
    `known_keys` lists the keys of the other roots that have fixed ones. Raises FaultError with the
    offset of each fault.
    """
    if not _is_readable(text):
        message = "a condition holds no NUL and no half characters"
        raise FaultError(Fault("invalid-condition", message, offset=0))
    source = ConditionText(text)
    uses = [use for use in source.uses() if use.root in roots]
    types = _types(roots, arguments or {})
    checked, faults = _check(source, types, roots)
    known = known_keys if arguments is None else {**known_keys, "args": frozenset(arguments)}
    faults = [*faults, *name_faults(uses, known), *shape_faults(source)]
    if not faults:
        faults = [*_pattern_faults(source), *_type_faults(checked)]
    if faults:
        raise FaultError(*sorted(faults, key=lambda fault: fault.offset or 0))
    numbers = [name.removeprefix("args.") for name, kind in types if kind == "double"]
    return Condition(text, uses, frozenset(numbers))


def _types(roots: Mapping[str, RootType], arguments: Schemas) -> Names:
    """Every name of the check environment with its type."""
    typed = [(key, kind) for key, kind in _TYPED_KEYS.items() if key.partition(".")[0] in roots]
    if "args" in roots:
        typed += [(f"args.{name}", _type_of(schema)) for name, schema in arguments.items()]
    return (*roots.items(), *typed)


def _type_of(schema: Any) -> str:
    """The type of values of a JSON Schema; `dyn` when it allows several."""
    if not isinstance(schema, Mapping):
        return "dyn"
    kind = schema.get("type")
    if kind == "array":
        item = _type_of(schema.get("items"))
        return f"list({item})" if item in {"string", "int", "bool"} else "list(dyn)"
    if isinstance(kind, str):
        return _OF_SCHEMA.get(kind, "dyn")
    choices = schema.get("enum")
    is_text = isinstance(choices, list) and all(isinstance(each, str) for each in choices)
    return "string" if kind is None and is_text else "dyn"


def _check(source: ConditionText, types: Names, roots: Iterable[str]) -> tuple[Any, list[Fault]]:
    """The checked expression, or None and what is wrong with it."""
    try:
        return _check_environment(types).compile(source.for_check()), []
    except RuntimeError as error:
        faults = compile_faults(str(error), source.text, [name for name, _ in types])
    if faults:
        return None, faults
    try:
        return _run_environment(frozenset(roots)).compile(source.text), []
    except RuntimeError:
        return None, []  # literals of two number types, compared


def _type_faults(checked: Any) -> list[Fault]:
    """A condition is a bool; the type is not known when numbers of two types are compared."""
    if checked is None:
        return []
    kind = checked.return_type().name()
    if kind in {"BOOL", "DYN"}:
        return []
    message = f"a condition is true or false; this is {type_words(kind)}"
    return [Fault("type-mismatch", message, offset=0)]


def _pattern_faults(source: ConditionText) -> list[Fault]:
    """Regular expressions that RE2 does not take, such as those with back-references."""
    environment = _run_environment(frozenset())
    literals = [
        (offset, environment.compile(f"''.matches({literal})").eval(data={}))
        for offset, literal in source.patterns()
    ]
    return [
        Fault(
            "invalid-pattern",
            "this regular expression is invalid",
            hint=str(tried.value()).rpartition("expression: ")[2],
            offset=offset,
        )
        for offset, tried in literals
        if tried.type().name() == "ERROR"
    ]


@lru_cache(maxsize=64)
def _check_environment(types: Names) -> Any:
    return _environment(types)


@cache
def _run_environment(roots: frozenset[str]) -> Any:
    return _environment(tuple((root, "dyn") for root in roots))


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
    overload = cel.Overload("glob", return_type=known.BOOL, parameters=[text, text], impl=_glob)
    return cel.NewEnv(
        variables={name: of[kind] for name, kind in types},
        functions=[cel.FunctionDecl("glob", [overload])],
    )


def _glob(path: str, pattern: str) -> bool:
    """Whether the whole of `path` is of the shape `pattern`; RE2 does it in linear time."""
    data = {"path": path, "expression": expression_of(pattern)}
    return bool(_matcher().eval(data=data).value() is True)


@cache
def _matcher() -> Any:
    return _run_environment(frozenset({"path", "expression"})).compile("path.matches(expression)")


def _part(value: Any, keys: Collection[str | None] | None) -> Any:
    """Those keys of `value` that are read; all of it when that is not known."""
    if not isinstance(value, Mapping):
        return value
    return dict(value) if keys is None else {key: value[key] for key in keys if key in value}


def _doubles(arguments: Mapping[str, Any], numbers: Iterable[str]) -> dict[str, float]:
    """Every `number` as a double, as the check has assumed, where that is exact."""
    return {
        name: float(arguments[name])
        for name in numbers
        if type(arguments.get(name)) is int and abs(arguments[name]) <= _LARGEST_EXACT
    }


def _check_values(values: Iterable[Any]) -> None:
    """Refuse what the library gets wrong: it cuts texts at a NUL, and deep nesting crashes it."""
    level = list(values)
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for node in level:
            kind = node.__class__
            if kind is str:
                if "\0" in node:
                    raise ConditionError("a text that it reads holds a NUL character")
            elif kind is dict:
                below += node
                below += node.values()
            elif kind is list:
                below += node
        if not below:
            return
        level = below
    raise ConditionError("a value that it reads is nested too deeply")


def _is_readable(text: str) -> bool:
    """Whether the library would read all of `text`."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)
