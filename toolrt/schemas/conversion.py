"""From checked JSON arguments to the arguments of a Python call.

The way back of `functions`: what the schema promised, the call gets, as dates, enums and models,
each in its place. Where every type is plain JSON there is nothing to do, and nothing is done.
"""

from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import Any

from toolrt.core.errors import RefusedError
from toolrt.schemas.annotations import field_names, is_model, is_plain
from toolrt.schemas.foreign import ForeignError
from toolrt.schemas.generation import adapter_of
from toolrt.schemas.phrases import place, pointer
from toolrt.schemas.signatures import (
    EMPTY,
    POSITIONAL_ONLY,
    POSITIONAL_OR_KEYWORD,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    VARIADIC,
    Callee,
    Parameter,
)

Arguments = Mapping[str, Any]
Placed = tuple[tuple[Any, ...], dict[str, Any]]

EXTRA = "**"
"""Stands for `**kwargs` among the names of fields; no parameter can be called that."""


def flattened(callee: Callee, properties: Iterable[str] | None = None) -> Parameter | None:
    """The only parameter, when it is a record whose fields are the properties of the arguments.

    `properties` are those that a manifest wrote; the parameter's own name among them says that
    the record is wanted as one argument.
    """
    if len(callee.visible) != 1:
        return None
    only = callee.visible[0]
    if not only.is_required or only.kind in VARIADIC or not is_model(only.annotation):
        return None
    is_whole = properties is None or only.key not in properties
    return only if is_whole or only.key in field_names(only.annotation) else None


def field_types(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The type of each field of a call's JSON object, that of `**kwargs` under EXTRA."""
    made: dict[str, Any] = {}
    for each in parameters:
        if each.kind == VAR_POSITIONAL:
            made[each.key] = GenericAlias(list, (each.annotation,))
        elif each.kind == VAR_KEYWORD:
            made[EXTRA] = GenericAlias(dict, (str, each.annotation))
        else:
            made[each.key] = each.annotation
    return made


class Adaptor:
    """Turns JSON arguments into those of the call; made once a tool, pydantic on first use.

    `properties` are the names that the input schema declares: parameters beside them keep their
    defaults, whatever comes in through `**kwargs`. `is_direct` says that `fn(**arguments)` is all
    there is to a call.
    """

    def __init__(self, callee: Callee, properties: Iterable[str]) -> None:
        self._whole = flattened(callee, properties)
        self._contexts = frozenset(each.key for each in callee.parameters if each.is_context)
        self._named = {each.key: each for each in callee.parameters if each.kind not in VARIADIC}
        self._variadic = callee.of_kind(VAR_POSITIONAL)
        self._forbidden: frozenset[str] = frozenset()
        if callee.of_kind(VAR_KEYWORD):
            self._forbidden = callee.hidden.union(self._named) - {*properties} - self._contexts
        self._converter = _Converter(_converted(callee))
        is_placed = any(not _is_by_name(each) for each in callee.parameters)
        self.is_direct = not (self._converter.types or is_placed or self._forbidden)

    def bind(self, arguments: Arguments) -> Placed:
        """Positional and keyword arguments of the call.

        Values under the names of Context parameters pass through as they are. Raises
        RefusedError (invalid-arguments) for what JSON Schema could not tell.
        """
        if self.is_direct:
            return (), dict(arguments)
        if self._whole is not None:
            return self._place(self._as_whole(self._whole, arguments))
        for name in self._forbidden.intersection(arguments):
            message = f"`{name}` is not an argument of this tool"
            raise RefusedError(message, code="invalid-arguments")
        return self._place({**arguments, **self._converter.convert(self._fields(arguments))})

    def _as_whole(self, whole: Parameter, arguments: Arguments) -> dict[str, Any]:
        given = {key: value for key, value in arguments.items() if key in self._contexts}
        fields = {key: value for key, value in arguments.items() if key not in self._contexts}
        return {**given, **self._converter.convert({whole.key: fields}, depth=1)}

    def _fields(self, arguments: Arguments) -> dict[str, Any]:
        """The values that need conversion, by field."""
        types = self._converter.types
        made = {key: arguments[key] for key in types if key in arguments}
        if EXTRA in types:
            known = {*self._named, self._variadic.key if self._variadic else None}
            made[EXTRA] = {key: value for key, value in arguments.items() if key not in known}
        return made

    def _place(self, values: dict[str, Any]) -> Placed:
        """Put values where the signature wants them; defaults fill gaps before positional ones."""
        more = values.pop(self._variadic.key, ()) if self._variadic else ()
        kinds = {POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD} if more else {POSITIONAL_ONLY}
        positional = [each for each in self._named.values() if each.kind in kinds]
        while positional and not more and positional[-1].key not in values:
            positional.pop()
        args = [_taken(values, each) for each in positional]
        named = {self._python_name(key): value for key, value in values.items()}
        return (*args, *more), named

    def _python_name(self, key: str) -> str:
        return self._named[key].name if key in self._named else key


class _Converter:
    """JSON values to values of the types; `types` shrinks to those that pydantic can read."""

    def __init__(self, types: dict[str, Any]) -> None:
        self.types = types
        self._adapter: Any = None

    def convert(self, fields: dict[str, Any], depth: int = 0) -> dict[str, Any]:
        """The fields' Python values; `depth` is how many levels of `fields` the caller added."""
        if not self.types:
            return {}
        if self._adapter is None:
            self._adapter = self._made_adapter()
        made: dict[str, Any] = _validated(self._adapter, fields, depth)
        extra = made.pop(EXTRA, {})
        return {**made, **extra}

    def _made_adapter(self) -> Any:
        try:
            return adapter_of(self.types)
        except ForeignError:
            self.types = {key: each for key, each in self.types.items() if _is_readable(each)}
        return adapter_of(self.types)


def _converted(callee: Callee) -> dict[str, Any]:
    """The fields whose JSON values are not yet what the callable wants."""
    types = field_types(callee.visible)
    filled = {each.key for each in callee.visible if each.fills}
    return {key: each for key, each in types.items() if key in filled or not is_plain(each)}


def _is_by_name(parameter: Parameter) -> bool:
    is_positional = parameter.kind in {POSITIONAL_ONLY, VAR_POSITIONAL}
    return parameter.key == parameter.name and not is_positional


def _is_readable(annotation: Any) -> bool:
    try:
        adapter_of({"value": annotation})
    except ForeignError:
        return False
    return True


def _taken(values: dict[str, Any], parameter: Parameter) -> Any:
    value = values.pop(parameter.key, parameter.default)
    if value is EMPTY:
        raise RefusedError(f"`{parameter.key}` is missing", code="missing-arguments")
    return value


def _validated(adapter: Any, fields: dict[str, Any], depth: int) -> Any:
    from pydantic_core import (  # noqa: PLC0415 - only such types need it
        PydanticSerializationError,
        ValidationError,
        to_json,
    )

    try:
        return adapter.validate_json(to_json(fields))
    except PydanticSerializationError as error:
        raise RefusedError("an argument is not JSON", code="invalid-arguments") from error
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
    raise _refusal(faults, depth)


def _in_our_words(fault: Any) -> str:
    """What pydantic says; what a validator of the user's own says, as it says it."""
    message: str = fault["msg"]
    for prefix in ("Value error, ", "Assertion failed, "):
        if message.startswith(prefix) and len(message) > len(prefix):
            return message.removeprefix(prefix)
    return message[:1].lower() + message[1:].partition(" following the rules at ")[0]


def _refusal(faults: Iterable[Any], depth: int) -> RefusedError:
    """What is wrong with which argument, all at once."""
    names, texts, listed = [], [], []
    for each in faults:
        path = tuple(part for part in each["loc"][depth:] if part != EXTRA)
        message = _in_our_words(each)
        names.append(f"`{place(path)}`" if path else "the arguments")
        texts.append(f"{names[-1]}: {message}")
        listed.append({"pointer": pointer(path), "message": message})
    return RefusedError(
        "; ".join(texts),
        code="invalid-arguments",
        hint=f"correct {', '.join(names)} and call again",
        details={"faults": listed},
    )
