"""The base of everything a user writes."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Written(BaseModel):
    """Strict keys, strict types, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def long_form(value: Any, key: str) -> Any:
    """`{key: value}` for the short form of a mapping; a mapping stays as it is."""
    return value if isinstance(value, dict) or value is None else {key: value}
