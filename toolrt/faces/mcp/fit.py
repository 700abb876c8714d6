"""Whether the answers of a tool are what its output schema promises: clients hold them against it,
and lose a whole answer over one that is not. The operator is told, once a generation.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from toolrt.core import logs
from toolrt.schemas.validators import (
    BadSchemaError,
    Validator,
    compile_validator,
    violations,
)

_MOST_BYTES = 64 * 1024
"""JSON of an answer that is looked through for what is wrong in it."""


class Fit:
    """The output schema of one tool, compiled with its first answer."""

    __slots__ = ("_is_told", "_schema", "_tool", "_validator")

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        self._tool = tool
        self._schema = schema
        self._validator: Validator | None = None
        self._is_told = False

    def __call__(self, data: Any) -> bool:
        """Whether an answer is what the schema says."""
        try:
            if self._validator is None:
                self._validator = compile_validator(self._schema)
            if self._is_valid(self._validator, data):
                return True
        except BadSchemaError:
            pass  # nobody can tell, so nothing is promised
        self._tell(data)
        return False

    @staticmethod
    def _is_valid(validator: Validator, data: Any) -> bool:
        try:
            return validator.is_valid(data)
        except ValueError:  # it holds what is more than plain data, such as bytes
            return validator.is_valid(from_json(to_json(data)))

    def _tell(self, data: Any) -> None:
        if self._is_told:
            return
        self._is_told = True
        where = _place(self._validator, data)
        logs.TOOLS.warning(
            "an answer of `%s` does not fit its output_schema%s; MCP clients got its text alone",
            self._tool,
            where,
        )


def _place(validator: Validator | None, data: Any) -> str:
    """Where it does not, without any value of it."""
    written = to_json(data)
    if validator is None or len(written) > _MOST_BYTES:
        return ""
    first = violations(validator, from_json(written))[0]
    place = ".".join(map(str, first.path))
    return f" at `{place}` ({first.kind})" if place else f" ({first.kind})"
