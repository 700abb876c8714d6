"""What pydantic says about a manifest, in the words of the manifest language.

One typo gives one fault: the branches of a union are folded into one, and a path names only what
stands in the file.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from toolrt.core.faults import MISSING, Fault, Path, child
from toolrt.loading import remedies

_EXPECTED: Mapping[str, str] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("must be at least {ge:g}", "ge"),
    "greater_than": ("must be more than {gt:g}", "gt"),
    "less_than_equal": ("must be at most {le:g}", "le"),
    "less_than": ("must be less than {lt:g}", "lt"),
    "too_short": ("must not be empty", "min_length"),
    "string_too_short": ("must not be empty", "min_length"),
    "string_pattern_mismatch": ("only a-z, 0-9 and _, beginning with a letter", "pattern"),
}


def faults_of(error: ValidationError, model: type[BaseModel], data: Any) -> list[Fault]:
    """One fault for each value of `data` that `model` refused, at its path inside `data`."""
    by_place: dict[tuple[Path, bool, Any], list[Fault]] = {}
    for problem in error.errors(include_url=False):
        fault = _fault(problem, model, data)
        missing = problem["loc"][-1] if problem["type"] == "missing" else None
        by_place.setdefault((fault.path, fault.on_key, missing), []).append(fault)
    folded = [_folded(faults) for faults in by_place.values()]
    return [f for f in folded if not (_is_misspelt(f, folded) or _is_told_below(f, folded))]


def _is_told_below(fault: Fault, faults: list[Fault]) -> bool:
    """Whether another branch of a union took the value, and refused something inside of it."""
    path, depth = fault.path, len(fault.path)
    return not fault.on_key and any(
        len(each.path) > depth and each.path[:depth] == path for each in faults
    )


def _is_misspelt(missing: Fault, faults: list[Fault]) -> bool:
    """Whether a missing key stands there after all, under a name that nearly is its own."""
    if missing.code != "missing-key":
        return False
    name = missing.message.split("`")[1]
    return any(
        fault.code == "unknown-key"
        and fault.path[:-1] == missing.path
        and remedies.may_mean(str(fault.path[-1]), name)
        for fault in faults
    )


def mended(model: type[BaseModel], data: Any, faults: Iterable[Fault]) -> Any:
    """`data` without the keys that are wrong, so that the rest can be checked all the same.

    A misspelt key goes on under the name that it nearly has: what depends on it is not at fault.
    """
    if not isinstance(data, dict):
        return data
    made = dict(data)
    for fault in faults:
        key = fault.path[0] if fault.path else None
        value = made.pop(key, MISSING)
        if value is MISSING or fault.code != "unknown-key" or len(fault.path) > 1:
            continue
        close = remedies.meant(str(key), field_names(model, ()) - made.keys())
        if close is not None:
            made[close] = value
    return made


def spelt(model: type[BaseModel], data: Mapping[str, Any], key: str) -> str:
    """How `data` spells `key` of `model`: as it is, or misspelt."""
    if key in data:
        return key
    free = field_names(model, ()) - data.keys()
    odd = (one for one in data if one not in field_names(model, ()))
    return next((one for one in odd if remedies.meant(one, free) == key), key)


def existing_path(loc: Iterable[str | int], data: Any) -> Path:
    """The steps of `loc` that `data` really has; names of union branches drop out."""
    path: list[str | int] = []
    for step in loc:
        below = child(data, step)
        if below is not MISSING:
            data = below
            path.append(step)
    return tuple(path)


def _fault(problem: Any, model: type[BaseModel], data: Any) -> Fault:
    kind, loc = problem["type"], problem["loc"]
    path = existing_path(loc, data)
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(problem, path, model)
    hint = remedies.remedy(kind, path, problem["input"])
    if kind in _EXPECTED:
        message = f"expected {_EXPECTED[kind]}, got {_got(problem['input'])}"
        return Fault("wrong-type", message, path, hint)
    if kind in _BOUNDS:
        return Fault("out-of-range", _BOUNDS[kind][0].format(**problem.get("ctx", {})), path)
    code = "invalid-value" if "_" in kind else kind
    return Fault(code, problem["msg"], path, hint)


def _unknown_key(_problem: Any, path: Path, model: type[BaseModel]) -> Fault:
    return unknown_key(path, field_names(model, path[:-1]))


def unknown_key(path: Path, known: set[str]) -> Fault:
    """The fault of a key that is none of `known`, with the nearest right one."""
    name = str(path[-1])
    hint = remedies.key(name, known)
    return Fault("unknown-key", f"unknown key `{name}`", path, hint, on_key=True)


def _missing_key(problem: Any, path: Path, _model: type[BaseModel]) -> Fault:
    name = problem["loc"][-1]
    return Fault("missing-key", f"missing key `{name}`", path, f"add `{name}: …`", on_key=True)


def _not_one_of(problem: Any, path: Path, _model: type[BaseModel]) -> Fault:
    expected = problem["ctx"]["expected"].replace("'", "")
    choices = expected.replace(" or ", ", ").split(", ")
    value = problem["input"]
    message = f"expected {expected}, got {_got(value)}"
    hint = remedies.asking(path, value) or remedies.choice(value, choices)
    return Fault("invalid-value", message, path, hint)


_SPECIAL: Mapping[str, Callable[[Any, Path, type[BaseModel]], Fault]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing_key,
    "literal_error": _not_one_of,
}


def _folded(faults: list[Fault]) -> Fault:
    first = faults[0]
    if len(faults) == 1:
        return first
    prefix = "expected "
    wanted = [f.message.removeprefix(prefix).split(", got ")[0] for f in faults]
    if not all(f.message.startswith(prefix) for f in faults):
        return first
    tail = first.message.partition(", got ")[2]
    return Fault(first.code, f"expected {' or '.join(wanted)}, got {tail}", first.path, first.hint)


def _got(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = str(value)
    return f"`{text[:40]}…`" if len(text) > 40 else f"`{text}`"  # noqa: PLR2004 - a short excerpt


def field_names(model: type[BaseModel], path: Path) -> set[str]:
    """Keys that a user may write at `path` inside `model`."""
    found: Any = model
    for step in path:
        found = _inner(found, step)
        if found is None:
            return set()
    models = _models(found)
    return {f.alias or name for m in models for name, f in m.model_fields.items()}


def _inner(annotation: Any, step: str | int) -> Any:
    """The annotation of what `step` leads to."""
    for choice in _choices(annotation):
        origin = get_origin(choice)
        if isinstance(step, int) and origin is list:
            return get_args(choice)[0]
        if origin is dict:
            return get_args(choice)[1]
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            for name, field in choice.model_fields.items():
                if step in (name, field.alias):
                    return field.annotation
    return None


def _models(annotation: Any) -> list[type[BaseModel]]:
    choices = _choices(annotation)
    return [c for c in choices if isinstance(c, type) and issubclass(c, BaseModel)]


def _choices(annotation: Any) -> list[Any]:
    """The alternatives of an annotation: unions opened, Annotated taken off."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _choices(get_args(annotation)[0])
    if origin is Union or (origin is not None and origin.__name__ == "UnionType"):
        return [choice for arg in get_args(annotation) for choice in _choices(arg)]
    return [annotation]


def is_about(fault: Fault, key: str) -> bool:
    """Whether a fault of a file stands under `key`, or under what it was misspelt as."""
    is_odd = fault.code == "unknown-key" and len(fault.path) == 1
    is_meant = is_odd and remedies.meant(str(fault.path[0]), [key]) is not None
    return fault.path[:1] == (key,) or is_meant
