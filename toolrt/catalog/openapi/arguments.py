"""The arguments of one tool, gathered from parameters and body, and written as a file has them."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.catalog.openapi.names import ArgumentNames
from toolrt.catalog.openapi.refs import Steps
from toolrt.catalog.openapi.schemas import Schemas, Unit
from toolrt.catalog.openapi.texts import MOST_OF_ARGUMENT, argument_text, default_text, shortened


class Arguments:
    """Names, schemas, and which are required."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._names = ArgumentNames()
        self._units: dict[str, Unit] = {}
        self._required: list[str] = []

    def add(
        self, name: str, place: str, value: Any, steps: Steps, *, required: bool, text: str = ""
    ) -> str:
        """Take the schema at `steps` for the parameter `name` of `place`; the argument's name.

        `text` describes the parameter, which may say more than its schema does.
        """
        unit = self._schemas.unit(value, steps)
        unit.schema = _described(unit.schema, value, text)
        return self._put(name, place, unit, required=required)

    def add_own(self, name: str, place: str, schema: Mapping[str, Any], *, required: bool) -> str:
        """Take a schema that is not the document's."""
        return self._put(name, place, Unit(dict(schema), parts=1), required=required)

    def written(self, steps: Steps) -> dict[str, Any]:
        """`parameters`, or `input_schema` where these could not say it. Raises NotMappedError."""
        definitions = self._schemas.definitions(self._units.values(), steps)
        properties = {name: unit.schema for name, unit in self._units.items()}
        if not properties:
            return {}
        if definitions or any(map(_needs_schema, properties.values())):
            return {"input_schema": self._whole(properties, definitions)}
        return {"parameters": dict(self._short(properties))}

    def is_renamed(self) -> Iterator[tuple[str, str, str]]:
        """Argument, place and name of those that could not keep their names."""
        for argument, (place, name) in self._names.origins.items():
            if argument != name:
                yield argument, place, name

    def _put(self, name: str, place: str, unit: Unit, *, required: bool) -> str:
        argument = self._names.of(name, place)
        self._units[argument] = unit
        if required:
            self._required.append(argument)
        return argument

    def _whole(self, properties: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
        made: dict[str, Any] = {"type": "object", "properties": dict(properties)}
        if self._required:
            made["required"] = self._required
        made["additionalProperties"] = False
        if definitions:
            made["$defs"] = dict(definitions)
        return made

    def _short(self, properties: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, schema in properties.items():
            is_short = list(schema) == ["type"] and isinstance(schema["type"], str)
            if name in self._required:
                yield name, schema["type"] if is_short else schema
            else:
                yield name, {**schema, "required": False}


def _described(schema: Any, value: Any, text: str) -> Any:
    """A schema with the description of its parameter; the default is told once."""
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    told = argument_text(text)
    if not told:
        return schema
    default = default_text(value.get("default")) if isinstance(value, dict) else ""
    if default and default not in told:
        told = f"{shortened(told, MOST_OF_ARGUMENT)} {default}"
    return {**schema, "description": told}


def _needs_schema(schema: Any) -> bool:
    """Whether a schema says of objects which names are required, which `parameters` cannot."""
    return "required" in schema
