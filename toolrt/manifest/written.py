"""The base of everything a user writes."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError


class Written(BaseModel):
    """Strict keys, strict types, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class OneOf(Written):
    """Exactly one of the keys that `choices` names is written."""

    choices: ClassVar[tuple[str, ...]]

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(getattr(self, name) is not None for name in self.choices) != 1:
            known = f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
            raise PydanticCustomError("one-of", "needs exactly one of {known}", {"known": known})
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        made = handler.resolve_ref_schema(handler(core_schema))
        made["oneOf"] = [{"required": [name]} for name in cls.choices]
        return made


def long_form(value: Any, key: str) -> Any:
    """`{key: value}` for the short form of a mapping; a mapping stays as it is."""
    return value if isinstance(value, dict) or value is None else {key: value}
