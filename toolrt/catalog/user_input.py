"""`get_user_input`: a tool by which a model asks a person for values that only people know.

The model says which fields, the call waits, a person fills them in, and the result is an object of
the values. What is filled in lies among the arguments of the call, beside `fields`.
"""

from collections.abc import Mapping
from typing import Any

from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.results import Answer
from toolrt.manifest.parameters import NAME as FIELD_NAME

NAME = "get_user_input"
FIELDS = "fields"
_MOST_FIELDS = 20
_TYPES = ["string", "integer", "number", "boolean"]
_FIELD: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "pattern": f"^{FIELD_NAME}$",
            "description": "A short name in snake_case; the value comes back under it.",
        },
        "type": {"enum": _TYPES, "description": "What the value is; a string if left out."},
        "description": {
            "type": "string",
            "minLength": 1,
            "description": "What the person is asked, in words that they understand.",
        },
    },
    "required": ["name", "description"],
    "additionalProperties": False,
}
MANIFEST: Mapping[str, Any] = {
    "title": "Ask a person",
    "description": (
        "Ask a person for values that you need and only they know. Call this tool directly; do not "
        "ask for them in text. The call waits until somebody has filled them in, and gives an "
        "object of the values by name. Ask only for what the task requires and nobody has said "
        "yet, all of it in one call, and never for the same thing twice. A boolean that is left "
        "empty comes back as false. Accept what is given as it is, and finish the task with it."
    ),
    "effect": "read",
    "hitl": {"mode": "input"},
    "input_schema": {
        "type": "object",
        "properties": {
            FIELDS: {
                "type": "array",
                "items": _FIELD,
                "minItems": 1,
                "maxItems": _MOST_FIELDS,
                "description": "What to ask for.",
            }
        },
        "required": [FIELDS],
        "additionalProperties": False,
    },
}
"""What a file would say of it."""


def form(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what the person fills in. Raises RefusedError for fields that clash."""
    fields = arguments[FIELDS]
    names = [field["name"] for field in fields]
    for number, name in enumerate(names):
        if name == FIELDS or name in names[:number]:
            why = "is taken" if name == FIELDS else "stands twice"
            raise RefusedError(
                f"the field name `{name}` {why}",
                code="invalid-arguments",
                hint="give each field a name of its own",
            )
    return {
        "type": "object",
        "properties": {field["name"]: _schema(field) for field in fields},
        "required": [field["name"] for field in fields if field.get("type") != "boolean"],
        "additionalProperties": False,
    }


def _schema(field: Mapping[str, Any]) -> dict[str, Any]:
    kind = field.get("type", "string")
    schema = {"type": kind, "description": field["description"]}
    return {**schema, "default": False} if kind == "boolean" else schema


class UserInput:
    """Gives back what a person has filled in."""

    async def call(self, invocation: Invocation) -> Answer:
        values = _values(invocation)
        if not form(invocation.arguments)["properties"].keys() <= values.keys():
            raise RefusedError(
                "nobody has been asked for these values",
                code="approval-unavailable",
                hint="go on without them, or tell the operator",
            )
        return Answer(values)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        return {"asks_for": invocation.arguments[FIELDS], "values": _values(invocation)}


def _values(invocation: Invocation) -> dict[str, Any]:
    return {name: value for name, value in invocation.arguments.items() if name != FIELDS}
